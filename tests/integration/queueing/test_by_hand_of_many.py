"""`penstock hold` and `top` of groups and StatefulSets, and `drain` of a ClusterQueue; each undone by its opposite."""

from __future__ import annotations

from collections.abc import Iterable

import orjson
import pytest

from controller.core.keys import HELD, ON_TOP, POD_GROUP, POD_GROUP_SIZE, QUEUE_NAME
from controller.kube.client import MERGE_PATCH
from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.people import Person
from tests.support.team import OURS, Team, is_gated
from tests.support.team_owners import IGNORES

pytestmark = pytest.mark.integration

ADMIN = "penstock-sandbox-admin"
"""Who owns the cluster, as the apiserver knows them."""


async def test_a_gang_is_held_and_released_by_its_groups_name(team: Team, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pod("running", "2")
    await team.until_bound("running")
    gang = await a_gang(team, "train")
    done = await jane("hold", "group/train", "--reason", "the file server moves")
    assert (done.code, done.output) == (0, lines(team, gang, "held", "2 of 2 held."))
    assert await notes(team, HELD, gang) == [f"{jane.name}: the file server moves"] * 2
    for name in gang:
        message = await team.until_waiting(name, "Held")
        # of whichever member is held
        told = message.removeprefix("pod train-0 of the group: ").removeprefix("pod train-1 of the group: ")
        assert told == f"held by hand ({jane.name}: the file server moves); penstock release undoes it"
    await team.end("running")
    await team.visited()
    assert [is_gated(await team.get(name)) for name in gang] == [True, True]

    released = await jane("release", "group/train")
    assert (released.code, released.output) == (0, lines(team, gang, "released", "2 of 2 released."))
    await team.until_bound(*gang)
    assert await notes(team, HELD, gang) == [None, None]
    late = await jane("hold", "group/train")
    text = f"Error: no pod of the group train waits at Penstock's gate in namespace {team.namespace}\n"
    assert (late.code, late.errors) == (1, text)


async def test_a_gang_on_top_goes_first_until_it_is_taken_off(team: Team, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pod("running", "2")
    await team.until_bound("running")
    await team.pod("a")
    await team.pod("b")
    first, second = await a_gang(team, "first"), await a_gang(team, "second")
    done = await jane("top", "group/first", "group/second", "--reason", "the board meets at noon")
    assert (done.code, done.output) == (0, lines(team, first + second, "put on top", "4 of 4 put on top."))
    assert await notes(team, ON_TOP, first + second) == [f"{jane.name}: the board meets at noon"] * 4
    undone = await jane("top", "group/second", "--undo")
    assert (undone.code, undone.output) == (0, lines(team, second, "on top no longer", "2 of 2 on top no longer."))
    assert await notes(team, ON_TOP, second) == [None, None]

    await team.visited()
    await team.end("running")
    pods = await team.until_bound(*first)
    assert [is_gated(pods[name]) for name in ("a", "b", *second)] == [True] * 4
    for name in first:
        await team.end(name)
    pods = await team.until_bound("a", "b")
    assert [is_gated(pods[name]) for name in second] == [True, True]


async def test_waiting_pods_of_a_stateful_set_are_held_not_later_ones(team: Team, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 3}})
    await team.pod("running", "3")
    await team.until_bound("running")
    names = await a_stateful_set(team)
    done = await jane("hold", "sts/db", "--reason", "the volumes move")
    assert (done.code, done.output) == (0, lines(team, names, "held", "2 of 2 held."))
    assert await notes(team, HELD, names) == [f"{jane.name}: the volumes move"] * 2
    for name in names:
        message = await team.until_waiting(name, "Held")
        assert message == f"held by hand ({jane.name}: the volumes move); penstock release undoes it"
    path = f"/apis/apps/v1/namespaces/{team.namespace}/statefulsets/db"
    await team.client.patch(path, {"spec": {"replicas": 3}}, content_type=MERGE_PATCH)
    await eventually(lambda: team.exists(f"{team.pods_path}/db-2"), message="the StatefulSet makes no third pod")
    await team.end("running")
    pods = await team.until_bound("db-2")
    assert [is_gated(pods[name]) for name in names] == [True, True]

    # as `kubectl get -o name` prints it
    released = await jane("release", "statefulset.apps/db")
    assert (released.code, released.output) == (0, lines(team, names, "released", "2 of 2 released."))
    await team.until_bound(*names)
    assert await notes(team, HELD, names) == [None, None]
    late = await jane("hold", "statefulset/db")
    text = "Error: no pod that a statefulset db controls waits at Penstock's gate"
    assert (late.code, late.errors) == (1, f"{text} in namespace {team.namespace}\n")


@pytest.mark.more
async def test_a_stateful_set_is_put_on_top_until_that_is_undone(team: Team, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("running")
    await team.until_bound("running")
    await team.pod("before")
    names = await a_stateful_set(team)
    done = await jane("top", "statefulset/db", "--reason", "the shop is down")
    assert (done.code, done.output) == (0, lines(team, names, "put on top", "2 of 2 put on top."))
    assert await notes(team, ON_TOP, names) == [f"{jane.name}: the shop is down"] * 2
    await team.visited()
    await team.end("running")
    pods = await team.until_bound("db-0")
    assert [is_gated(pods[name]) for name in ("before", "db-1")] == [True, True]

    # what waits yet has its place again; what was admitted keeps its note
    undone = await jane("top", "sts/db", "--undo")
    assert (undone.code, undone.output) == (0, f"pod {team.namespace}/db-1: on top no longer\n")
    assert await notes(team, ON_TOP, ["db-1"]) == [None]
    await team.visited("again")
    cpu = [{"name": "cpu", "nominalQuota": 2}]
    await team.change("clusterqueues", team.full("cq"), {"flavors": [{"name": team.full("spot"), "resources": cpu}]})
    pods = await team.until_bound("before")
    assert is_gated(pods["db-1"])


@pytest.mark.more
async def test_only_its_owner_drains_and_opens_a_cluster_queue(team: Team, cluster: Cluster, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.job("train", podFailurePolicy=IGNORES, backoffLimit=0)
    name = await eventually(lambda: made_by_job(team), message="the Job makes no pod")
    await team.until_bound(name)
    queue = team.full("cq")
    refused = await jane("drain", f"pcq/{queue}")
    assert (refused.code, refused.output) == (1, "")
    assert "no right to get clusterqueues.penstock.dev in the whole cluster" in refused.errors

    done = await penstock(cluster.sandbox, "drain", f"pcq/{queue}", "--reason", "the nodes go away")
    assert (done.code, done.errors) == (0, "")
    drained, told_of_pods = done.output.splitlines()
    assert drained == f"clusterqueue {queue}: drained"
    assert told_of_pods.startswith(f"clusterqueue {queue}: ")
    assert await stop_of(team) == ("HoldAndDrain", f"{ADMIN}: the nodes go away")
    again = await eventually(lambda: made_by_job(team, name), seconds=60, message="the Job's pod was not made anew")
    text = await team.until_waiting(again, "QueueStopped")
    assert text == f"ClusterQueue {queue} has stopPolicy HoldAndDrain ({ADMIN}: the nodes go away)"

    async def told() -> bool:
        conditions = {c["type"]: c for c in (await team.status("clusterqueues", queue))["conditions"]}
        assert conditions["Active"]["status"] == "False"
        return f"({ADMIN}: the nodes go away)" in conditions["Active"]["message"]

    await eventually(told, message="the queue's status does not say why it is drained")
    wrong = await penstock(cluster.sandbox, "release", f"clusterqueue/{queue}")
    assert (wrong.code, "penstock open undoes that" in wrong.errors) == (1, True)
    opened = await penstock(cluster.sandbox, "open", f"clusterqueues.penstock.dev/{queue}")
    assert (opened.code, opened.output) == (0, f"clusterqueue {queue}: opened\n")
    assert await stop_of(team) == ("None", None)
    await team.until_bound(again)


async def a_gang(team: Team, group: str) -> list[str]:
    """Make two pods that start together; return their names."""
    names = [f"{group}-0", f"{group}-1"]
    for name in names:
        await team.pod(name, labels={POD_GROUP: group}, annotations={POD_GROUP_SIZE: "2"})
    return names


async def a_stateful_set(team: Team) -> list[str]:
    """Make the StatefulSet db, which makes its two pods at once; return their names."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {QUEUE_NAME: "main", "app": "db"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "podManagementPolicy": "Parallel", "selector": {"matchLabels": {"app": "db"}}}
    body = {"metadata": {"name": "db"}, "spec": {**spec, "serviceName": "db", "template": template}}
    await team.client.post(f"/apis/apps/v1/namespaces/{team.namespace}/statefulsets", body)

    async def both() -> bool:
        return {"db-0", "db-1"} <= (await team.all()).keys()

    await eventually(both, message="the StatefulSet makes no pods")
    return ["db-0", "db-1"]


def lines(team: Team, names: Iterable[str], done: str, sum_: str) -> str:
    """What the command says of these pods, and of all together."""
    return "".join([*(f"pod {team.namespace}/{name}: {done}\n" for name in names), f"{sum_}\n"])


async def notes(team: Team, key: str, names: Iterable[str]) -> list[str | None]:
    pods = await team.all()
    return [pods[name]["metadata"].get("annotations", {}).get(key) for name in names]


async def stop_of(team: Team) -> tuple[str, str | None]:
    """The stopPolicy of the ClusterQueue, and the note of who set it."""
    found = orjson.loads(await team.client.get(f"{OURS}/clusterqueues/{team.full('cq')}"))
    return found["spec"]["stopPolicy"], found["metadata"].get("annotations", {}).get(HELD)


async def made_by_job(team: Team, former: str = "") -> str:
    """The name of a pod of the Job that is another than the former one; empty while there is none."""
    return next((name for name in await team.all() if name.startswith("train-") and name != former), "")
