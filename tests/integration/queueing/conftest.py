"""Penstock running for real: both programs, under their own ServiceAccounts, on a control plane of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Installation, installed
from tests.support.team import Team


@dataclass(frozen=True, slots=True)
class Cluster:
    """A sandbox with Penstock in it."""

    sandbox: Sandbox
    programs: Installation


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The session's cluster with Penstock, apart from the bare one: tests of CRDs and RBAC must not disturb it."""
    with asyncio.Runner() as runner:
        sandbox = runner.run(Sandbox.launch(audit=True))
        context = installed(sandbox)
        try:
            yield Cluster(sandbox, runner.run(context.__aenter__()))
            runner.run(context.__aexit__(None, None, None))
        finally:
            runner.run(sandbox.stop())


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with cluster.sandbox.client() as client:
        yield client


@pytest.fixture
async def team(cluster: Cluster, client: Client) -> AsyncIterator[Team]:
    """A team with a namespace of its own and nothing else yet."""
    made = Team(client, cluster.sandbox)
    await made.open()
    yield made
    await made.close()
