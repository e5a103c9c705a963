from __future__ import annotations

import random
from dataclasses import replace

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import NamespaceSink, NodeSink, PodSink
from controller.cache.versions import forget_versions
from controller.core.decision.decide import decide
from controller.core.reasons import Reason
from controller.core.workloads.pods import Phase, Pod
from controller.kube.wire import Owned
from tests.support.builders import (
    MAIN,
    STRICT,
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    a_static_flavor,
    admitted,
    decided,
    list_pods,
    waiting,
)

CPU = ("team-a", "spot", "cpu")


def used(cache: ClusterCache) -> dict[str, dict[str, int]]:
    """Cpu by queue and by node, in short, as a decision would see it."""
    cache.snapshot()
    return {
        "queues": {f"{queue}/{flavor}": n for (queue, flavor, r), n in cache.usage.by_queue.items() if r == "cpu"},
        "nodes": {node: sums["cpu"] for node, sums in cache.usage.by_node.items() if "cpu" in sums},
    }


def test_an_admission_is_charged_at_once_and_waits_no_longer() -> None:
    cache = a_cache(a_pod("a"))
    decided(cache)
    assert used(cache) == {"queues": {"team-a/spot": 1000}, "nodes": {"node-1": 1000}}
    assert (len(cache.backlog), cache.usage.counts[("team-a", Phase.RESERVED)]) == (0, 1)
    assert admitted(decided(cache)) == {}


def test_an_admission_that_was_seen_already_is_not_assumed() -> None:
    cache = a_cache(a_pod("a"), a_pod("b"))
    plan = decide(cache.snapshot(), index=cache.feasibility, limit=2)
    cache.put_pod(a_released_pod("a"))
    cache.absorb(plan, {"a"})
    assert (cache.assumed("a"), cache.assumed("b") is not None) == (None, True)


def test_settling_undoes_an_assumed_admission() -> None:
    cache = a_cache(a_pod("a"))
    decided(cache)
    cache.settle("a")
    assert used(cache) == {"queues": {}, "nodes": {}}
    assert admitted(decided(cache)) == {"a": ("spot", "node-1")}


def test_a_rejected_pod_waits_until_it_is_retried() -> None:
    cache = a_cache(a_pod("a"))
    decided(cache)
    cache.reject("a", "no")
    assert waiting(decided(cache)) == {"main/1000": "PatchRejected"}
    cache.retry("a")
    assert list(admitted(decided(cache))) == ["a"]


def test_a_rejection_frees_the_way_for_others() -> None:
    cache = a_cache(a_pod("a", created=1), a_pod("b", created=2), queues=[a_cluster_queue("team-a", a_quota(cpu="1"))])
    assert list(admitted(decided(cache))) == ["a"]
    cache.reject("a", "no")
    assert list(admitted(decided(cache))) == ["b"]


def test_refusals_are_counted_until_the_pod_is_released() -> None:
    cache = a_cache(a_pod("a"))
    decided(cache)
    assert [cache.reject("a", "no"), cache.reject("a", "no")] == [1, 2]
    cache.retry("a")
    decided(cache)
    assert cache.reject("a", "no") == 3
    cache.put_pod(a_released_pod("a"))
    cache.put_pod(a_pod("a", resource_version="3"))
    assert cache.reject("a", "no") == 1


def test_a_reply_about_a_deleted_pod_does_not_restore_it() -> None:
    cache = a_cache(a_pod("a"))
    cache.update_pod(a_pod("a", a_shape(cpu="2"), resource_version="2"))
    assert cache.pods["a"].shape == a_shape(cpu="2")
    cache.drop_pod("a")
    cache.update_pod(a_released_pod("a"))
    assert (cache.pods, used(cache)) == ({}, {"queues": {}, "nodes": {}})


def test_strict_order_holds_while_a_refused_release_waits() -> None:
    queue = a_cluster_queue("team-a", a_quota(cpu="1"), strategy=STRICT)
    cache = a_cache(a_pod("a", created=1), a_pod("b", created=2), queues=[queue])
    decided(cache)
    cache.reject("a", "no")
    assert admitted(decided(cache)) == {}
    cache.retry("a")
    assert list(admitted(decided(cache))) == ["a"]


def test_retrying_an_unknown_pod_is_no_fault() -> None:
    cache = a_cache(a_pod("a"))
    for uid in ("a", "gone"):
        cache.retry(uid)
        cache.reject("gone", "no")
    assert list(admitted(decided(cache))) == ["a"]


def test_the_charge_stays_the_same_from_assumption_to_release() -> None:
    cache = a_cache(a_pod("a"))
    decided(cache)
    before = used(cache)
    cache.put_pod(a_released_pod("a", pinned="node-1"))
    assert used(cache) == before
    cache.settle("a")
    assert used(cache) == before
    assert cache.usage.counts[("team-a", Phase.RESERVED)] == 1


def test_a_patch_reply_newer_than_a_late_watch_event_stands() -> None:
    cache = a_cache(a_pod("a", resource_version="9"))
    decided(cache)
    cache.put_pod(a_released_pod("a", resource_version="10"))
    cache.settle("a")
    cache.put_pod(a_pod("a", resource_version="9"))
    assert cache.pods["a"].phase is Phase.RESERVED
    assert used(cache)["queues"] == {"team-a/spot": 1000}


def test_versions_are_compared_as_numbers() -> None:
    cache = a_cache(a_pod("a", resource_version="9"))
    cache.put_pod(a_pod("a", a_shape(cpu="2"), resource_version="10"))
    assert cache.pods["a"].shape == a_shape(cpu="2")


def test_a_binding_elsewhere_moves_the_room_and_keeps_the_quota() -> None:
    cache = a_cache(a_released_pod("a", pinned="node-1"), nodes=[a_node("node-1"), a_node("node-2")])
    cache.put_pod(a_released_pod("a", pinned="node-1", node="node-2", resource_version="3"))
    assert used(cache) == {"queues": {"team-a/spot": 1000}, "nodes": {"node-2": 1000}}
    assert cache.usage.counts == {("team-a", Phase.RUNNING): 1}
    assert cache.usage.local_counts[(MAIN, Phase.RUNNING)] == 1


def test_binding_elsewhere_frees_the_planned_node() -> None:
    big = a_shape(cpu="4")
    cache = a_cache(a_released_pod("a", pinned="node-1"), a_pod("big", big), nodes=[a_node("node-1")])
    assert waiting(decided(cache)) == {"main/4000": "NoCapacity"}
    cache.put_pod(a_released_pod("a", pinned="node-1", node="other", resource_version="3"))
    assert admitted(decided(cache)) == {"big": ("spot", "node-1")}


@pytest.mark.parametrize(
    ("pod", "queues", "nodes"),
    [
        (a_released_pod("a"), {"team-a/spot": 1000}, {}),
        (a_released_pod("a", node="n"), {"team-a/spot": 1000}, {"n": 1000}),
        (a_released_pod("a", node="n", is_terminating=True), {"team-a/spot": 1000}, {"n": 1000}),
        (a_released_pod("a", node="n", is_finished=True), {}, {}),
        (a_released_pod("a", cluster_queue="gone"), {"gone/spot": 1000}, {}),
        (a_foreign_pod("a"), {}, {}),
        (a_foreign_pod("a", node="n"), {}, {"n": 1000}),
        (a_foreign_pod("a", node="n", is_finished=True), {}, {}),
        (a_foreign_pod("a", node="n", is_terminating=True), {}, {"n": 1000}),
        (a_pod("a"), {}, {}),
        (a_pod("a", is_terminating=True), {}, {}),
        (a_pod("a", gates=("other",)), {}, {}),
        (a_released_pod("a", cluster_queue=None, flavor=None), {"team-a/spot": 1000}, {}),
        (
            a_released_pod("a", cluster_queue=None, flavor=None, node="node-2"),
            {"team-a/steady": 1000},
            {"node-2": 1000},
        ),
        (a_released_pod("a", cluster_queue=None, flavor=None, node="n"), {"team-a/spot": 1000}, {"n": 1000}),
        (a_released_pod("a", cluster_queue=None, flavor=None, queue="no", node="n"), {}, {"n": 1000}),
        (a_released_pod("a", flavor=None), {"team-a/spot": 1000}, {}),
    ],
)
def test_each_pod_is_charged_where_it_belongs(pod: Pod, queues: dict[str, int], nodes: dict[str, int]) -> None:
    queue = a_cluster_queue("team-a", a_quota("spot"), a_quota("steady"))
    both = [a_node(), a_node("node-2", labels={"pool": "steady"})]
    cache = a_cache(pod, queues=[queue], flavors=[a_flavor("spot"), a_flavor("steady")], nodes=both)
    assert used(cache) == {"queues": queues, "nodes": nodes}


def test_an_unstamped_pod_is_charged_by_its_queue_and_node() -> None:
    pod = a_released_pod("a", cluster_queue=None, flavor=None, node="node-1")
    cache = a_cache(pod, queues=[], flavors=[a_flavor("spot"), a_flavor("steady")])
    assert used(cache)["queues"] == {}
    cache.set_cluster_queue("team-a", a_cluster_queue("team-a", a_quota("steady"), a_quota("spot")))
    assert used(cache)["queues"] == {"team-a/spot": 1000}
    cache.put_node(a_node("node-1", labels={"pool": "steady"}))
    assert used(cache)["queues"] == {"team-a/steady": 1000}
    cache.set_local_queue(MAIN, None)
    assert used(cache) == {"queues": {}, "nodes": {"node-1": 1000}}


@pytest.mark.parametrize("how", ["finish", "delete", "vanish from the list", "terminate while gated"])
def test_what_a_pod_held_is_given_back_when_it_goes(how: str) -> None:
    cache = a_cache(a_pod("a"), a_pod("b", created=2), queues=[a_cluster_queue("team-a", a_quota(cpu="1"))])
    assert list(admitted(decided(cache))) == ["a"]
    match how:
        case "finish":
            cache.put_pod(a_released_pod("a", is_finished=True))
        case "delete":
            PodSink(cache).remove(Owned(uid="a"))
        case "terminate while gated":
            cache.put_pod(a_pod("a", is_terminating=True, resource_version="2"))
            # what was decided may be on its way: the executor says when that is over
            assert used(cache)["queues"] == {"team-a/spot": 1000}
            cache.settle("a")
        case _:
            list_pods(cache, [a_pod("b", created=2)])
    assert used(cache) == {"queues": {}, "nodes": {}}
    assert list(admitted(decided(cache))) == ["b"]


def test_a_deleted_pod_leaves_nothing_behind() -> None:
    cache = a_cache(a_pod("a"), a_pod("r"))
    decided(cache)
    cache.reject("r", "no")
    for uid in ("a", "r", "never-seen"):
        cache.drop_pod(uid)
    assert (cache.pods, len(cache.backlog), cache.assumed("a")) == ({}, 0, None)
    cache.put_pod(a_pod("r"))
    assert list(admitted(decided(cache))) == ["r"]


def test_a_relist_takes_in_new_changed_and_deleted_pods() -> None:
    cache = a_cache(a_pod("gone"), a_pod("newer", resource_version="9"), a_pod("changed"))
    listed = [a_pod("newer", queue="x", resource_version="8"), a_pod("changed", queue="y", resource_version="2")]
    list_pods(cache, [*listed, a_pod("new")])
    assert {uid: pod.queue for uid, pod in cache.pods.items()} == {"newer": "main", "changed": "y", "new": "main"}


def test_a_long_list_yields_and_drops_deleted_pods_last() -> None:
    cache = a_cache(a_pod("gone"))
    taking = PodSink(cache).replace([a_pod(f"p{number}") for number in range(1200)])
    known = [len(cache.pods) for _ in taking]
    assert known[:3] == [101, 201, 301]
    assert ("gone" in cache.pods, len(cache.pods)) == (False, 1200)


def test_the_order_of_lists_does_not_change_the_sums() -> None:
    pods = [a_pod(f"q{n}", a_shape(cpu=str(n + 1)), created=n) for n in range(6)]
    first = a_cache(*pods, a_foreign_pod(node="node-1"), nodes=[a_node("node-1"), a_node("node-2")])
    for admit in decided(first).admits:
        pod = first.pods[admit.uid]
        stamps = {"cluster_queue": admit.cluster_queue, "flavor": admit.flavor, "pinned": admit.node}
        first.put_pod(replace(pod, gates=(), resource_version="5", **stamps))  # type: ignore[arg-type]
        first.settle(pod.uid)
    shuffled = list(first.pods.values())
    random.shuffle(shuffled)
    second = a_cache(nodes=[a_node("node-2"), a_node("node-1")])
    for pod in shuffled:
        second.put_pod(pod)
    for name in ("by_queue", "by_flavor", "by_node", "counts", "local_counts"):
        assert getattr(second.usage, name) == getattr(first.usage, name)
    assert decide(second.snapshot(), limit=UNLIMITED).admits == ()


def test_an_edited_pod_changes_its_class() -> None:
    cache = a_cache(a_pod("a", a_shape(cpu="9")))
    decided(cache)
    (former,) = cache.backlog.runs
    assert cache.reasons.of(former).reason is Reason.NEVER_FITS
    cache.put_pod(a_pod("a", a_shape(cpu="1"), resource_version="2"))
    assert cache.reasons.of(former).reason is Reason.PENDING
    assert list(admitted(decided(cache))) == ["a"]


def test_foreign_gates_hold_a_pod_until_ours_is_the_only_one() -> None:
    ours = a_pod().gates
    cache = a_cache(a_pod("a", gates=("x.dev/b", *ours, "x.dev/c")))
    plan = decided(cache)
    text = "waits for the scheduling gates of others to be removed first: x.dev/b, x.dev/c"
    assert [(wait.reason, wait.text) for wait in plan.waits.values()] == [(Reason.FOREIGN_GATE, text)]
    cache.put_pod(a_pod("a", resource_version="2"))
    assert list(admitted(decided(cache))) == ["a"]


def test_a_new_or_larger_node_lets_a_blocked_class_in() -> None:
    cache = a_cache(a_pod("a", a_shape(cpu="4")), nodes=[])
    assert waiting(decided(cache)) == {"main/4000": "NoCapacity"}
    cache.put_node(a_node(cpu="2"))
    assert admitted(decided(cache)) == {}
    cache.put_node(a_node(cpu="4"))
    assert admitted(decided(cache)) == {"a": ("spot", "node-1")}


def test_freed_room_admits_in_a_later_decision() -> None:
    big, small = a_shape(cpu="4"), a_shape(cpu="1")
    taken = a_foreign_pod("taken", a_shape(cpu="4"), node="node-1")
    cache = a_cache(taken, a_pod("big", big, created=1), nodes=[a_node("node-1"), a_node("node-2", cpu="2")])
    assert waiting(decided(cache)) == {"main/4000": "NoCapacity"}
    cache.drop_pod("taken")
    cache.put_pod(a_pod("urgent", small, priority=1))
    assert admitted(decided(cache, limit=1)) == {"urgent": ("spot", "node-2")}
    assert admitted(decided(cache)) == {"big": ("spot", "node-1")}


def test_freed_room_in_the_second_flavor_admits() -> None:
    node = a_node(labels={"pool": "steady"})
    taken = a_foreign_pod("taken", a_shape(cpu="4"), node="node-1")
    running = a_released_pod("running", node="elsewhere")
    two = [a_flavor("spot"), a_flavor("steady")]
    queue = a_cluster_queue("team-a", a_quota("spot", cpu="1"), a_quota("steady"))
    cache = a_cache(taken, running, a_pod("a"), queues=[queue], flavors=two, nodes=[node])
    assert waiting(decided(cache)) == {"main/1000": "NoCapacity"}
    cache.drop_pod("taken")
    assert admitted(decided(cache)) == {"a": ("steady", "node-1")}


def test_freed_quota_admits_after_freed_room_did_not() -> None:
    cache = a_cache(
        a_pod("big", a_shape(cpu="3")),
        nodes=[a_node("node-1", cpu="1", pods=9), a_node("node-2", labels={"pool": "nobody's"}, cpu="9", pods=9)],
    )
    assert waiting(decided(cache)) == {"main/3000": "NeverFits"}
    cache.put_pod(a_released_pod("other", a_shape(cpu="6"), node="node-2"))
    cache.put_node(a_node("node-1", cpu="4", pods=9))
    assert waiting(decided(cache)) == {"main/3000": "QuotaExceeded"}
    cache.drop_pod("other")
    assert admitted(decided(cache)) == {"big": ("spot", "node-1")}


def test_a_freed_static_flavor_opens_every_queue_that_uses_it() -> None:
    queues = [a_cluster_queue(name, a_quota("licence")) for name in ("team-a", "team-b")]
    doors = [a_local_queue(), a_local_queue("other", "team-b")]
    taken = a_released_pod("t", flavor="licence")
    waits = a_pod("b", queue="other")
    cache = a_cache(taken, waits, queues=queues, locals_=doors, flavors=[a_static_flavor(cpu="1")], nodes=[])
    assert waiting(decided(cache)) == {"other/1000": "NoCapacity"}
    cache.drop_pod("t")
    assert admitted(decided(cache)) == {"b": ("licence", None)}


def test_local_queues_of_a_cluster_queue_follow_edits() -> None:
    cache = a_cache(locals_=[a_local_queue(), a_local_queue("side")])
    assert list(cache.queues_of("team-a")) == [MAIN, ("default", "side")]
    cache.set_local_queue(MAIN, a_local_queue("main", "team-b"))
    cache.set_local_queue(("default", "side"), None)
    assert [list(cache.queues_of(name)) for name in ("team-a", "team-b")] == [[], [MAIN]]


def test_only_what_may_open_something_wakes_the_decision() -> None:
    woken: list[int] = []
    cache = ClusterCache(lambda: woken.append(1))
    node, pod = a_node(), a_pod("a")
    cache.put_node(node)
    cache.set_namespace("default", {})
    cache.put_pod(pod)
    assert len(woken) == 3
    cache.put_node(node)
    cache.set_namespace("default", {})
    cache.put_pod(pod)
    cache.drop_pod("never-seen")
    cache.drop_node("never-seen")
    assert len(woken) == 3


def test_lists_of_nodes_and_namespaces_drop_what_is_not_in_them() -> None:
    cache = a_cache(nodes=[a_node("old"), a_node("kept")])
    list(NodeSink(cache).replace([a_node("kept"), a_node("new")]))
    assert set(cache.nodes) == set(cache.index.members("spot")) == {"kept", "new"}
    NodeSink(cache).remove(Owned(name="new"))
    assert set(cache.nodes) == {"kept"}
    sink = NamespaceSink(cache)
    list(sink.replace([Owned(name="a", labels={"x": "y"}), Owned(name="b")]))
    assert cache.namespaces == {"a": {"x": "y"}, "b": {}}
    sink.remove(Owned(name="a"))
    assert cache.namespaces == {"b": {}}


def test_after_a_rewind_older_versions_are_believed() -> None:
    cache = a_cache(a_pod("a", resource_version="900"), a_released_pod("b", resource_version="901"))
    plan = decide(cache.snapshot(), index=cache.feasibility, limit=1)
    cache.absorb(plan)
    list(forget_versions(cache))
    list_pods(cache, [a_pod("a", resource_version="5"), replace(a_released_pod("b"), is_finished=True)])
    assert cache.assumed("a") is not None
    assert cache.usage.charge_of("b") is None
