"""Pods that Kueue let run: whose they are, and which queue and flavor here they are charged to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.gate.adoption import (
    KUEUE_ADMITTED_TO,
    Adoption,
    Households,
    KueuePod,
    Orphan,
    adopt,
    queue_in_kueue,
)
from controller.core.keys import KUEUE_QUEUE, QUEUE_NAME
from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota
from controller.core.workloads.shapes import Constraints

SPOT, DEAR = (("pool", "spot"),), (("pool", "dear"),)
FLAVORS = [
    Flavor(name="any"),
    Flavor(name="spot", node_labels=SPOT),
    Flavor(name="spot-a", node_labels=(*SPOT, ("zone", "a"))),
    Flavor(name="dear", node_labels=DEAR),
]
QUEUE = ClusterQueue(name="team", flavors=tuple(FlavorQuota(one.name, {}) for one in FLAVORS))
VAGUE = ClusterQueue(name="vague", flavors=(FlavorQuota("nothing", {}),))
WORLD = Households(
    doors={("ns", "main"): "team", ("ns", "broken"): "gone", ("ns", "empty"): "parent", ("ns", "vague"): "vague"},
    queues={"team": QUEUE, "parent": ClusterQueue(name="parent"), "vague": VAGUE},
    flavors={one.name: one for one in FLAVORS},
    flavor_of={"n-dear": "dear", "n-other": "other"},
    jobs={"job-1": "main"},
)
POD = KueuePod(namespace="ns", name="p", uid="1", labels={KUEUE_QUEUE: "main"}, admitted_at="2026-03-01T08:00:00Z")


def held(selector: dict[str, str], node: str = "", zones: tuple[str, ...] = ()) -> KueuePod:
    """A pod with this node selector; `zones`: it requires one of them."""
    terms = (Term((Requirement("zone", Operator.IN, zones),)),) if zones else None
    return replace(POD, node=node, held_to=Constraints(tuple(sorted(selector.items())), terms))


def adopted(pod: KueuePod, world: Households = WORLD) -> Adoption:
    (one,) = adopt([pod], world)
    assert isinstance(one, Adoption)
    return one


@pytest.mark.parametrize(
    ("selector", "node", "flavor"),
    [
        ({"pool": "dear"}, "", "dear"),
        ({"pool": "spot", "disk": "ssd"}, "n-dear", "spot"),
        ({"pool": "spot", "zone": "a"}, "", "spot-a"),
        ({}, "n-dear", "dear"),
        ({}, "n-other", "any"),
        ({}, "", "any"),
    ],
)
def test_the_selector_tells_the_flavor_then_node_then_order(selector: dict[str, str], node: str, flavor: str) -> None:
    assert adopted(held(selector, node)).flavor == flavor


@pytest.mark.parametrize(
    ("order", "node", "flavor"),
    [
        (("spot", "any", "dear"), "n-other", "any"),
        (("spot", "any", "dear"), "", "any"),
        (("spot", "any", "dear"), "n-dear", "dear"),
        (("spot", "dear"), "n-other", "spot"),
    ],
)
def test_a_flavor_not_in_the_selector_is_taken_when_alone(order: tuple[str, ...], node: str, flavor: str) -> None:
    queue = ClusterQueue(name="team", flavors=tuple(FlavorQuota(name, {}) for name in order))
    assert adopted(replace(POD, node=node), replace(WORLD, queues={"team": queue})).flavor == flavor


def test_no_pod_is_charged_to_a_flavor_that_it_contradicts() -> None:
    queue = ClusterQueue(name="team", flavors=tuple(FlavorQuota(name, {}) for name in ("spot", "dear")))
    world = replace(WORLD, queues={"team": queue})
    assert adopted(held({}), world).flavor == "spot"
    # on a node of no flavor, and of a flavor whose labels were changed since
    assert adopted(held({"pool": "dear", "disk": "ssd"}, "n-other"), world).flavor == "dear"
    assert adopted(held({"pool": "spot"}, "n-dear"), world).flavor == "spot"
    zoned_first = replace(queue, flavors=(FlavorQuota("spot-a", {}), FlavorQuota("dear", {})))
    zoned = replace(world, queues={"team": zoned_first})
    assert adopted(held({}), zoned).flavor == "spot-a"
    assert adopted(held({}, zones=("b",)), zoned).flavor == "dear"


def test_a_pod_fit_for_no_flavor_is_told_and_left() -> None:
    queue = ClusterQueue(name="team", flavors=tuple(FlavorQuota(name, {}) for name in ("spot", "dear")))
    (one,) = adopt([held({"pool": "old"}, "n-dear")], replace(WORLD, queues={"team": queue}))
    assert isinstance(one, Orphan)
    assert one.why == (
        "no flavor of ClusterQueue team is where it may run (spot: the pod's own node selector or affinity contradicts "
        "it on pool (the pod: pool=old; the flavor: pool=spot); dear: the pod's own node selector or affinity "
        "contradicts it on pool (the pod: pool=old; the flavor: pool=dear)): add the flavor that it uses to the queue, "
        "or let it end: until then no quota counts it"
    )


@pytest.mark.parametrize(
    ("labels", "job", "queue"),
    [
        ({KUEUE_QUEUE: ""}, "", None),
        ({KUEUE_QUEUE: ""}, "job-1", "main"),
        ({KUEUE_ADMITTED_TO: "", KUEUE_QUEUE: "main"}, "", "main"),
        ({}, "job-empty", None),
    ],
)
def test_a_label_without_a_value_names_no_queue(labels: dict[str, str], job: str, queue: str | None) -> None:
    assert queue_in_kueue(replace(POD, labels=labels, job=job), {**WORLD.jobs, "job-empty": ""}) == queue


def test_a_pod_is_kueues_by_its_own_label_or_its_jobs() -> None:
    assert adopted(replace(POD, labels={}, job="job-1")).queue == "main"
    assert adopted(replace(POD, labels={KUEUE_QUEUE: "other", KUEUE_ADMITTED_TO: "main"})).queue == "main"


def test_pods_not_kueues_or_over_or_ours_are_passed_by() -> None:
    ours = {KUEUE_QUEUE: "main", QUEUE_NAME: "main"}
    passed = [replace(POD, labels={}), replace(POD, is_finished=True), replace(POD, labels=ours)]
    assert adopt([*passed, replace(POD, labels={}, job="job-2")], WORLD) == []


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (replace(POD, gates=("kueue.x-k8s.io/admission",)), "waits at kueue.x-k8s.io/admission: delete it"),
        (replace(POD, labels={KUEUE_QUEUE: "none"}), "LocalQueue none does not exist in ns here"),
        (replace(POD, labels={KUEUE_QUEUE: "broken"}), "ClusterQueue gone of LocalQueue broken does not exist"),
        (replace(POD, labels={KUEUE_QUEUE: "vague"}), "no flavor of ClusterQueue vague exists (nothing): apply"),
        (replace(POD, labels={KUEUE_QUEUE: "empty"}), "ClusterQueue parent of LocalQueue empty has no flavors"),
    ],
)
def test_who_cannot_be_adopted_is_told_with_what_to_do(pod: KueuePod, why: str) -> None:
    (one,) = adopt([pod], WORLD)
    assert isinstance(one, Orphan)
    assert one.why.startswith(why)


def test_the_patch_is_for_this_pod_and_stamps_it() -> None:
    metadata = adopted(replace(POD, node="n-dear")).patch()["metadata"]
    assert metadata == {
        "uid": "1",
        "labels": {QUEUE_NAME: "main", "penstock.dev/cluster-queue": "team", "penstock.dev/flavor": "dear"},
        # what its owner wrote there before Penstock came is nobody's stamp
        "annotations": {"penstock.dev/admitted-at": "2026-03-01T08:00:00Z", "penstock.dev/preemptions": None},
    }
