"""What goes on when a load balancer leads to another apiserver: watches, lists, and controllers with all promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.kube.client import MERGE_PATCH, Client
from controller.kube.decode import decode_metadata
from controller.kube.watch import Informer, Trouble
from controller.kube.wire import Owned
from tests.faults.apiservers.conftest import Second
from tests.faults.apiservers.lag import Lag, versions
from tests.faults.seeds.jumping import CLOCK
from tests.faults.seeds.run import Run
from tests.faults.seeds.script import Script
from tests.support.apiserver_proxy import lines_of
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.tcp_proxy import TcpProxy
from tests.support.team import Team

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

Json = dict[str, Any]
Moves = AsyncIterator["Moved"]
_ROUNDS = 3
_KEPT = 3


class Versions:
    """A sink that keeps versions by name, and what came with an older version than before."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.older: list[str] = []

    def replace(self, items: list[Owned]) -> None:
        self.versions = {item.name: int(item.resource_version) for item in items}

    def upsert(self, item: Owned) -> None:
        if int(item.resource_version) < self.versions.get(item.name, 0):
            self.older.append(item.name)
        self.versions[item.name] = int(item.resource_version)

    def remove(self, gone: Owned) -> None:
        self.versions.pop(gone.name, None)


async def listed(client: Client, path: str, params: dict[str, str] | None = None) -> tuple[str, list[str], str]:
    """Version, names and the token for the rest."""
    answer: Json = orjson.loads(await client.get(path, params))
    names = [one["metadata"]["name"] for one in answer["items"]]
    return answer["metadata"]["resourceVersion"], names, answer["metadata"].get("continue", "")


@dataclass(slots=True)
class Moved:
    """An informer on ConfigMaps, which is led from one apiserver to another."""

    client: Client
    path: str
    way: TcpProxy
    sink: Versions
    informer: Informer[Owned]

    async def write(self, number: int) -> None:
        """Make one, change the one before, and delete an older one."""
        await self.client.post(self.path, {"metadata": {"name": f"one-{number}"}})
        if number:
            data = {"data": {"changed": "yes"}}
            await self.client.patch(f"{self.path}/one-{number - 1}", data, content_type=MERGE_PATCH)
        if number >= _KEPT:
            await self.client.delete(f"{self.path}/one-{number - _KEPT}")

    async def until_known(self) -> None:
        """Wait until the sink has what is in etcd."""

        async def is_known() -> bool:
            assert self.sink.versions == await versions(self.client, self.path)
            return True

        await eventually(is_known, message="what was written is not known")

    async def move(self, url: str) -> None:
        """Lead it elsewhere; return when it has a watch there."""
        await self.way.move(url)
        await eventually(lambda: self.informer.stale_seconds is None, message="no watch opens where it was led to")


@asynccontextmanager
async def moved(cluster: Cluster, client: Client, path: str, folder: Path, troubles: list[Trouble]) -> Moves:
    """An informer at the sandbox's own apiserver, to begin with."""
    way, sink = TcpProxy(cluster.sandbox.url), Versions()
    async with (
        way.serving(),
        cluster.sandbox.client(way.kubeconfig(cluster.sandbox.kubeconfig, folder)) as through,
        asyncio.TaskGroup() as group,
    ):
        informer = Informer(through, path, decode=decode_metadata, sink=sink, report=troubles.append)
        task = group.create_task(informer.run(), name="informer")
        try:
            yield Moved(client, path, way, sink, informer)
        finally:
            task.cancel()


async def test_a_watch_goes_on_where_it_was_led_to(
    cluster: Cluster, client: Client, at_second: Client, corner: Team, second: Second, tmp_path: Path
) -> None:
    path, troubles = f"/api/v1/namespaces/{corner.namespace}/configmaps", list[Trouble]()
    lag = Lag(client, at_second, path)
    async with moved(cluster, client, path, tmp_path, troubles) as one:
        for number in range(0, 4 * _ROUNDS, 4):
            await one.write(number)
            await one.until_known()
            await one.move(second.apiserver.url)
            await one.write(number + 1)
            await one.until_known()
            await one.move(cluster.sandbox.url)
            second.etcd.stall_watches()
            await one.write(number + 2)
            await one.until_known()
            # what is known is newer than what the second apiserver has seen
            assert f"one-{number + 2}" in await lag.missed()
            known = dict(one.sink.versions)
            await one.move(second.apiserver.url)
            await one.write(number + 3)
            assert await lag.missed() == {f"one-{number + done}" for done in (1, 2, 3)}
            assert one.sink.versions == known
            second.etcd.resume_watches()
            await one.until_known()
            await one.move(cluster.sandbox.url)
        assert one.sink.older == []
    # it never had to list again
    assert {one.cause for one in troubles} <= {"Unreachable"}


@pytest.mark.more
async def test_versions_and_pages_of_one_hold_at_another(client: Client, at_second: Client, corner: Team) -> None:
    path = f"/api/v1/namespaces/{corner.namespace}/configmaps"
    for number in range(5):
        await client.post(path, {"metadata": {"name": f"one-{number}"}})
    version, names, _ = await listed(client, path)
    at, begin, token = await listed(client, path, {"limit": "2"})
    same, rest, _ = await listed(at_second, path, {"continue": token})
    assert (same, [*begin, *rest]) == (at, names)
    for match in ("NotOlderThan", "Exact"):
        params = {"resourceVersion": version, "resourceVersionMatch": match}
        assert (await listed(at_second, path, params))[1] == names
    await client.post(path, {"metadata": {"name": "later"}})
    params = {"watch": "1", "resourceVersion": version}
    async with at_second.stream(path, params, silent_seconds=30) as chunks:
        first = orjson.loads(await anext(lines_of(chunks)))
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "later")


async def has_pods(team: Team, count: int) -> bool:
    return len(await team.all()) >= count


@pytest.mark.more
@pytest.mark.parametrize("seed", [1, 2])
async def test_controllers_that_move_keep_all_promises(
    cluster: Cluster, corner: Team, second: Second, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    monkeypatch.setenv(CLOCK, str(clock))
    way = TcpProxy(second.apiserver.url)

    async def move() -> None:
        for pods in (8, 16):
            await eventually(partial(has_pods, corner, pods), message="no pods come")
            second.apiserver.kill()
            await way.until_refused()
            await way.move(cluster.sandbox.url)
            second.apiserver.start()
            await second.apiserver.until_ready()
            await way.move(second.apiserver.url)

    async with way.serving():
        kubeconfig = way.kubeconfig(second.controller, tmp_path).rename(tmp_path / "moving")
        run = Run(cluster, corner, Script(seed, (), ()), tmp_path, clock, kubeconfig, move)
        assert await run.violations() == [], f"logs: {tmp_path}"
