"""To which pod group a pod belongs, as it says itself: by a label with the size in an annotation, or as its Job's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.core.keys import GANG, POD_GROUP, POD_GROUP_SIZE
from controller.core.owners import Owner
from controller.core.topology import Topology, TopologyFault, read_topology

_MOST_DIGITS = 5
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class GroupKey:
    """One group: its name in the namespace, or the uid of the Job whose pods it is."""

    namespace: str
    name: str
    is_job: bool = False


@dataclass(frozen=True, slots=True)
class Membership:
    """A pod's group, how many pods it has as this pod states it (0: as many as its Job keeps alive), their domain."""

    key: GroupKey
    size: int = 0
    topology: Topology | None = None


class GroupFault(ValueError):
    """A pod that belongs to a group does not say how; the text says which annotation, and what to write."""


def membership(
    namespace: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None, owner: Owner | None
) -> Membership | None:
    """Return the group of a pod, None where it stands alone; raise GroupFault where what it says cannot be used."""
    name, notes = labels.get(POD_GROUP), annotations or _NONE
    if name is not None:
        return Membership(GroupKey(namespace, name), _size(notes.get(POD_GROUP_SIZE)), _topology(notes))
    said = notes.get(GANG)
    if said is None or said == "false":
        return None
    if said != "true":
        raise GroupFault(f"the annotation {GANG} is {said[:40]!r}; write true or false")
    if owner is None or owner.kind != "Job" or not owner.api_version.startswith("batch/"):
        raise GroupFault(
            f"the annotation {GANG} is for the pods of a Job, and this pod has none; elsewhere a gang is made with the "
            f"label {POD_GROUP} and the annotation {POD_GROUP_SIZE}"
        )
    return Membership(GroupKey(namespace, owner.uid, is_job=True), topology=_topology(notes))


def _topology(notes: Mapping[str, str]) -> Topology | None:
    try:
        return read_topology(notes)
    except TopologyFault as fault:
        raise GroupFault(str(fault)) from fault


def _size(text: str | None) -> int:
    if text is None:
        raise GroupFault(f"the label {POD_GROUP} needs the annotation {POD_GROUP_SIZE}: how many pods the group has")
    if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) > 0:
        return int(text)
    raise GroupFault(f"the annotation {POD_GROUP_SIZE} is {text[:40]!r}; write how many pods the group has, 1 to 99999")
