"""Penstock running for real: both programs, under their own ServiceAccounts, on a control plane of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clusters import Cluster, a_cluster
from tests.support.people import Person
from tests.support.team import Team


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The folder's cluster with Penstock, apart from the bare one: tests of CRDs and RBAC must not disturb it."""
    with a_cluster() as cluster:
        yield cluster


@pytest.fixture
async def jane(cluster: Cluster, team: Team) -> Person:
    """Somebody who may edit what is in the team's namespace."""
    return await Person(cluster, team, "edit").granted()
