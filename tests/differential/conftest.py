from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential import oracle


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[oracle.Oracle]:
    """The validation of Kubernetes itself."""
    with oracle.Oracle(oracle.ensure()) as running:
        yield running
