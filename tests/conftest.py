"""How tests are shared out when several processes run them (`make test`)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_INTEGRATION = Path(__file__).parent / "integration"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run one process more than there are cores where a control plane takes part: tests on it wait much of the time."""
    paths = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    waits = any(_INTEGRATION.is_relative_to(path) or path.is_relative_to(_INTEGRATION) for path in paths)
    return (os.cpu_count() or 1) + waits


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
