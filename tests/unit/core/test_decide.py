from __future__ import annotations

from typing import Any

import pytest

from controller.core.decision.decide import decide
from controller.core.kubernetes.labels import LabelSelector
from controller.core.quota.quota_tree import UsageKey
from controller.core.reasons import Reason
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import Hold
from tests.support.builders import (
    HOLD,
    STRICT,
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_pod,
    a_quota,
    a_requirement,
    a_shape,
    a_snapshot,
    a_workload,
    admitted,
    constraints,
    decided,
    waiting,
)

BIG = a_shape(cpu="3")
PODS = [a_pod("a", BIG, created=1), a_pod("b", created=2), a_pod("c", created=3), a_pod("d", created=4)]


def test_the_first_in_order_are_admitted_up_to_the_quota() -> None:
    plan = decide(a_snapshot(*PODS, queues=[a_cluster_queue("team-a", a_quota(cpu="4"))]), limit=UNLIMITED)
    assert admitted(plan) == {"a": ("spot", "node-1"), "b": ("spot", "node-1")}
    assert waiting(plan) == {"main/1000": "QuotaExceeded"}
    assert plan.is_complete


def test_what_is_used_already_counts() -> None:
    usage: dict[UsageKey, int] = {("team-a", "spot", "cpu"): 7000}
    assert list(admitted(decide(a_snapshot(*PODS, usage=usage), limit=UNLIMITED))) == ["b"]


def test_best_effort_lets_smaller_ones_pass() -> None:
    plan = decide(a_snapshot(*PODS, queues=[a_cluster_queue("team-a", a_quota(cpu="2"))]), limit=UNLIMITED)
    assert list(admitted(plan)) == ["b", "c"]
    assert waiting(plan) == {"main/3000": "NeverFits", "main/1000": "QuotaExceeded"}


def test_strict_holds_up_all_local_queues_of_a_cluster_queue() -> None:
    queues = [a_cluster_queue("team-a", a_quota(cpu="3"), strategy=STRICT), a_cluster_queue("team-b")]
    doors = [a_local_queue(), a_local_queue("side"), a_local_queue("free", "team-b")]
    others = [a_pod("s", queue="side", created=9), a_pod("f", queue="free", created=9)]
    plan = decide(
        a_snapshot(*PODS, *others, queues=queues, locals_=doors, usage={("team-a", "spot", "cpu"): 1000}),
        limit=UNLIMITED,
    )
    assert list(admitted(plan)) == ["f"]
    assert waiting(plan) == {"main/3000": "QuotaExceeded", "main/1000": "Priority", "side/1000": "Priority"}
    assert plan.waits[a_workload(PODS[1]).kind].text == "behind others in the StrictFIFO queue team-a"


def test_strict_is_not_held_up_by_a_pod_never_looked_at() -> None:
    held = a_pod("held", hold=Hold(Reason.INVALID_REQUESTS, "bad"), priority=100)
    queue = a_cluster_queue("team-a", strategy=STRICT)
    assert list(admitted(decide(a_snapshot(held, a_pod("b"), queues=[queue]), limit=UNLIMITED))) == ["b"]


def test_strict_is_held_up_by_a_release_to_be_retried() -> None:
    refused = a_pod("refused", hold=Hold(Reason.PATCH_REJECTED, "no"), created=2)
    pods = [a_pod("first", created=1), refused, a_pod("behind", created=3)]
    plan = decide(a_snapshot(*pods, queues=[a_cluster_queue(strategy=STRICT)]), limit=UNLIMITED)
    assert list(admitted(plan)) == ["first"]
    assert plan.waits[a_workload(refused).kind].reason is Reason.PATCH_REJECTED
    assert plan.waits[a_workload(pods[2]).kind].reason is Reason.PRIORITY


def test_best_effort_passes_a_refused_release() -> None:
    refused = a_pod("refused", hold=Hold(Reason.PATCH_REJECTED, "no"))
    assert list(admitted(decide(a_snapshot(refused, a_pod("b", created=1)), limit=UNLIMITED))) == ["b"]


def test_priority_goes_before_age_and_age_before_name() -> None:
    pods = [a_pod("c", created=1), a_pod("b", created=2), a_pod("a", created=2), a_pod("z", priority=1, created=9)]
    plan = decide(a_snapshot(*pods), limit=UNLIMITED)
    assert list(admitted(plan)) == ["z", "c", "a", "b"]


def test_order_holds_across_queues_that_share_nodes() -> None:
    queues = [a_cluster_queue("team-a"), a_cluster_queue("team-b")]
    doors = [a_local_queue(), a_local_queue("other", "team-b")]
    pods = [a_pod("a", BIG, created=2), a_pod("b", BIG, queue="other", created=1)]
    plan = decide(a_snapshot(*pods, queues=queues, locals_=doors), limit=UNLIMITED)
    assert list(admitted(plan)) == ["b"]
    assert waiting(plan) == {"main/3000": "NoCapacity"}


@pytest.mark.parametrize(
    ("limit", "uids", "complete"), [(0, [], False), (2, ["a", "b"], False), (3, ["a", "b", "c"], True)]
)
def test_the_limit_ends_a_decision_early_and_says_so(limit: int, uids: list[str], *, complete: bool) -> None:
    plan = decide(a_snapshot(*(a_pod(uid) for uid in "abc")), limit=limit)
    assert (list(admitted(plan)), plan.is_complete) == (uids, complete)


def test_nothing_waiting_is_complete_even_without_room() -> None:
    assert decide(a_snapshot(), limit=0).is_complete


@pytest.mark.parametrize(
    ("pod", "world", "reason", "text"),
    [
        (a_pod(queue="nope"), {}, "QueueNotFound", "LocalQueue nope does not exist in namespace default"),
        (a_pod(queue=None), {}, "QueueNotFound", "the pod names no queue"),
        (
            a_pod(),
            {"queues": []},
            "QueueNotFound",
            "ClusterQueue team-a of LocalQueue main does not exist",
        ),
        (
            a_pod(),
            {"queues": [], "faulty": {"team-a": "spec.flavors: bad"}},
            "QueueInvalid",
            "ClusterQueue team-a cannot be used as written: spec.flavors: bad",
        ),
        (a_pod(), {"locals_": [a_local_queue(stop=HOLD)]}, "QueueStopped", "LocalQueue main has stopPolicy Hold"),
        (
            a_pod(),
            {"queues": [a_cluster_queue(stop=HOLD, stop_note="jane:\nthe file server moves")]},
            "QueueStopped",
            "ClusterQueue team-a has stopPolicy Hold (jane: the file server moves)",
        ),
        (
            a_pod(),
            {"queues": [a_cluster_queue(stop=HOLD)]},
            "QueueStopped",
            "ClusterQueue team-a has stopPolicy Hold",
        ),
        (
            a_pod(),
            {"queues": [a_cluster_queue(namespaces=None)]},
            "NamespaceNotSelected",
            "the namespaceSelector of ClusterQueue team-a does not select namespace default",
        ),
        (
            a_pod(),
            {"queues": [a_cluster_queue(namespaces=LabelSelector((a_requirement("team In a"),)))]},
            "NamespaceNotSelected",
            "the namespaceSelector of ClusterQueue team-a does not select namespace default",
        ),
        (
            a_pod(),
            {"queues": [a_cluster_queue("team-a", a_quota("spot"), a_quota("gone"))]},
            "QueueInvalid",
            "ClusterQueue team-a names ResourceFlavor gone, which does not exist or is invalid",
        ),
        (a_pod(hold=Hold(Reason.FOREIGN_GATE, "waits for x")), {}, "ForeignGate", "waits for x"),
    ],
)
def test_a_class_that_cannot_pass_the_door_says_why(pod: Pod, world: dict[str, Any], reason: str, text: str) -> None:
    plan = decide(a_snapshot(pod, **world), limit=UNLIMITED)
    assert (admitted(plan), plan.is_complete) == ({}, True)
    assert [(wait.reason, wait.text) for wait in plan.waits.values()] == [(reason, text)]


def test_a_selected_namespace_may_use_the_queue() -> None:
    queue = a_cluster_queue(namespaces=LabelSelector((a_requirement("team In a"),)))
    world = a_snapshot(a_pod("a"), queues=[queue], namespaces={"default": {"team": "a"}})
    assert list(admitted(decide(world, limit=UNLIMITED))) == ["a"]


def test_a_local_queue_serves_its_own_namespace_alone() -> None:
    plan = decide(a_snapshot(a_pod("a", namespace="elsewhere")), limit=UNLIMITED)
    assert waiting(plan) == {"main/1000": "QueueNotFound"}


def test_a_strict_head_is_never_settled() -> None:
    cache = a_cache(a_pod("a", a_shape(cpu="3")), queues=[a_cluster_queue("team-a", a_quota(cpu="2"), strategy=STRICT)])
    first = waiting(decided(cache))
    cache.reopen_all()
    assert first == waiting(decided(cache)) == {"main/3000": "NeverFits"}


def test_two_classes_do_not_share_the_same_room() -> None:
    sidelined = constraints(selector={"pool": "spot"})
    pods = [a_pod("a", BIG, created=1), a_pod("b", a_shape(sidelined, cpu="3"), created=2)]
    plan = decide(a_snapshot(*pods), limit=UNLIMITED)
    assert list(admitted(plan)) == ["a"]


def test_two_queues_share_a_flavor_within_their_own_quotas() -> None:
    queues = [a_cluster_queue(name, a_quota(cpu="1")) for name in ("team-a", "team-b")]
    doors = [a_local_queue(), a_local_queue("other", "team-b")]
    pods = [a_pod("a"), a_pod("b"), a_pod("c", queue="other"), a_pod("d", queue="other")]
    plan = decide(a_snapshot(*pods, queues=queues, locals_=doors, flavors=[a_flavor()]), limit=UNLIMITED)
    assert list(admitted(plan)) == ["a", "c"]
