from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller.core.decision.decide import decide
from controller.core.explaining.wording import describe
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker, Wait
from tests.support.builders import (
    GPU,
    UNLIMITED,
    a_cluster_queue,
    a_flavor,
    a_node,
    a_pod,
    a_quota,
    a_shape,
    a_snapshot,
    a_static_flavor,
    a_taint,
    a_term,
    admitted,
    constraints,
)

TWO = a_cluster_queue("team-a", a_quota("spot", cpu="2"), a_quota("steady", cpu="8"))
TWO_FLAVORS = [a_flavor("spot"), a_flavor("steady")]
STEADY_NODE = a_node("node-2", labels={"pool": "steady"})
CHANGING = a_cluster_queue("team-a", replace(a_quota("spot", cpu="8"), changing=frozenset({"cpu"})))
LICENCE = a_cluster_queue("team-a", a_quota("licence", cpu="8"))


def the_wait(**world: Any) -> Wait:
    """The wait of the one pod that a world without room has."""
    shape = world.pop("shape", a_shape())
    plan = decide(a_snapshot(a_pod("a", shape), **world), limit=UNLIMITED)
    assert admitted(plan) == {}
    (wait,) = plan.waits.values()
    return wait


def test_flavors_are_tried_in_the_queues_order_not_by_name() -> None:
    queue = a_cluster_queue("team-a", a_quota("steady"), a_quota("spot"))
    world = a_snapshot(a_pod("a"), queues=[queue], flavors=TWO_FLAVORS, nodes=[a_node(), STEADY_NODE])
    assert admitted(decide(world, limit=UNLIMITED)) == {"a": ("steady", "node-2")}


def test_the_second_flavor_is_taken_for_want_of_quota() -> None:
    pods = [a_pod(uid, created=n) for n, uid in enumerate("abc")]
    world = a_snapshot(*pods, queues=[TWO], flavors=TWO_FLAVORS, nodes=[a_node(), STEADY_NODE])
    expected = {"a": ("spot", "node-1"), "b": ("spot", "node-1"), "c": ("steady", "node-2")}
    assert admitted(decide(world, limit=UNLIMITED)) == expected


def test_the_second_flavor_is_taken_when_the_first_has_no_room() -> None:
    world = a_snapshot(a_pod("a"), queues=[TWO], flavors=TWO_FLAVORS, nodes=[STEADY_NODE])
    assert admitted(decide(world, limit=UNLIMITED)) == {"a": ("steady", "node-2")}


def test_the_second_flavor_is_taken_for_a_pod_unfit_for_one() -> None:
    shape = a_shape(constraints(selector={"pool": "steady"}))
    world = a_snapshot(a_pod("a", shape), queues=[TWO], flavors=TWO_FLAVORS, nodes=[a_node(), STEADY_NODE])
    assert admitted(decide(world, limit=UNLIMITED)) == {"a": ("steady", "node-2")}


def test_the_fullest_node_with_room_is_taken_first() -> None:
    nodes = [a_node("large", cpu="8"), a_node("small", cpu="2"), a_node("tiny", cpu="500m")]
    pods = [a_pod(uid, created=n) for n, uid in enumerate("abc")]
    plan = decide(a_snapshot(*pods, nodes=nodes), limit=UNLIMITED)
    assert [node for _, node in admitted(plan).values()] == ["small", "small", "large"]


@pytest.mark.parametrize(
    ("used", "node"), [({}, "a"), ({"a": {"cpu": 3500}}, "b"), ({"a": {"pods": 110}, "b": {"cpu": 3000}}, "b")]
)
def test_a_node_counts_with_what_every_pod_on_it_takes(used: Mapping[str, Mapping[str, int]], node: str) -> None:
    world = a_snapshot(a_pod("x"), nodes=[a_node("a"), a_node("b")], used=used)
    assert admitted(decide(world, limit=UNLIMITED)) == {"x": ("spot", node)}


def test_pods_are_counted_only_where_a_quota_names_them() -> None:
    queue = a_cluster_queue("team-a", a_quota(cpu="8", pods=1))
    plan = decide(a_snapshot(a_pod("a"), a_pod("b"), queues=[queue]), limit=UNLIMITED)
    assert list(admitted(plan)) == ["a"]
    assert [describe(wait, 0) for wait in plan.waits.values()] == ["flavor spot: needs 1 pods, 0 of its quota is free"]


@pytest.mark.parametrize(
    ("world", "reason", "sentence"),
    [
        (
            {"shape": a_shape(cpu="1", **{GPU: 1})},
            Reason.NEVER_FITS,
            "flavor spot: needs 1 nvidia.com/gpu, the queue has no quota for it (0)",
        ),
        (
            {"shape": a_shape(cpu="9")},
            Reason.NEVER_FITS,
            "flavor spot: needs 9 cpu, more than the whole quota (8)",
        ),
        (
            {"shape": a_shape(cpu="9"), "queues": [CHANGING], "nodes": [a_node(cpu="16")]},
            Reason.QUOTA_EXCEEDED,
            "flavor spot: needs 9 cpu, 8 of its quota is free",
        ),
        (
            {"shape": a_shape(cpu="5"), "usage": {("team-a", "spot", "cpu"): 8000}},
            Reason.NEVER_FITS,
            "flavor spot: needs 5 cpu, more than its largest node has (4)",
        ),
        (
            {"usage": {("team-a", "spot", "cpu"): 7500}},
            Reason.QUOTA_EXCEEDED,
            "flavor spot: needs 1 cpu, 500m of its quota is free",
        ),
        (
            {"usage": {("team-a", "spot", "cpu"): 9500}},
            Reason.QUOTA_EXCEEDED,
            "flavor spot: needs 1 cpu, 0 of its quota is free",
        ),
        (
            {"shape": a_shape(cpu="5")},
            Reason.NEVER_FITS,
            "flavor spot: needs 5 cpu, more than its largest node has (4)",
        ),
        (
            {"used": {"node-1": {"cpu": 3500}}},
            Reason.NO_CAPACITY,
            "flavor spot: needs 1 cpu, 500m free on its emptiest node",
        ),
        (
            {"used": {"node-1": {"cpu": 9999}}},
            Reason.NO_CAPACITY,
            "flavor spot: needs 1 cpu, 0 free on its emptiest node",
        ),
        (
            {"used": {"node-1": {"pods": 110}}},
            Reason.NO_CAPACITY,
            "flavor spot: needs 1 pods, 0 free on its emptiest node",
        ),
        (
            {
                "shape": a_shape(cpu="2", memory="2Gi"),
                "nodes": [a_node("a", cpu="8", memory="1Gi"), a_node("b", cpu="1", memory="4Gi")],
                "queues": [a_cluster_queue("team-a", a_quota(cpu="8", memory="8Gi"))],
            },
            Reason.NO_CAPACITY,
            "flavor spot: no single node has all that the pod asks for",
        ),
        (
            {"nodes": []},
            Reason.NO_CAPACITY,
            "flavor spot: no node is of this flavor",
        ),
        (
            {"nodes": [a_node(is_usable=False)]},
            Reason.NO_CAPACITY,
            "flavor spot: none of its 1 nodes is ready and takes pods",
        ),
        (
            {"nodes": [a_node(taints=[a_taint()])]},
            Reason.NEVER_FITS,
            "flavor spot: none of its 1 ready nodes matches the pod's node selector, affinity and tolerations",
        ),
        (
            # before quota and nodes: neither could ever help
            {
                "shape": a_shape(constraints(selector={"pool": "steady"})),
                "usage": {("team-a", "spot", "cpu"): 9500},
                "nodes": [],
            },
            Reason.NEVER_FITS,
            "flavor spot: the pod's own node selector or affinity contradicts it on pool "
            "(the pod: pool=steady; the flavor: pool=spot)",
        ),
        (
            {"flavors": TWO_FLAVORS, "queues": [TWO], "shape": a_shape(cpu="9"), "nodes": [STEADY_NODE]},
            Reason.NEVER_FITS,
            "flavor spot: needs 9 cpu, more than the whole quota (2); "
            "flavor steady: needs 9 cpu, more than the whole quota (8)",
        ),
        (
            {
                "flavors": TWO_FLAVORS,
                "queues": [TWO],
                "usage": {("team-a", "spot", "cpu"): 2000},
                "nodes": [STEADY_NODE],
                "used": {"node-2": {"cpu": 4000}},
            },
            Reason.NO_CAPACITY,
            "flavor spot: needs 1 cpu, 0 of its quota is free; flavor steady: needs 1 cpu, 0 free on its emptiest node",
        ),
    ],
)
def test_each_wait_names_its_reason_and_its_arithmetic(world: dict[str, Any], reason: Reason, sentence: str) -> None:
    wait = the_wait(**world)
    assert (wait.reason, describe(wait, 0)) == (reason, sentence)


def test_memory_is_told_in_binary_units() -> None:
    queue = a_cluster_queue("team-a", a_quota(memory="1Gi"))
    used = {("team-a", "spot", "memory"): 3 * 2**28}
    wait = the_wait(shape=a_shape(memory="512Mi"), queues=[queue], usage=used, nodes=[a_node(memory="8Gi")])
    assert describe(wait, 0) == "flavor spot: needs 512Mi memory, 256Mi of its quota is free"


def test_a_wait_without_arithmetic_is_told_as_it_is() -> None:
    assert describe(Wait(Reason.QUEUE_STOPPED, "held"), 0) == "held"
    blocker = Blocker("spot", Reason.NO_CAPACITY, "cpu", 1000, 0)
    assert (
        describe(Wait(Reason.NO_CAPACITY, "", (blocker,)), 0) == "flavor spot: needs 1 cpu, 0 of its capacity is free"
    )


def test_a_static_flavor_gives_from_its_sum_and_plans_no_node() -> None:
    pods = [a_pod(uid) for uid in "abc"]
    flavors = [a_static_flavor(cpu="2")]
    plan = decide(a_snapshot(*pods, queues=[LICENCE], flavors=flavors, nodes=[]), limit=UNLIMITED)
    assert admitted(plan) == {"a": ("licence", None), "b": ("licence", None)}
    assert [describe(wait, 0) for wait in plan.waits.values()] == [
        "flavor licence: needs 1 cpu, 0 of its capacity is free"
    ]


def test_a_static_sum_is_shared_by_all_queues() -> None:
    wait = the_wait(
        queues=[LICENCE],
        flavors=[a_static_flavor(cpu="2")],
        by_flavor={("licence", "cpu"): 1500},
        usage={("team-b", "licence", "cpu"): 1500},
    )
    assert wait.blockers == (Blocker("licence", Reason.NO_CAPACITY, "cpu", 1000, 500),)


@pytest.mark.parametrize(
    ("shape", "capacity", "sentence"),
    [
        (a_shape(cpu="3"), {"cpu": "2"}, "flavor licence: needs 3 cpu, more than the flavor's capacity (2)"),
        (a_shape(), {"memory": "1"}, "flavor licence: needs 1 cpu, more than the flavor's capacity (0)"),
        (
            a_shape(constraints(selector={"pool": "spot"})),
            {"cpu": "9"},
            "flavor licence: the pod's own node selector or affinity contradicts it on pool "
            "(the pod: pool=spot; the flavor: pool=steady)",
        ),
        (
            a_shape(constraints(terms=[a_term("pool In spot"), a_term("pool NotIn steady")])),
            {"cpu": "9"},
            "flavor licence: the pod's own node selector or affinity contradicts it on pool "
            "(the pod: pool=spot; the flavor: pool=steady), in the first of its 2 terms",
        ),
        (
            a_shape(constraints(terms=[a_term()])),
            {"cpu": "9"},
            "flavor licence: the pod's own node selector or affinity has only empty terms, which match no node",
        ),
    ],
)
def test_a_static_flavor_says_what_can_never_fit(shape: Any, capacity: dict[str, str], sentence: str) -> None:
    flavor = a_static_flavor(labels={"pool": "steady"}, **capacity)
    wait = the_wait(shape=shape, queues=[LICENCE], flavors=[flavor])
    assert (wait.reason, describe(wait, 0)) == (Reason.NEVER_FITS, sentence)


def test_one_term_that_can_hold_is_enough_for_a_static_flavor() -> None:
    shape = a_shape(constraints(terms=[a_term("pool In spot"), a_term("pool In steady")]))
    flavor = a_static_flavor(labels={"pool": "steady"}, cpu="1")
    world = a_snapshot(a_pod("a", shape), queues=[LICENCE], flavors=[flavor])
    assert admitted(decide(world, limit=UNLIMITED)) == {"a": ("licence", None)}
