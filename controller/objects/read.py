"""Our own objects off the wire: who each is, its status as it stands, and its model or what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Raw

from controller.api.base import Resource
from controller.api.parse import (
    InvalidObject,
    parse_cluster_pod_scheduling_policy,
    parse_cluster_queue,
    parse_local_queue,
    parse_pod_scheduling_policy,
    parse_resource_flavor,
    parse_scheduling_policy,
    parse_workload_kind,
    parse_workload_priority_class,
)
from controller.api.scheduling_policy import SchedulingPolicy
from controller.core.keys import HELD
from controller.kube.clock import epoch
from controller.kube.decode_ours import decode_ours
from controller.objects.scheduling_policies import to_scheduling_policy

Key = tuple[str, str]
"""(namespace, name); cluster-scoped objects have an empty namespace."""
_LISTS: Final = {"conditions": "type", "budgets": "name"}
"""Lists of a status that are read entry by entry, and what tells their entries apart."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One of our objects: who it is, the spec's generation, its status as it stands, the fault if it has one,
    and the note of who stopped it by hand.
    """

    key: Key
    uid: str
    generation: int
    status: dict[str, Any]
    fault: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """What came off the wire: the entry, and the model unless the object is faulty."""

    entry: Entry
    model: Resource | None


def read_flavor(raw: Raw) -> Read:
    """Read a ResourceFlavor; a faulty one is an entry without a model."""
    return _read(raw, parse_resource_flavor)


def read_cluster_queue(raw: Raw) -> Read:
    """Read a ClusterQueue; a faulty one is an entry without a model."""
    return _read(raw, parse_cluster_queue)


def read_local_queue(raw: Raw) -> Read:
    """Read a LocalQueue; a faulty one is an entry without a model."""
    return _read(raw, parse_local_queue)


def read_pod_policy(raw: Raw) -> Read:
    """Read a PodSchedulingPolicy; a faulty one is an entry without a model."""
    return _read(raw, parse_pod_scheduling_policy)


def read_cluster_pod_policy(raw: Raw) -> Read:
    """Read a ClusterPodSchedulingPolicy; a faulty one is an entry without a model."""
    return _read(raw, parse_cluster_pod_scheduling_policy)


def read_scheduling_policy(raw: Raw) -> Read:
    """Read a SchedulingPolicy; a faulty one is an entry without a model."""
    return _read(raw, _parse_scheduling_policy)


def read_workload_kind(raw: Raw) -> Read:
    """Read a WorkloadKind; a faulty one is an entry without a model."""
    return _read(raw, parse_workload_kind)


def read_priority_class(raw: Raw) -> Read:
    """Read a WorkloadPriorityClass; a faulty one is an entry without a model."""
    return _read(raw, parse_workload_priority_class)


def _parse_scheduling_policy(document: dict[str, Any]) -> SchedulingPolicy:
    """As the webhook reads it: some rules of the kind show only when its defaults are judged by its own forms."""
    policy = parse_scheduling_policy(document)
    to_scheduling_policy(policy)
    return policy


def _read(raw: Raw, parse: Callable[[dict[str, Any]], Resource]) -> Read:
    document, metadata = decode_ours(raw, "an object")
    model, fault = None, None
    try:
        # status is our own report: its faults are put right by writing it anew
        model = parse({**document, "status": {}})
    except InvalidObject as error:
        fault = "; ".join(error.faults)
    entry = Entry(
        metadata.key,
        metadata.uid,
        metadata.generation,
        _status(document.get("status")),
        fault,
        (metadata.annotations or {}).get(HELD, ""),
    )
    return Read(entry, model)


def _status(written: object) -> dict[str, Any]:
    """What others may have written there and is none of our making is left out: nobody who reads it has to ask."""
    status = dict(written) if isinstance(written, dict) else {}
    for name, key in _LISTS.items():
        listed = status.pop(name, None)
        if isinstance(listed, list):
            status[name] = [one for one in listed if isinstance(one, dict) and isinstance(one.get(key), str)]
    if not isinstance(status.get("fairSharing"), dict):
        status.pop("fairSharing", None)
    return status


def counted_until(said: Mapping[str, Any]) -> float:
    """Return until when a part of a status counts what was used, epoch seconds; 0 where that is none of our making."""
    try:
        return epoch(said.get("countedUntil"))
    except (OverflowError, TypeError, ValueError):
        return 0.0
