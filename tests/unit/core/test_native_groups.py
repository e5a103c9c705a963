"""What a PodGroup of Kubernetes says beside its size: kept to, or a reason to wait that names the field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from controller.cache.cluster import ClusterCache
from controller.core.keys import GANG as GANG_NOTE
from controller.core.keys import POD_GROUP
from controller.core.queueing.queues import SchedulerPreemption
from controller.core.workloads.groups import GroupFault, GroupKey, Membership, PodGroup, membership
from controller.core.workloads.topology import Topology
from controller.kube.decode_owners import decode_pod_group
from tests.support.builders import a_cache, a_cluster_queue, a_pod, a_quota

KEY = GroupKey("default", "train", is_native=True)
GANG = PodGroup("default", "train", 2)
BASIC = replace(GANG, min_count=0)
RACK = "example.com/rack"


def a_group_of_two(group: PodGroup, queue: Any = None, *, member: Membership | None = None, **pod: Any) -> ClusterCache:
    pods = [a_pod(name, group=member or Membership(KEY), **pod) for name in ("one", "two")]
    cache = a_cache(*pods, queues=[queue or a_cluster_queue("team-a", a_quota("spot", cpu=8))])
    cache.set_pod_group(KEY, group)
    return cache


def hold(cache: ClusterCache) -> str:
    cache.snapshot()
    (said,) = {"" if kind.hold is None else f"{kind.hold.reason}: {kind.hold.text}" for kind in cache.backlog.runs}
    return said


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"schedulingConstraints": {"topology": [{"key": RACK}]}}, {"topology": (RACK,)}),
        ({"disruptionMode": {"all": {}}}, {"is_disrupted_together": True}),
        ({"disruptionMode": {"single": {}}}, {}),
        ({"disruptionMode": "PodGroup"}, {"is_disrupted_together": True}),
        ({"disruptionMode": "Pod"}, {}),
        (
            {"priority": 7, "priorityClassName": "urgent", "preemptionPolicy": "Never"},
            {"priority": 7, "priority_class": "urgent", "preemption_policy": "Never"},
        ),
        ({"parentCompositePodGroupName": "job"}, {"parent": "job"}),
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}, {"has_claims": True}),
        ({"resourceClaims": [], "schedulingConstraints": {}}, {}),
    ],
)
def test_every_field_of_a_pod_group_is_read(spec: dict[str, Any], wanted: dict[str, Any]) -> None:
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    raw = orjson.dumps({"metadata": {"name": "train", "namespace": "default"}, "spec": {**policy, **spec}})
    assert decode_pod_group(raw) == replace(GANG, **wanted)


@pytest.mark.parametrize(
    ("group", "text"),
    [
        (
            replace(GANG, parent="job"),
            "GangInvalid: spec.parentCompositePodGroupName of PodGroup train is job: groups",
        ),
        (
            replace(GANG, has_claims=True),
            "UnsupportedResourceClaims: spec.resourceClaims of PodGroup train: devices of claims cannot be charged",
        ),
        (
            replace(GANG, topology=(RACK, "zone")),
            "GangInvalid: spec.schedulingConstraints.topology of PodGroup train has several keys (example.com/rack, ",
        ),
        (
            replace(BASIC, topology=(RACK,)),
            "GangInvalid: spec.schedulingConstraints.topology of PodGroup train: with the policy basic each pod is",
        ),
        (
            replace(BASIC, is_disrupted_together=True),
            "GangInvalid: spec.disruptionMode.all of PodGroup train: with the policy basic each pod is admitted and",
        ),
        (
            replace(GANG, priority=0),
            "GangInvalid: spec.priority of PodGroup train is 0, and of pod one 5: kube-scheduler runs no group whose",
        ),
    ],
)
def test_what_cannot_be_kept_to_names_the_field(group: PodGroup, text: str) -> None:
    assert hold(a_group_of_two(group, priority=5)).startswith(text)


@pytest.mark.parametrize(
    "group",
    [GANG, BASIC, replace(GANG, is_disrupted_together=True), replace(GANG, priority=5, priority_class="urgent")],
)
def test_what_can_be_kept_to_holds_nobody(group: PodGroup) -> None:
    assert hold(a_group_of_two(group, priority=5)) == ""


@pytest.mark.parametrize(("group", "is_held"), [(GANG, False), (BASIC, True)])
def test_a_gang_by_annotation_needs_a_pod_group_that_is_one(group: PodGroup, is_held: bool) -> None:
    said = hold(a_group_of_two(group, member=Membership(KEY, wants_gang=True)))
    assert said.startswith("GangInvalid: spec.schedulingPolicy of PodGroup train is basic, and the") == is_held


def test_what_a_pod_names_in_scheduling_group_comes_first() -> None:
    found = membership("default", {}, {GANG_NOTE: "true"}, None, "train")
    assert found == Membership(KEY, wants_gang=True)
    with pytest.raises(
        GroupFault, match=r"pod-group is ours, and spec.schedulingGroup names PodGroup train; remove the"
    ):
        membership("default", {POD_GROUP: "ours"}, {}, None, "train")


def test_the_topology_of_a_pod_group_is_required() -> None:
    cache = a_group_of_two(replace(GANG, topology=(RACK,)))
    cache.snapshot()
    (kind,) = cache.backlog.runs
    assert kind.topology == Topology(RACK, is_required=True)


@pytest.mark.parametrize(("key", "is_held"), [(RACK, False), ("example.com/zone", True)])
def test_pods_may_not_name_another_domain_than_their_pod_group(key: str, is_held: bool) -> None:
    member = Membership(KEY, topology=Topology(key, is_required=False))
    said = hold(a_group_of_two(replace(GANG, topology=(RACK,)), member=member))
    assert said.endswith("preferred-topology of its pods is example.com/zone; remove the annotation") == is_held


FORBIDS = a_cluster_queue("team-a", a_quota("spot", cpu=8), scheduler_preemption=SchedulerPreemption.FORBID)
URGENT = replace(GANG, priority=5, priority_class="urgent")


@pytest.mark.parametrize(
    ("group", "never_preempts", "is_held"),
    [
        (URGENT, False, True),
        (URGENT, True, False),
        (replace(URGENT, preemption_policy="PreemptLowerPriority"), True, True),
        (replace(URGENT, preemption_policy="Never"), False, False),
        (replace(URGENT, priority_class=""), False, False),
        (replace(URGENT, min_count=0), False, True),
    ],
)
def test_a_queue_may_forbid_preemption_for_a_group(group: PodGroup, never_preempts: bool, is_held: bool) -> None:
    member = Membership(KEY, never_preempts=never_preempts)
    said = hold(a_group_of_two(group, FORBIDS, member=member, priority=5))
    assert (
        "kube-scheduler may preempt for PriorityClass urgent, which ClusterQueue team-a forbids: create the PodGroup "
        "again with a class of preemptionPolicy Never" in said
    ) == is_held
