"""How tests are shared out when several processes run them (`make test`)."""

from __future__ import annotations

from pathlib import Path

import pytest

_INTEGRATION = Path(__file__).parent / "integration"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of one folder on a real control plane in one process, so that they share what they start.

    Those that stand beside the folders are kept together by file.
    """
    for item in items:
        if item.path.is_relative_to(_INTEGRATION):
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(_INTEGRATION).parts[0]))
