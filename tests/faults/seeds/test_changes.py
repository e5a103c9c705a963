"""A hundred changes of leader among three replicas while pods come: none is released twice, and no pause is long."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count, pairwise
from pathlib import Path

import pytest

from controller.core.keys import ADMITTED_BY
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE
from tests.faults.seeds.controllers import Controllers
from tests.faults.seeds.history import Event, History
from tests.faults.seeds.jumping import CLOCK
from tests.faults.seeds.ledger import Ledger, released_in
from tests.faults.seeds.world import QUEUES, SHARES, build
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import delete_lease, holder
from tests.support.team import Team

pytestmark = [pytest.mark.integration, pytest.mark.more, pytest.mark.timeout(3600)]

CHANGES = "PENSTOCK_LEADER_CHANGES"
"""Environment variable: how many changes instead of `_CHANGES`."""
_CHANGES = 100
_MOST_SECONDS = 20.0
_EVERY_SECONDS = 0.25
_WAYS = ("stop", "stop", "stop", "delete", "kill")


@asynccontextmanager
async def load(team: Team) -> AsyncIterator[None]:
    """Let pods come, several a second, of which all fit."""

    async def come() -> None:
        for number in count():
            queue = QUEUES[number % len(QUEUES)]
            await team.pod(f"pod-{number:05}", queue=queue, annotations={"run-for": "500ms"})
            await asyncio.sleep(_EVERY_SECONDS)

    async with asyncio.TaskGroup() as group:
        coming = group.create_task(come(), name="load")
        yield
        coming.cancel()


def releases(history: History, namespace: str) -> Iterator[Event]:
    """Releases in the order of time."""
    found = map(released_in, history.lives("pods", namespace))
    yield from sorted((one for one in found if one is not None), key=lambda event: event.version)


async def until_leads(history: History, team: Team) -> str:
    """Wait until who holds the Lease has released something; return who that is."""

    async def leads() -> str:
        released = [event.object["metadata"]["annotations"][ADMITTED_BY] for event in releases(history, team.namespace)]
        identity = await holder(team.client)
        assert identity
        assert released[-1] == identity
        return identity

    return await eventually(leads, seconds=90, message="nobody leads")


async def change(controllers: Controllers, team: Team, way: str) -> None:
    """Take the Lease from who holds it."""
    if way == "stop":
        await controllers.stop()
    elif way == "kill":
        await controllers.kill()
    else:
        await delete_lease(team.client)


async def _another(history: History, team: Team, leaders: set[str]) -> str:
    """Wait until one leads that is none of these."""

    async def found() -> str:
        identity = await until_leads(history, team)
        assert identity not in leaders
        return identity

    return await eventually(found, seconds=90, message="nobody leads in its place")


async def test_no_change_releases_twice_or_pauses_long(
    cluster: Cluster, team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLOCK, str(tmp_path / "clock"))
    chance, history = random.Random(1), History()  # noqa: S311 - repeatable, not unpredictable
    kubeconfig = await cluster.sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    await build(team)
    names = ("one", "two", "three")
    async with (
        history.kept(team.client),
        Controllers(team.client, kubeconfig, tmp_path, names, ()).running() as controllers,
        load(team),
    ):
        leaders = {await until_leads(history, team)}
        while len(leaders) <= int(os.environ.get(CHANGES, _CHANGES)):
            way = chance.choice(_WAYS)
            await change(controllers, team, way)
            # a Lease that was deleted may be written first by who held it
            known = set() if way == "delete" else leaders
            leaders.add(await _another(history, team, known))
    ledger = Ledger(history, team.namespace)
    assert [*ledger.excesses(SHARES), *ledger.wrong_releases()] == []
    times = [event.at for event in releases(history, team.namespace)]
    assert max(later - earlier for earlier, later in pairwise(times)) < _MOST_SECONDS
