"""To which pod group a pod belongs, as it says itself.

By Kubernetes' own `spec.schedulingGroup` (KEP-4671), by a label with the size in an annotation, or as its Job's. The
first comes first: kube-scheduler runs the pods of a PodGroup only as that says, whatever is released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.core.keys import GANG, POD_GROUP, POD_GROUP_MIN, POD_GROUP_SIZE, SLICE_SIZE
from controller.core.kubernetes.owners import Owner
from controller.core.workloads.topology import Slices, Topology, TopologyFault, read_slices, read_topology

_MOST_DIGITS = 5
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class GroupKey:
    """One group: its name in the namespace, or the uid of the Job whose pods it is. Native: the name of a PodGroup.

    `is_object`: the uid of an object of a WorkloadKind, whose pod sets, and their pods, are one group.
    """

    namespace: str
    name: str
    is_job: bool = False
    is_native: bool = False
    is_object: bool = False


@dataclass(frozen=True, slots=True)
class PodGroup:
    """A PodGroup of scheduling.k8s.io. `min_count`: how many pods are admitted together; 0: each stands alone.

    `topology`: keys of labels of nodes, of which its pods share the value; `priority` is None where the apiserver gave
    it none; `parent`: the CompositePodGroup to which it belongs. The rest: as its fields of these names.
    """

    namespace: str
    name: str
    min_count: int
    topology: tuple[str, ...] = ()
    is_disrupted_together: bool = False
    priority: int | None = None
    priority_class: str = ""
    preemption_policy: str = ""
    parent: str = ""
    has_claims: bool = False


@dataclass(frozen=True, slots=True)
class Membership:
    """A pod's group, how many pods it has as this pod states it (0: as its Job or PodGroup says), their domain.

    `minimum`: how many of them are admitted together, the others by themselves; 0: all, or as its PodGroup says.
    `slices`: each so many of them share a domain. `never_preempts`: of a PodGroup's pod, whether kube-scheduler
    preempts none for it; `wants_gang`: of such a pod, whether an annotation of ours says that it is one of a gang.
    """

    key: GroupKey
    size: int = 0
    topology: Topology | None = None
    minimum: int = 0
    slices: Slices | None = None
    never_preempts: bool = False
    wants_gang: bool = False


class GroupFault(ValueError):
    """A pod that belongs to a group does not say how; the text says which annotation, and what to write."""


def membership(
    namespace: str,
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None,
    owner: Owner | None,
    pod_group: str | None = None,
    *,
    never_preempts: bool = False,
) -> Membership | None:
    """Return the group of a pod, None where it stands alone; raise GroupFault where what it says cannot be used.

    `pod_group`: what its `spec.schedulingGroup` names; `never_preempts`: its `spec.preemptionPolicy` is Never.
    """
    name, notes = labels.get(POD_GROUP), annotations or _NONE
    if pod_group:
        return _native(GroupKey(namespace, pod_group, is_native=True), name, notes, never_preempts=never_preempts)
    if name is not None:
        size = _size(notes.get(POD_GROUP_SIZE))
        minimum, slices = _minimum(notes, size), _slices(notes)
        for key, count in ((POD_GROUP_SIZE, size), (POD_GROUP_MIN, minimum)):
            _check_slices(slices, key, count)
        return Membership(GroupKey(namespace, name), size, _topology(notes), minimum, slices)
    if not _says_gang(notes):
        return None
    if owner is None or owner.kind != "Job" or not owner.api_version.startswith("batch/"):
        raise GroupFault(
            f"the annotation {GANG} is for the pods of a Job, and this pod has none; elsewhere a gang is made with the "
            f"label {POD_GROUP} and the annotation {POD_GROUP_SIZE}"
        )
    minimum, slices = _minimum(notes), _slices(notes)
    _check_slices(slices, POD_GROUP_MIN, minimum)
    return Membership(GroupKey(namespace, owner.uid, is_job=True), 0, _topology(notes), minimum, slices)


def _native(key: GroupKey, label: str | None, notes: Mapping[str, str], *, never_preempts: bool) -> Membership:
    """A pod of a PodGroup, whose size and minimum are said there and nowhere else."""
    if label is not None:
        text = f"the label {POD_GROUP} is {label}, and spec.schedulingGroup names PodGroup {key.name}"
        raise GroupFault(f"{text}; remove the label")
    if POD_GROUP_MIN in notes:
        raise GroupFault(f"the annotation {POD_GROUP_MIN} is not for PodGroup {key.name}: its minCount says that")
    wants_gang = _says_gang(notes)
    return Membership(key, 0, _topology(notes), 0, _slices(notes), never_preempts, wants_gang)


def _says_gang(notes: Mapping[str, str]) -> bool:
    said = notes.get(GANG, "false")
    if said not in ("true", "false"):
        raise GroupFault(f"the annotation {GANG} is {said[:40]!r}; write true or false")
    return said == "true"


def _topology(notes: Mapping[str, str]) -> Topology | None:
    try:
        return read_topology(notes)
    except TopologyFault as fault:
        raise GroupFault(str(fault)) from fault


def _slices(notes: Mapping[str, str]) -> Slices | None:
    try:
        return read_slices(notes)
    except TopologyFault as fault:
        raise GroupFault(str(fault)) from fault


def _check_slices(slices: Slices | None, key: str, count: int) -> None:
    """Of a Job or PodGroup it is not known here how many pods there are (`workloads.gangs`)."""
    if slices is not None and count % slices.size:
        what = f"the annotation {key} is {count}, no multiple of the {slices.size} of {SLICE_SIZE}"
        raise GroupFault(f"{what}; write a multiple of it")


def _size(text: str | None) -> int:
    if text is None:
        raise GroupFault(f"the label {POD_GROUP} needs the annotation {POD_GROUP_SIZE}: how many pods the group has")
    return _number(POD_GROUP_SIZE, text, "how many pods the group has, 1 to 99999")


def _minimum(notes: Mapping[str, str], size: int | None = None) -> int:
    """Of a Job's pods the Job says how many there are, which is looked at where it is known (`workloads.gangs`)."""
    text = notes.get(POD_GROUP_MIN)
    if text is None:
        return 0
    minimum = _number(POD_GROUP_MIN, text, f"how many pods are admitted together, 1 to {size or 99999}")
    if size is not None and minimum > size:
        raise GroupFault(
            f"the annotation {POD_GROUP_MIN} is {minimum}, more than the {size} of {POD_GROUP_SIZE}; write at most that"
        )
    return minimum


def _number(key: str, text: str, wanted: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) > 0:
        return int(text)
    raise GroupFault(f"the annotation {key} is {text[:40]!r}; write {wanted}")
