"""What a PodGroup of Kubernetes says beside the size of its gang (KEP-4671, 5710, 5732), and what cannot be kept to.

The names of fields are those of scheduling.k8s.io v1beta1. A group that cannot be admitted as it says waits, and its
reason names the field: released all the same, its pods would hold quota while kube-scheduler leaves them alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from controller.core.keys import GANG, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from controller.core.reasons import Reason, first_few
from controller.core.workloads.groups import PodGroup
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Topology
from controller.core.workloads.workload import Hold

_NEVER: Final = "Never"


def unkept(group: PodGroup, members: Sequence[Pod]) -> Hold | None:
    """Say what of a PodGroup cannot be kept to, given its pods that live; None: nothing."""
    if group.has_claims:
        what = f"spec.resourceClaims of PodGroup {group.name}: devices of claims cannot be charged to a quota yet"
        return Hold(Reason.UNSUPPORTED_RESOURCE_CLAIMS, f"{what}; create it without them")
    text = _fault(group) or _contradiction(group, members)
    return None if text is None else Hold(Reason.GANG_INVALID, text)


def _fault(group: PodGroup) -> str | None:
    at = f"of PodGroup {group.name}"
    if group.parent:
        own = f"spec.parentCompositePodGroupName {at} is {group.parent}"
        return f"{own}: groups of groups cannot be admitted together yet; create the PodGroup without it"
    if len(group.topology) > 1:
        written = first_few(group.topology)
        return f"spec.schedulingConstraints.topology {at} has several keys ({written}); write one"
    if group.min_count:
        return None
    for field, is_set in (
        ("spec.schedulingConstraints.topology", bool(group.topology)),
        ("spec.disruptionMode.all", group.is_disrupted_together),
    ):
        if is_set:
            policy = "with the policy basic each pod is admitted and evicted by itself"
            return f"{field} {at}: {policy}; create the PodGroup with the policy gang, or without that field"
    return None


def _contradiction(group: PodGroup, members: Sequence[Pod]) -> str | None:
    """Say what pods say otherwise. Of priorities kube-scheduler demands the same (`validatePodGroup`)."""
    other = next((pod for pod in members if group.priority is not None and pod.priority != group.priority), None)
    if other is not None:
        own = f"spec.priority of PodGroup {group.name} is {group.priority}, and of pod {other.name} {other.priority}"
        why = "kube-scheduler runs no group whose pods have another priority"
        return f"{own}: {why}; name the same priorityClassName in both"
    if not group.min_count and any(pod.group is not None and pod.group.wants_gang for pod in members):
        own = f"spec.schedulingPolicy of PodGroup {group.name} is basic, and the annotation {GANG} of its pods is true"
        return f"{own}; remove the annotation, or create the PodGroup with the policy gang"
    for said in {pod.group.topology for pod in members if pod.group is not None and pod.group.topology is not None}:
        if group.topology and said.key != group.topology[0]:
            name = REQUIRED_TOPOLOGY if said.is_required else PREFERRED_TOPOLOGY
            own = f"spec.schedulingConstraints.topology of PodGroup {group.name} is {group.topology[0]}"
            return f"{own}, and the annotation {name} of its pods is {said.key}; remove the annotation"
    return None


def domain_of(group: PodGroup | None, said: Topology | None) -> Topology | None:
    """Return the domain of a gang: what its PodGroup requires, else what its pods say."""
    return Topology(group.topology[0], is_required=True) if group is not None and group.topology else said


def preempting_class_of(group: PodGroup, members: Iterable[Pod]) -> str:
    """Name the PriorityClass by which kube-scheduler may preempt others for the whole group; empty: by none.

    As `resolvePreemptionPolicy` (k8s.io/kubernetes/pkg/scheduler/framework/preemption): the PodGroup has a policy where
    the feature PodGroupPreemptionPolicy is on; elsewhere one pod with the policy Never is enough for none.
    """
    if group.preemption_policy:
        never = group.preemption_policy == _NEVER
    else:
        never = any(pod.group is not None and pod.group.never_preempts for pod in members)
    return "" if never else group.priority_class
