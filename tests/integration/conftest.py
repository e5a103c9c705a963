"""A real control plane for the tests in this folder: one sandbox for all that ask for it, one namespace per test."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from controller.kube.client import Client
from controller.sandbox import Sandbox
from tests.support.clusters import Cluster
from tests.support.existence import until_takes_pods
from tests.support.kubernetes import VERSION
from tests.support.team import Team


@pytest.fixture(scope="package")
def sandbox() -> Iterator[Sandbox]:
    """The control plane, with an audit log and no nodes.

    Started outside any test's event loop, since it outlives them all.
    """
    started = asyncio.run(Sandbox.launch(kubernetes=VERSION, audit=True))
    yield started
    asyncio.run(started.stop())


@pytest.fixture
async def admin(sandbox: Sandbox) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with sandbox.client() as client:
        yield client


@pytest.fixture
async def namespace(admin: Client) -> AsyncIterator[str]:
    """Name of a new namespace that takes pods; deleted at the end of the test, without waiting for that."""
    name = f"test-{secrets.token_hex(4)}"
    await admin.post("/api/v1/namespaces", {"metadata": {"name": name}})
    await until_takes_pods(admin, name)
    yield name
    await admin.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client with all rights, of a folder whose `cluster` has Penstock in it."""
    async with cluster.sandbox.client() as client:
        yield client


@pytest.fixture
async def team(cluster: Cluster, client: Client) -> AsyncIterator[Team]:
    """A team with a namespace of its own and nothing else yet, in that cluster."""
    made = Team(client, cluster.sandbox)
    await made.open()
    yield made
    await made.close()
