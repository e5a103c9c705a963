"""Penstock as it runs, for pods of other projects: one control plane for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clusters import Cluster, a_cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """A control plane with Penstock."""
    with a_cluster() as cluster:
        yield cluster
