"""What a pod is told when kube-scheduler may preempt for its PriorityClass: by its ClusterQueue, as it is known."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import DEFAULT_QUEUE
from controller.core.queueing.scheduler_preemption import Ruling, preempting_class, ruling
from controller.kube.decode import decode_metadata
from controller.kube.decode_queues import decode_cluster_queue, decode_local_queue
from controller.kube.errors import UnreadableObject
from controller.kube.wire import Owned
from tests.support.scheduling_worlds import a_pod, a_request
from tests.support.worlds import TRUSTED
from webhook.reviews.admission import Answer, write
from webhook.steps.chain import mutate
from webhook.world.cluster import ClusterLookups

Json = dict[str, Any]
QUEUED = {"labels": {"penstock.dev/queue-name": "main"}}
URGENT: Json = {"priorityClassName": "urgent", "priority": 1000, "preemptionPolicy": "PreemptLowerPriority"}
WHAT = (
    "spec.priorityClassName: 'urgent': kube-scheduler may preempt any pod of lower priority for it, whatever its quota"
)
TOLD = f"{WHAT}; name one with preemptionPolicy: Never (schedulerPreemption of ClusterQueue 'cq')"
REFUSED = (
    WHAT + ", and ClusterQueue '{queue}' forbids that (schedulerPreemption: Forbid); name one with preemptionPolicy: "
    "Never: that class, or the label penstock.dev/priority-class, gives the pod its place in the queue; or ask the "
    "queue's owner to set Allow"
)


def local_queue(name: str = "main", cluster_queue: str = "cq") -> bytes:
    return orjson.dumps({"metadata": {"name": name, "namespace": "team"}, "spec": {"clusterQueue": cluster_queue}})


def cluster_queue(name: str = "cq", **spec: Any) -> bytes:
    return orjson.dumps({"metadata": {"name": name}, "spec": {"flavors": [], **spec}})


def a_world(*queues: bytes, **labels: str) -> ClusterLookups:
    """Namespace team with the LocalQueue main, which leads to cq."""
    world = ClusterLookups(trusted_users=frozenset((TRUSTED,)))
    world.namespaces.replace([Owned(name="team", labels=labels)])
    world.local_queues.replace([decode_local_queue(local_queue())])
    world.cluster_queues.replace(map(decode_cluster_queue, queues))
    return world


def asked(world: ClusterLookups, metadata: Json | None = None, **spec: Any) -> Answer:
    return mutate(a_request(a_pod(QUEUED if metadata is None else metadata, **spec)), world)


@pytest.mark.parametrize("said", [{}, {"schedulerPreemption": "Warn"}])
def test_a_pod_is_queued_with_a_warning_by_default(said: Json) -> None:
    answer = asked(a_world(cluster_queue(**said)), **URGENT)
    assert (answer.denial, answer.warnings) == (None, (TOLD,))
    assert answer.operations
    shown: list[str] = orjson.loads(write("1", answer))["response"]["warnings"]
    assert shown == [TOLD], "the apiserver gets warnings of a bounded length"


def test_a_queue_that_forbids_refuses_the_pod() -> None:
    assert asked(a_world(cluster_queue(schedulerPreemption="Forbid")), **URGENT) == Answer(
        denial=REFUSED.format(queue="cq")
    )


def test_a_queue_that_allows_says_nothing() -> None:
    assert asked(a_world(cluster_queue(schedulerPreemption="Allow")), **URGENT).warnings == ()


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"priorityClassName": "calm", "priority": 1000, "preemptionPolicy": "Never"},
        {"priorityClassName": "calm", "preemptionPolicy": None},
    ],
    ids=["no class", "a class that never preempts", "not worked out yet"],
)
@pytest.mark.parametrize("setting", ["Warn", "Forbid"])
def test_a_pod_without_a_preempting_class_gets_no_word(spec: Json, setting: str) -> None:
    answer = asked(a_world(cluster_queue(schedulerPreemption=setting)), **spec)
    assert (answer.denial, answer.warnings) == (None, ())
    assert answer.operations


@pytest.mark.parametrize("priority", [-5, 0, 2_000_000_000])
def test_the_value_of_the_class_does_not_matter(priority: int) -> None:
    spec = {**URGENT, "priority": priority}
    assert asked(a_world(cluster_queue(schedulerPreemption="Forbid")), **spec).denial is not None


def test_what_a_queue_above_forbids_is_forbidden() -> None:
    below = cluster_queue(parent="team", schedulerPreemption="Allow")
    team = cluster_queue("team", parent="org")
    assert asked(a_world(below, team, cluster_queue("org")), **URGENT) == asked(a_world(below), **URGENT)
    world = a_world(below, team, cluster_queue("org", schedulerPreemption="Forbid"))
    assert asked(world, **URGENT).denial == REFUSED.format(queue="org")
    world = a_world(cluster_queue(parent="org"), cluster_queue("org", schedulerPreemption="Allow"))
    assert asked(world, **URGENT).warnings == (TOLD,)


def test_a_circle_of_parents_ends() -> None:
    words = map(decode_cluster_queue, (cluster_queue(parent="org"), cluster_queue("org", parent="cq")))
    known = {word.name: word for word in words}
    assert ruling("cq", known) == Ruling(known["cq"].scheduler_preemption, "cq")


def test_a_queue_that_is_not_known_says_nothing() -> None:
    world = a_world()
    answer = asked(world, **URGENT)
    assert (answer.denial, answer.warnings) == (None, ())
    assert answer.operations
    world.cluster_queues.upsert(decode_cluster_queue(cluster_queue(schedulerPreemption="Forbid")))
    absent = asked(world, {"labels": {"penstock.dev/queue-name": "absent"}}, **URGENT)
    assert [warning.split(":")[0] for warning in absent.warnings] == [
        "LocalQueue 'absent' does not exist in namespace 'team'"
    ]
    assert asked(world, **URGENT).denial is not None
    world.local_queues.remove(decode_metadata(local_queue()))
    assert asked(world, **URGENT).denial is None
    world.local_queues.upsert(decode_local_queue(local_queue()))
    world.cluster_queues.remove(decode_metadata(cluster_queue()))
    assert asked(world, **URGENT).denial is None


def test_it_holds_for_the_default_queue_and_not_outside() -> None:
    forbids = cluster_queue(schedulerPreemption="Forbid")
    assert asked(a_world(forbids, **{DEFAULT_QUEUE: "main"}), {}, **URGENT).denial == REFUSED.format(queue="cq")
    assert asked(a_world(forbids), {}, **URGENT) == Answer()


@pytest.mark.parametrize(
    ("name", "policy", "expected"),
    [
        ("urgent", "PreemptLowerPriority", "urgent"),
        ("urgent", None, "urgent"),
        ("urgent", "Never", ""),
        (None, "PreemptLowerPriority", ""),
        ("", None, ""),
    ],
)
def test_all_policies_but_never_preempt(name: str | None, policy: str | None, expected: str) -> None:
    assert preempting_class(name, policy) == expected


def test_what_is_no_queue_cannot_be_read() -> None:
    with pytest.raises(UnreadableObject, match=r"^localqueue: .*clusterQueue"):
        decode_local_queue(b'{"metadata": {"name": "main"}, "spec": {}}')
    with pytest.raises(UnreadableObject, match=r"^clusterqueue: .*'Never'"):
        decode_cluster_queue(cluster_queue(schedulerPreemption="Never"))
