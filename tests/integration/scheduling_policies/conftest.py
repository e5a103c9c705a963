"""Penstock with SchedulingPolicies switched on, on a control plane of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Installation, installed
from tests.support.accounts import AccountTeam
from tests.support.team import TEAM_LABEL


@dataclass(frozen=True, slots=True)
class Cluster:
    """A sandbox with Penstock in it."""

    sandbox: Sandbox
    programs: Installation


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The session's cluster, with SchedulingPolicies switched on and none written."""
    with asyncio.Runner() as runner:
        sandbox = runner.run(Sandbox.launch(audit=True))
        context = installed(sandbox, components=("scheduling-policies",), webhook_arguments=("--scheduling-policies",))
        try:
            yield Cluster(sandbox, runner.run(context.__aenter__()))
            runner.run(context.__aexit__(None, None, None))
        finally:
            runner.run(sandbox.stop())


@pytest.fixture(scope="session")
def sandbox(cluster: Cluster) -> Sandbox:
    """Its control plane."""
    return cluster.sandbox


@pytest.fixture
async def client(sandbox: Sandbox) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with sandbox.client() as client:
        yield client


@pytest.fixture
async def team(sandbox: Sandbox, client: Client) -> AsyncIterator[AccountTeam]:
    """A team with a namespace of its own, in a cluster without policies."""
    made = AccountTeam(client, sandbox)
    await made.open({TEAM_LABEL: made.id})
    await made.until_free()
    yield made
    await made.close()
