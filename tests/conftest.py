"""How tests are shared out when several processes run them (`make test`)."""

from __future__ import annotations

from pathlib import Path

import pytest

_ON_CONTROL_PLANES = (Path(__file__).parent / "integration", Path(__file__).parent / "faults")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of one folder on a real control plane in one process and one after the other.

    So they share what they start, which ends with the last of them. Those that stand beside the folders are kept
    together by file. All of them come before the tests that end at once, or the longest would end last.
    """
    for item in items:
        if group := _group(item):
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: _group(item) or "~")  # the order that was drawn stays within each


def _group(item: pytest.Item) -> str:
    for folder in _ON_CONTROL_PLANES:
        if item.path.is_relative_to(folder):
            return f"{folder.name}/{item.path.relative_to(folder).parts[0]}"
    return ""
