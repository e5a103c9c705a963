"""A replica that stands by answers what the leader would, and goes on with what it knows when it leads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from controller.core.keys import ADMITTED_BY
from controller.extension_api.paths import ROOT
from controller.kube.client import Client
from controller.sandbox.certificates import FRONT_PROXY
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE, controller_program
from controller.sandbox.programs import Program
from tests.support.clusters import Cluster, serve_again
from tests.support.direct import Direct
from tests.support.eventually import eventually
from tests.support.leaders import until_leads
from tests.support.team import Json, Team
from tests.support.viewers import Reply, Viewers

pytestmark = pytest.mark.integration


class Standby:
    """Another controller, beside the one that leads; asked past the apiserver."""

    def __init__(self, program: Program, direct: Direct) -> None:
        self.program = program
        self._direct = direct
        self._shown = direct.signed("front-proxy-ca", FRONT_PROXY)

    async def get(self, path: str) -> Reply:
        try:
            return await self._direct.get(f"{ROOT}{path}", self._shown)
        except aiohttp.ClientError as error:  # it does not know yet whom to believe
            raise AssertionError(str(error)) from error

    async def rows(self, path: str, *, count: int) -> list[Json]:
        """Wait for a list of so many objects, each with a reason that a decision has given."""

        async def listed() -> list[Json]:
            reply = await self.get(path)
            assert reply.code == 200, reply.text
            rows = [one["status"] for one in reply.body["items"]]
            assert [one["reason"] for one in rows] == ["QuotaExceeded"] * count
            return rows

        return await eventually(listed, message=f"{path} has not {count} objects")


@pytest.fixture
async def standby(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Standby]:
    """One that has heard whom to believe."""
    kubeconfig = await cluster.sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    arguments = ["--visibility-address", "127.0.0.1:0", "--identity", "standby"]
    program = controller_program(kubeconfig, tmp_path / "standby.log", arguments)
    program.start()
    await program.wait_ready()
    made = Standby(program, Direct(cluster.sandbox, program.port("visibility") or 0, tmp_path))
    await eventually(lambda: made.get(""))
    yield made
    await program.stop()


def without_starts(document: Json) -> Json:
    """Leave forecasts out: each replica draws its own."""
    return {
        key: without_starts(value)
        if isinstance(value, dict)
        else [without_starts(one) if isinstance(one, dict) else one for one in value]
        if isinstance(value, list)
        else value
        for key, value in document.items()
        if key != "start"
    }


async def one_runs_and_two_wait(team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    for name in ("second", "third"):
        await team.pod(name)


async def test_a_standby_answers_as_the_leader_does(team: Team, people: Viewers, standby: Standby) -> None:
    found = await standby.get("")
    assert {one["name"] for one in found.body["resources"]} > {"clusterqueues", "localqueues", "pendingworkloads"}
    await one_runs_and_two_wait(team)
    path = f"/namespaces/{team.namespace}/pendingworkloads"
    rows = await standby.rows(path, count=2)
    assert [(row["target"], row["place"]) for row in rows] == [("pod/second", 1), ("pod/third", 2)]

    async def says_the_same() -> bool:
        for one in (path, f"/clusterqueues/{team.full('cq')}", f"/namespaces/{team.namespace}/explanations/pod.third"):
            ours, theirs = await standby.get(one), await people.get(f"{ROOT}{one}")
            assert (ours.code, without_starts(ours.body)) == (200, without_starts(theirs.body))
        return True

    await eventually(says_the_same, message="the two do not agree")


async def test_a_standby_goes_on_with_what_it_knows(
    team: Team, cluster: Cluster, client: Client, standby: Standby
) -> None:
    await one_runs_and_two_wait(team)
    path = f"/namespaces/{team.namespace}/pendingworkloads"
    await standby.rows(path, count=2)
    leader = cluster.programs.controller
    assert await leader.stop() == 0
    try:
        identity = await until_leads(client, "standby")
        # what it knew it knows: the quota is taken, and its order is the same
        assert [row["target"] for row in await standby.rows(path, count=2)] == ["pod/second", "pod/third"]
        await team.end("first")
        pods = await team.until_bound("second")
        assert pods["second"]["metadata"]["annotations"][ADMITTED_BY] == identity
        assert [row["target"] for row in await standby.rows(path, count=1)] == ["pod/third"]
        # and its watches go on
        await team.pod("fourth")
        assert [row["target"] for row in await standby.rows(path, count=2)] == ["pod/third", "pod/fourth"]
    finally:
        assert await standby.program.stop() == 0
        await serve_again(cluster)
