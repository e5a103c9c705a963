"""Penstock on control planes of its own, for objects of a WorkloadKind: by the webhook, and in the apiserver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from controller.kube.apply import apply
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate
from tests.integration.kinds import job_sets, mpi_jobs
from tests.integration.kinds.rig import at_work
from tests.integration.kinds.trains import CRD, RIGHTS, Operator, Trains, are_in_effect, rendered
from tests.support.clusters import Cluster, a_cluster
from tests.support.eventually import eventually
from tests.support.impersonation import Impersonation, impersonation
from tests.support.team import Team

WAYS = [pytest.param(Gate.WEBHOOK, marks=pytest.mark.more), Gate.POLICIES]


@pytest.fixture(scope="package", params=WAYS, ids=["webhook", "policies"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The folder's cluster, with either keeper of the gate, and the kind."""
    with a_cluster(gate=request.param, before=_with_trains) as cluster:
        asyncio.run(_with_kind(cluster.sandbox))
        yield cluster


async def _with_trains(sandbox: Sandbox) -> None:
    async with sandbox.client() as client:
        await apply(client, [CRD, job_sets.CRD, mpi_jobs.CRD, *job_sets.WEBHOOK])


async def _with_kind(sandbox: Sandbox) -> None:
    async with sandbox.client() as client:
        await apply(client, [*rendered(), *RIGHTS, *job_sets.rendered(), *job_sets.RIGHTS, *mpi_jobs.rendered()])
    async with impersonation(sandbox) as apiserver:
        await eventually(lambda: are_in_effect(apiserver), message="the policies of Trains are not in effect")
        await eventually(lambda: job_sets.are_in_effect(apiserver), message="those of JobSets are not in effect")
        await eventually(lambda: mpi_jobs.are_in_effect(apiserver), message="those of MPIJobs are not in effect")


@pytest.fixture
async def apiserver(cluster: Cluster) -> AsyncIterator[Impersonation]:
    """The apiserver, asked as anybody."""
    async with impersonation(cluster.sandbox) as found:
        yield found


@pytest.fixture
async def trains(team: Team, client: Client, apiserver: Impersonation) -> AsyncIterator[Trains]:
    """Trains of the team's namespace, with their operator at work."""
    async with at_work(Operator(client, apiserver, team.namespace).run()):
        yield Trains(team)
