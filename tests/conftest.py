"""How tests are shared out when several processes run them (`make test`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

_ON_CONTROL_PLANES = (Path(__file__).parent / "integration", Path(__file__).parent / "faults")
_OF_EACH_WAY = ("cluster", "protected")
"""Fixtures that start a control plane of its own for each of their parameters."""
_LONGEST = ("integration/queueing", "integration/protection", "integration/scale", "faults/leaders")
_LAST = "~"

# A loaded machine may take longer than usual over any example; all else stays as Hypothesis has it, in CI too.
settings.register_profile("without-deadline", settings(deadline=None))
settings.load_profile("without-deadline")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep the tests of one folder on a real control plane in one process.

    So they share what they start, which ends with the last of them. Where a folder is run in several ways, each on a
    control plane of its own, those of one way are kept together. Those that stand beside the folders are kept together
    by file. pytest-xdist asks for groups before it is the turn of the hook below.
    """
    if group := _group(item):
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests of a group come one after the other, groups before the tests that end at once, and the longest first.

    Else these would end last.
    """
    items.sort(key=_place)  # the order that was drawn stays within each


def _place(item: pytest.Item) -> tuple[bool, str]:
    group = _group(item)
    return not group.startswith(_LONGEST), group or _LAST


def _group(item: pytest.Item) -> str:
    for folder in _ON_CONTROL_PLANES:
        if item.path.is_relative_to(folder):
            return f"{folder.name}/{item.path.relative_to(folder).parts[0]}{_way(item)}"
    return ""


def _way(item: pytest.Item) -> str:
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    # no brackets: pytest-xdist takes what stands before one for a parameter, and knows no group then
    return "".join(f":{given[name]}" for name in _OF_EACH_WAY if name in given)
