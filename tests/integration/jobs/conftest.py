"""Penstock on control planes of its own, for Jobs that are held as a whole: by the webhook, and in the apiserver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller.sandbox.installation import Gate
from tests.integration.jobs.held import HeldJobs
from tests.support.clusters import Cluster, a_cluster
from tests.support.team import Team

WAYS = [Gate.WEBHOOK, pytest.param(Gate.POLICIES, marks=pytest.mark.more)]


@pytest.fixture(scope="package", params=WAYS, ids=["webhook", "policies"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The folder's cluster, with either keeper of the gate."""
    with a_cluster(gate=request.param) as cluster:
        yield cluster


@pytest.fixture
def jobs(team: Team) -> HeldJobs:
    """Jobs of the team's namespace."""
    return HeldJobs(team)
