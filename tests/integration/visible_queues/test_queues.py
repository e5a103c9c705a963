"""What the API says of queues on a real control plane is what was made there, and hides whom its reader may not see."""

from __future__ import annotations

import pytest

from controller.extension_api.paths import ROOT
from controller.extension_api.resources import HIDDEN
from tests.support.eventually import eventually
from tests.support.team import Json, Team
from tests.support.viewers import TABLE, VIEWER, Reply, Viewers, bind

pytestmark = pytest.mark.integration


async def a_queue_that_is_full(team: Team) -> None:
    """One pod runs on all that there is, three wait, the last of them of a Job."""
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    for name in ("second", "third"):
        await team.pod(name)
    await team.job("train")


async def until(people: Viewers, path: str, user: str = "", *, count: int) -> Reply:
    """Ask for a list until it has so many objects, each with a reason that a decision has given."""

    async def listed() -> Reply:
        reply = await people.get(f"{ROOT}{path}", user)
        assert reply.code == 200, reply.text
        assert len(reply.body["items"]) == count
        assert all(one["status"]["reason"] == "QuotaExceeded" for one in reply.body["items"]), reply.text
        return reply

    return await eventually(listed, message=f"{path} has not {count} objects")


async def test_who_waits_is_listed_in_order(team: Team, people: Viewers) -> None:
    await a_queue_that_is_full(team)
    listed = await until(people, f"/namespaces/{team.namespace}/pendingworkloads", count=3)
    rows = [one["status"] for one in listed.body["items"]]
    assert [(row["target"], row["place"]) for row in rows] == [("pod/second", 1), ("pod/third", 2), ("job/train", 3)]
    assert {row["clusterQueue"] for row in rows} == {team.full("cq")}
    for path in (f"/clusterqueues/{team.full('cq')}", f"/namespaces/{team.namespace}/localqueues/main"):
        assert (await until(people, f"{path}/pendingworkloads", count=3)).names == listed.names
    one = await people.get(f"{ROOT}/namespaces/{team.namespace}/pendingworkloads/third")
    assert one.body == {**listed.body["items"][1], "apiVersion": one.body["apiVersion"], "kind": "PendingWorkload"}


async def test_pages_go_on_behind_the_last_that_was_seen(team: Team, people: Viewers) -> None:
    await a_queue_that_is_full(team)
    path = f"/clusterqueues/{team.full('cq')}/pendingworkloads"
    whole = await until(people, path, count=3)
    first = await people.get(f"{ROOT}{path}", parameters={"limit": "2"})
    await team.delete("second")
    await until(people, path, count=2)
    rest = await people.get(f"{ROOT}{path}", parameters={"continue": first.body["metadata"]["continue"]})
    assert [*first.names, *rest.names] == whole.names


async def test_queues_show_quota_and_use(team: Team, people: Viewers) -> None:
    await a_queue_that_is_full(team)
    await until(people, f"/clusterqueues/{team.full('cq')}/pendingworkloads", count=3)

    async def counted() -> Json:
        reply = await people.get(f"{ROOT}/clusterqueues/{team.full('cq')}")
        assert reply.code == 200, reply.text
        status: Json = reply.body["status"]
        assert (status["pending"], status["running"]) == (3, 1), status
        return status

    (flavor,) = (await eventually(counted))["flavors"]
    cpu = {"name": "cpu", "quota": "1", "used": "1", "borrowed": "0", "lent": "0", "free": "0"}
    assert flavor["resources"] == [cpu]
    local = await people.get(f"{ROOT}/namespaces/{team.namespace}/localqueues", accept=TABLE)
    names = [one["name"] for one in local.body["columnDefinitions"]]
    (row,) = local.body["rows"]
    cells = dict(zip(names, row["cells"], strict=True))
    assert (cells["Name"], cells["Pending"], cells["Used/Quota"]) == ("main", 3, f"{team.full('spot')} cpu 1/1")


async def test_an_explanation_says_who_holds_it(team: Team, people: Viewers) -> None:
    await a_queue_that_is_full(team)
    await until(people, f"/namespaces/{team.namespace}/pendingworkloads", count=3)
    path = f"{ROOT}/namespaces/{team.namespace}/explanations"
    told = (await people.get(f"{path}/job.train")).body["status"]
    assert (told["reason"], told["place"], told["path"]) == ("QuotaExceeded", 3, [team.full("cq")])
    assert told["ahead"] == [f"{team.namespace}/{name}" for name in ("second", "third")]
    (short,) = told["flavors"]
    assert (short["needs"], short["free"], short["lacks"]) == ("1", "0", "1")
    (held,) = told["holders"]
    assert [(one["name"], one["amount"]) for one in held["workloads"]] == [(f"{team.namespace}/first", "1")]
    running = (await people.get(f"{path}/pod.first")).body["status"]
    assert running["waiting"] == 0
    assert running["message"].startswith(f"{team.namespace}/first ")
    assert (await people.get(f"{path}/pod.none")).code == 404


async def test_names_of_others_are_hidden_and_figures_stay(team: Team, people: Viewers) -> None:
    await a_queue_that_is_full(team)
    path = f"/clusterqueues/{team.full('cq')}/pendingworkloads"
    shown = await until(people, path, count=3)
    jane = f"jane-of-{team.id}"
    await bind(team.client, jane, VIEWER)

    async def readable() -> bool:
        return (await people.get(f"{ROOT}{path}", jane)).code == 200

    await eventually(readable)
    hidden = await until(people, path, jane, count=3)
    assert hidden.names == [HIDDEN] * 3
    assert [one["status"]["place"] for one in hidden.body["items"]] == [1, 2, 3]
    assert not [name for name in shown.names if name.encode() in hidden.text]
    assert {one["metadata"]["namespace"] for one in hidden.body["items"]} == {HIDDEN}
    queue = await people.get(f"{ROOT}/clusterqueues/{team.full('cq')}", jane)
    assert (queue.body["status"]["localQueues"], queue.body["status"]["pending"]) == ([], 3)
    explained = await people.get(f"{ROOT}/namespaces/{team.namespace}/explanations/pod.second", jane)
    assert explained.code == 403
