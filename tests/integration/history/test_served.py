"""The history through the API of a real control plane: each viewer sees runs and sums of their namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from controller.extension_api.paths import ROOT
from controller.extension_api.resources import API_VERSION
from controller.kube.client import Client
from tests.integration.history.conftest import Kept
from tests.integration.visible_queues.test_command import as_somebody
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Json, Team
from tests.support.viewers import ACCOUNTANT, TABLE, VIEWER, Reply, Viewers, bind

pytestmark = pytest.mark.integration


@pytest.fixture
async def other(kept: Kept, client: Client) -> AsyncIterator[Team]:
    """Another team, with a namespace of its own."""
    made = Team(client, kept.cluster.sandbox)
    await made.open()
    yield made
    await made.close()


async def has_run(team: Team, people: Viewers, name: str) -> str:
    """Let a pod run; return its uid as soon as the history has it."""
    await team.ready({"spot": {"cpu": 1}})
    await team.pod(name)
    uid = str((await team.until_bound(name))[name]["metadata"]["uid"])

    async def known() -> bool:
        reply = await people.get(f"{ROOT}/namespaces/{team.namespace}/podruns/{uid}")
        return reply.code == 200 and reply.body["status"]["state"] == "Running"

    await eventually(known, message="the history does not have the run")
    return uid


def a_report(kind: str, **spec: object) -> Json:
    return {"apiVersion": API_VERSION, "kind": kind, "spec": {"from": "1h", "by": ["namespace"], **spec}}


async def until(people: Viewers, path: str, user: str, code: int) -> Reply:
    """Ask until rights that were just given are known."""

    async def answered() -> Reply:
        reply = await people.get(f"{ROOT}{path}", user)
        assert reply.code == code, reply.text
        return reply

    return await eventually(answered)


async def test_who_sees_one_namespace_sees_its_runs(team: Team, other: Team, people: Viewers) -> None:
    mine, theirs = await has_run(team, people, "mine"), await has_run(other, people, "theirs")
    jane = f"jane-of-{team.id}"
    await bind(team.client, jane, "view", team.namespace)
    path = f"/namespaces/{team.namespace}"
    listed = await until(people, f"{path}/podruns", jane, 200)
    assert listed.names == [mine]
    assert listed.body["items"][0]["status"]["name"] == "mine"
    table = (await people.get(f"{ROOT}{path}/podruns", jane, accept=TABLE)).body
    assert [one["name"] for one in table["columnDefinitions"]][:3] == ["Name", "Pod", "Queue"]
    for hidden in ("/podruns", f"/namespaces/{other.namespace}/podruns", f"{path}/podruns/{theirs}"):
        assert (await people.get(f"{ROOT}{hidden}", jane)).code == (404 if hidden.startswith(path) else 403)
    reported = await people.create(f"{ROOT}{path}/usagereports", a_report("UsageReport"), jane)
    assert reported.code == 201, reported.text
    assert [row["by"] for row in reported.body["status"]["rows"]] == [{"namespace": team.namespace}]
    foreign = await people.create(f"{ROOT}/namespaces/{other.namespace}/usagereports", a_report("UsageReport"), jane)
    everybody = await people.create(f"{ROOT}/clusterusagereports", a_report("ClusterUsageReport"), jane)
    assert (foreign.code, everybody.code) == (403, 403)


async def test_a_list_over_all_has_what_its_reader_sees(team: Team, other: Team, people: Viewers) -> None:
    """Who may read the API everywhere sees runs where they may list pods: in no, one or two namespaces."""
    mine, theirs = await has_run(team, people, "mine"), await has_run(other, people, "theirs")
    joe = f"joe-of-{team.id}"
    await bind(team.client, joe, VIEWER)
    assert (await until(people, "/podruns", joe, 200)).names == []
    assert (await people.get(f"{ROOT}/namespaces/{team.namespace}/podruns", joe)).code == 403
    assert (await people.get(f"{ROOT}/namespaces/{team.namespace}/podruns/{mine}", joe)).code == 403
    refused = await people.create(f"{ROOT}/namespaces/{team.namespace}/usagereports", a_report("UsageReport"), joe)
    assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
    for teams, expected in (([team], {mine}), ([team, other], {mine, theirs})):
        await bind(team.client, joe, "view", teams[-1].namespace)

        async def seen(expected: set[str] = expected) -> bool:
            return set((await people.get(f"{ROOT}/podruns", joe)).names) == expected

        await eventually(seen, message="the list is not what joe may see")
    first = await people.get(f"{ROOT}/podruns", joe, parameters={"limit": "1"})
    more = {"limit": "1", "continue": first.body["metadata"]["continue"]}
    rest = await people.get(f"{ROOT}/podruns", joe, parameters=more)
    assert {*first.names, *rest.names} == {mine, theirs}
    assert "continue" not in rest.body["metadata"]


async def test_what_everybody_used_takes_a_right_of_its_own(team: Team, people: Viewers) -> None:
    await has_run(team, people, "mine")
    ann = f"ann-of-{team.id}"
    await bind(team.client, ann, ACCOUNTANT)
    path = f"{ROOT}/clusterusagereports"

    async def reported() -> Json:
        reply = await people.create(path, a_report("ClusterUsageReport", namespaces=[team.namespace]), ann)
        assert reply.code == 201, reply.text
        # a pod of this second has used nothing yet
        assert reply.body["status"]["rows"]
        return dict(reply.body["status"])

    (row,) = (await eventually(reported))["rows"]
    assert (row["by"], row["runs"]) == ({"namespace": team.namespace}, 1)
    assert (await people.get(f"{ROOT}/namespaces/{team.namespace}/podruns", ann)).code == 403


async def test_nobody_is_told_nothing(people: Viewers) -> None:
    assert (await people.get_as_nobody(f"{ROOT}/podruns")).code in (401, 403)


async def test_commands_need_no_database(kept: Kept, team: Team, people: Viewers, tmp_path: Path) -> None:
    """A viewer of one namespace asks about it, and is told what to do about the others."""
    await has_run(team, people, "mine")
    joe = f"joe-of-{team.id}"
    await bind(team.client, joe, "view", team.namespace)
    kubeconfig = ["--kubeconfig", str(await as_somebody(kept.cluster, tmp_path, joe, team.namespace))]
    place = ["-n", team.namespace, "-o", "json"]

    async def answered() -> str:
        done = await penstock(kept.cluster.sandbox, "history", *place, *kubeconfig)
        assert (done.code, done.errors) == (0, ""), done
        assert orjson.loads(done.output), "not written yet"
        return done.output

    (run,) = orjson.loads(await eventually(answered))
    assert (run["name"], run["state"]) == ("mine", "Running")
    sandbox = kept.cluster.sandbox
    used = await penstock(sandbox, "usage", *place, *kubeconfig)
    (row,) = orjson.loads(used.output)
    assert row["by"] == {"clusterQueue": team.full("cq")}
    told = await penstock(sandbox, "audit", "mine", "-n", team.namespace, *kubeconfig)
    assert "gate opened by the controller " in told.output, told
    of_all = await penstock(sandbox, "history", *kubeconfig)
    assert (of_all.code, of_all.errors) == (
        1,
        "Error: no right to list podruns.visibility.penstock.dev in the whole cluster: ask for the ClusterRole "
        f"{VIEWER} in the whole cluster; -n NAME asks about one namespace\n",
    )


async def test_a_database_that_fails_is_an_answer(kept: Kept, team: Team, people: Viewers) -> None:
    await has_run(team, people, "mine")

    def put_a_folder_in_its_place() -> None:
        for path in kept.file.parent.iterdir():
            path.rename(path.with_suffix(".away"))
        kept.file.mkdir()

    await asyncio.to_thread(put_a_folder_in_its_place)
    path = f"{ROOT}/namespaces/{team.namespace}/podruns"
    reply = await people.get(path)
    assert (reply.code, reply.body["reason"]) == (503, "ServiceUnavailable")
    assert reply.body["message"].startswith("the history cannot be read: its database does not answer")
    await asyncio.to_thread(kept.file.rmdir)

    async def back() -> bool:
        reply = await people.get(path)
        return reply.code == 200 and len(reply.body["items"]) == 1

    await eventually(back, message="the history is not back", seconds=90)
