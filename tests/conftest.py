"""How tests are shared out when several processes run them (`make test`)."""

from __future__ import annotations

from pathlib import Path

import pytest

_INTEGRATION = Path(__file__).parent / "integration"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of one folder on a real control plane in one process and one after the other.

    So they share what they start, which ends with the last of them. Those that stand beside the folders are kept
    together by file. All of them come before the tests that end at once, or the longest would end last.
    """
    for item in items:
        if item.path.is_relative_to(_INTEGRATION):
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=lambda item: _group(item) or "~")  # the order that was drawn stays within each


def _group(item: pytest.Item) -> str:
    return item.path.relative_to(_INTEGRATION).parts[0] if item.path.is_relative_to(_INTEGRATION) else ""
