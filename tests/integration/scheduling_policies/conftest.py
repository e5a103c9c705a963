"""Penstock with SchedulingPolicies switched on, on a control plane of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import installed
from tests.support.accounts import AccountTeam
from tests.support.team import TEAM_LABEL


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The session's cluster, with SchedulingPolicies switched on and none written."""
    with asyncio.Runner() as runner:
        sandbox = runner.run(Sandbox.launch(audit=True))
        context = installed(sandbox, components=("scheduling-policies",), webhook_arguments=("--scheduling-policies",))
        try:
            runner.run(context.__aenter__())
            yield sandbox
            runner.run(context.__aexit__(None, None, None))
        finally:
            runner.run(sandbox.stop())


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
