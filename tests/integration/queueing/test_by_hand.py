"""`penstock hold`, `release` and `top`, each by somebody with the rights of their own."""

from __future__ import annotations

import orjson
import pytest

from controller.core.keys import HELD, ON_TOP
from tests.support.clusters import Cluster
from tests.support.command import Done, penstock
from tests.support.eventually import eventually
from tests.support.people import Person
from tests.support.team import OURS, Json, Team, is_gated

pytestmark = pytest.mark.integration

IGNORED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


async def queue_of(team: Team) -> Json:
    found: Json = orjson.loads(await team.client.get(f"{OURS}/namespaces/{team.namespace}/localqueues/main"))
    return found


async def test_a_pod_is_held_with_who_and_why_and_released_again(team: Team, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("running")
    await team.until_bound("running")
    await team.pod("first")
    await team.pod("second")
    dry = await jane("hold", "pod/first", "--dry-run")
    assert (dry.code, dry.output) == (0, f"pod {team.namespace}/first: would be held\n")
    assert HELD not in (await team.get("first"))["metadata"].get("annotations", {})

    done = await jane("hold", "pod/first", "--reason", "the file server moves")
    assert (done.code, done.output, done.errors) == (0, f"pod {team.namespace}/first: held\n", "")
    await team.visited()
    await team.end("running")
    assert is_gated((await team.until_bound("second"))["first"])
    message = await team.until_waiting("first", "Held")
    assert message == f"held by hand ({jane.name}: the file server moves); penstock release undoes it"

    again = await jane("hold", "pod/first")
    assert (again.code, again.output) == (
        0,
        f"pod {team.namespace}/first: is held already ({jane.name}: the file server moves)\n",
    )
    await team.end("second")
    released = await jane("release", "pod/first")
    assert (released.code, released.output) == (0, f"pod {team.namespace}/first: released\n")
    await team.until_bound("first")
    late = await jane("hold", "pod/first")
    assert (late.code, late.errors) == (1, f"Error: pod {team.namespace}/first does not wait at Penstock's gate\n")


async def test_a_job_is_held_with_the_pods_that_it_makes_later(team: Team, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.job("train", parallelism=0, completions=2)
    done = await jane("hold", "job/train", "--reason", "wrong input")
    assert (done.code, done.errors) == (0, "")
    path = f"/apis/batch/v1/namespaces/{team.namespace}/jobs/train"
    body = {"spec": {"parallelism": 2}}
    await team.client.patch(path, body, content_type="application/merge-patch+json")

    async def pods() -> list[str]:
        found = [name for name in await team.all() if name.startswith("train-")]
        return found if len(found) == 2 else []

    names = await eventually(pods, message="the Job makes no pods")
    for name in names:
        text = await team.until_waiting(name, "Held")
        assert text == f"its Job is held by hand ({jane.name}: wrong input); penstock release undoes it"
    assert (await jane("release", "job/train")).code == 0
    await team.until_bound(*names)


async def test_who_is_put_on_top_goes_before_the_others_of_the_queue(team: Team, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("running")
    await team.until_bound("running")
    for name in ("a", "b", "c"):
        await team.pod(name)
    done = await jane("top", "pod/c", "pod/b", "--reason", "the board meets at noon")
    assert (done.code, done.output.splitlines()[-1]) == (0, "2 of 2 put on top.")
    assert (await team.get("c"))["metadata"]["annotations"][ON_TOP] == f"{jane.name}: the board meets at noon"
    undone = await jane("top", "pod/b", "--undo")
    assert undone.output == f"pod {team.namespace}/b: on top no longer\n"
    await team.visited()
    await team.end("running")
    pods = await team.until_bound("c")
    assert (is_gated(pods["a"]), is_gated(pods["b"])) == (True, True)


@pytest.mark.more
async def test_an_editor_holds_the_local_queue_alone(team: Team, cluster: Cluster, jane: Person) -> None:
    await team.ready()
    queue = team.full("cq")
    refused = await jane("hold", f"clusterqueue/{queue}")
    assert refused.code == 1
    assert "no right to get clusterqueues.penstock.dev in the whole cluster" in refused.errors
    assert refused.errors.count("\n") == 1

    held = await jane("hold", "queue/main", "--reason", "budget")
    assert (held.code, held.output) == (0, f"queue {team.namespace}/main: held\n")
    await team.pod("waits")
    text = await team.until_waiting("waits", "QueueStopped")
    assert text == f"LocalQueue main has stopPolicy Hold ({jane.name}: budget)"

    by_admin = await penstock(cluster.sandbox, "hold", f"clusterqueue/{queue}", "--reason", "audit")
    assert (by_admin.code, by_admin.output) == (0, f"clusterqueue {queue}: held\n")
    assert (await jane("release", "queue/main")).code == 0
    found = await queue_of(team)
    assert (found["spec"]["stopPolicy"], HELD in found["metadata"].get("annotations", {})) == ("None", False)

    async def told() -> bool:
        conditions = (await team.status("clusterqueues", queue)).get("conditions", [])
        return any(": audit): nothing is admitted" in one["message"] for one in conditions)

    await eventually(told, message="the queue's status does not say why it is held")
    assert is_gated(await team.get("waits"))
    await penstock(cluster.sandbox, "release", f"clusterqueue/{queue}")
    await team.until_bound("waits")


async def test_a_queue_is_drained_and_opened_again(team: Team, jane: Person) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.pod("bare")
    await team.job("train", podFailurePolicy={"rules": [IGNORED]}, backoffLimit=0)
    names = await eventually(lambda: made_by(team, "train"), message="the Job makes no pod")
    await team.until_bound("bare", *names)
    done = await jane("drain", "queue/main", "--reason", "the nodes go away")
    assert (done.code, done.output) == (1, f"queue {team.namespace}/main: drained\n")
    assert "1 stays (1: no owner would recreate it" in done.errors

    async def made_anew() -> list[str]:
        return [name for name in await made_by(team, "train") if name not in names and is_gated(await team.get(name))]

    (again,) = await eventually(made_anew, seconds=60, message="the Job's pod was not evicted, or not made anew")
    text = await team.until_waiting(again, "QueueStopped")
    assert text == f"LocalQueue main has stopPolicy HoldAndDrain ({jane.name}: the nodes go away)"
    assert not is_gated(await team.get("bare"))
    released = await jane("release", "queue/main")
    assert (released.code, "penstock open undoes that" in released.errors) == (1, True)
    opened = await jane("open", "queue/main")
    assert (opened.code, opened.output) == (0, f"queue {team.namespace}/main: opened\n")
    await team.until_bound(again)


async def made_by(team: Team, job: str) -> list[str]:
    return [name for name in await team.all() if name.startswith(f"{job}-")]


async def test_who_may_only_look_holds_nothing(team: Team, cluster: Cluster, jane: Person) -> None:
    await team.ready(stopPolicy="Hold")
    await team.pod("one")
    await team.pod("two")
    joe = Person(cluster, team, "view")
    subject = {"kind": "User", "name": joe.name, "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    binding = {"metadata": {"name": "view"}, "roleRef": reference, "subjects": [subject]}
    await team.client.post(
        f"/apis/rbac.authorization.k8s.io/v1/namespaces/{team.namespace}/rolebindings",
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", **binding},
    )

    async def refused() -> Done | None:
        done = await joe("hold", "pod/one", "pod/two")
        return done if "cannot be held" in done.errors else None

    done = await eventually(refused, message="the authorizer does not know the role")
    assert done is not None
    assert (done.code, done.output) == (1, "0 of 2 held; 2 could not be.\n")
    assert f"no right to patch pods in namespace {team.namespace}: ask for the ClusterRole edit" in done.errors
