"""The ways of protecting the gate, each on a control plane of its own; one set of namespaces for all rows of one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from controller.kube.client import Client
from controller.kube.errors import NotFound
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate, Installation
from tests.integration.protection.people import Field, allow_editors
from tests.integration.protection.table import LABELS_OF, Where
from tests.support.clusters import a_cluster
from tests.support.existence import until_takes_pods
from tests.support.impersonation import Impersonation, impersonation
from tests.support.team import Team

MODES = {"webhook": Gate.WEBHOOK, "in-apiserver": Gate.POLICIES}


class Protected:
    """A control plane with Penstock in it, protected in one way."""

    def __init__(self, mode: str, sandbox: Sandbox, programs: Installation, namespaces: dict[Where, str]) -> None:
        self.mode = mode
        self.sandbox = sandbox
        self.programs = programs
        self.namespaces = namespaces


@pytest.fixture(scope="package", params=sorted(MODES))
def protected(request: pytest.FixtureRequest) -> Iterator[Protected]:
    """Penstock installed in the way of the parameter."""
    with a_cluster(gate=MODES[request.param]) as cluster:
        namespaces = {where: f"{where}-{secrets.token_hex(3)}" for where in Where}
        asyncio.run(prepare(cluster.sandbox, namespaces))
        yield Protected(request.param, cluster.sandbox, cluster.programs, namespaces)


@pytest.fixture
async def client(protected: Protected) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with protected.sandbox.client() as client:
        yield client


@pytest.fixture
async def apiserver(protected: Protected) -> AsyncIterator[Impersonation]:
    """The apiserver, asked as anybody."""
    async with impersonation(protected.sandbox) as apiserver:
        yield apiserver


@pytest.fixture
def field(protected: Protected, client: Client, apiserver: Impersonation) -> Field:
    """The namespaces of the table."""
    return Field(client, apiserver, protected.namespaces)


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    """A namespace for one test, which takes pods."""
    name = f"test-{secrets.token_hex(4)}"
    await client.post("/api/v1/namespaces", {"metadata": {"name": name}})
    await until_takes_pods(client, name)
    yield name
    with suppress(NotFound):
        await client.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
async def team(protected: Protected, client: Client) -> AsyncIterator[Team]:
    """A team with a namespace of its own."""
    made = Team(client, protected.sandbox)
    await made.open()
    yield made
    await made.close()


async def prepare(sandbox: Sandbox, namespaces: dict[Where, str]) -> None:
    """Make the namespaces of the table, with who asks in them."""
    async with sandbox.client() as client, impersonation(sandbox) as apiserver:
        await allow_editors(client)
        for where, name in namespaces.items():
            await client.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": LABELS_OF[where]}})
        await Field(client, apiserver, namespaces).let_in_editors()
        for name in namespaces.values():
            await until_takes_pods(client, name)
