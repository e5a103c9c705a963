"""What there is to tell: one kind of notice for each event, with its data for programs and its line for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from controller.core.calendar.durations import format_duration
from controller.core.workloads.decisions import Evict, onto
from controller.core.workloads.pods import Pod
from controller.kube.clock import rfc3339

_NAMES: Final = 10
"""So many pods are named at most."""
_MESSAGE_ROOM: Final = 1024


class Kind(StrEnum):
    """What has happened, as the file of receivers calls it."""

    ADMITTED = "Admitted"
    LATE = "Late"
    EVICTED = "Evicted"
    BUDGET_USED = "BudgetUsed"


TYPES: Final = {
    Kind.ADMITTED: "dev.penstock.workload.admitted.v1",
    Kind.LATE: "dev.penstock.workload.late.v1",
    Kind.EVICTED: "dev.penstock.workload.evicted.v1",
    Kind.BUDGET_USED: "dev.penstock.budget.used.v1",
}
"""The `type` of each as a CloudEvent."""


@dataclass(frozen=True, slots=True)
class WorkloadRef:
    """What people call one workload: the object that owns the pods, a gang that is no such object, or a pod alone.

    `uid` empty: a gang, which has none.
    """

    namespace: str
    kind: str
    name: str
    uid: str = ""

    @property
    def words(self) -> str:
        """As commands take it, and where: `job/train in namespace team-a`."""
        return f"{self.kind.lower()}/{self.name} in namespace {self.namespace}"

    @property
    def subject(self) -> str:
        """The `subject` of a CloudEvent."""
        return f"namespaces/{self.namespace}/{self.kind.lower()}/{self.name}"


def workload_of(pod: Pod) -> WorkloadRef:
    """Return the workload that a pod is part of, for people."""
    if pod.group is not None and not (pod.group.key.is_job or pod.group.key.is_object):
        key = pod.group.key
        return WorkloadRef(pod.namespace, "PodGroup" if key.is_native else "Group", key.name)
    if pod.owner is not None:
        return WorkloadRef(pod.namespace, pod.owner.kind, pod.owner.name, pod.owner.uid)
    return WorkloadRef(pod.namespace, "Pod", pod.name, pod.uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to tell. `id` is the same whenever the same is told, also by a controller that was started again.

    `local_queues` are those that it concerns, as (namespace, name), `percent` is the threshold of a budget. `text` is
    one line. `is_repeat`: a controller before this one may have sent it.
    """

    kind: Kind
    id: str
    at: float
    subject: str
    cluster_queue: str
    local_queues: frozenset[tuple[str, str]]
    data: Mapping[str, Any]
    text: str
    percent: int = 0
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """A forecast of a start: when it was made, and before when 2, 5 and 9 of 10 simulations start it, epoch seconds."""

    made: float
    p20: float
    p50: float
    p90: float

    @property
    def data(self) -> dict[str, str]:
        """As it is sent."""
        times = {"madeAt": self.made, "p20": self.p20, "p50": self.p50, "p90": self.p90}
        return {name: rfc3339(at) for name, at in times.items()}


@dataclass(frozen=True, slots=True)
class LateStart:
    """A pod that waits longer than its first forecast said; why, in words, and the latest forecast, if there is one."""

    pod: Pod
    cluster_queue: str
    first: Range
    latest: Range | None
    reason: str
    message: str


def admitted(ref: WorkloadRef, pods: Sequence[Pod], *, is_repeat: bool = False) -> Notice:
    """Tell that pods of a workload, all of them stamped, were admitted."""
    at, created = min(pod.admitted_at for pod in pods), min(pod.created for pod in pods)
    waited = max(0, int(at - created))
    flavors = list(dict.fromkeys(name for pod in pods for name in pod.flavors or (pod.flavor or "",)))
    first = pods[0]
    times = {"createdAt": rfc3339(created), "admittedAt": rfc3339(at), "waitedSeconds": waited}
    where = f"{onto(flavors[0], flavors if len(flavors) > 1 else ())} for ClusterQueue {first.cluster_queue}"
    return Notice(
        kind=Kind.ADMITTED,
        id=f"admitted/{_identity(ref)}/{int(at)}",
        at=at,
        data={**_of_pods(ref, pods, first.cluster_queue or ""), "flavors": flavors, **times},
        text=f"Admitted: {ref.words}, onto {where}, after {format_duration(waited)}{_how_many(pods)}",
        is_repeat=is_repeat,
        **_about(ref, first, first.cluster_queue or ""),
    )


def evicted(ref: WorkloadRef, evicts: Sequence[Evict], at: float) -> Notice:
    """Tell that pods of a workload were evicted, at a time; the cause is that of the first."""
    first, pods = evicts[0], [one.pod for one in evicts]
    queue = first.pod.cluster_queue or ""
    message = first.text[:_MESSAGE_ROOM]
    told = {"cause": first.cause.value, "message": message, "evictedAt": rfc3339(at)}
    return Notice(
        kind=Kind.EVICTED,
        id=f"evicted/{first.pod.uid}",
        at=at,
        data={**_of_pods(ref, pods, queue), "flavor": first.pod.flavor or "", **told},
        text=f"Evicted: {ref.words}, {first.cause.value}: {message}{_how_many(pods)}",
        **_about(ref, first.pod, queue),
    )


def late(ref: WorkloadRef, starts: Sequence[LateStart], at: float) -> Notice:
    """Tell that pods of a workload wait longer than their first forecast said; the words are those of the first."""
    first, pods = starts[0], [one.pod for one in starts]
    since, message = min(pod.created for pod in pods), first.message[:_MESSAGE_ROOM]
    latest = {} if first.latest is None else {"latestForecast": first.latest.data}
    why = {"reason": first.reason, "message": message, "waitingSince": rfc3339(since)}
    expected = f"it was expected to start by {rfc3339(first.first.p90)}"
    now = "" if first.latest is None else f"; now expected at {rfc3339(first.latest.p50)}"
    return Notice(
        kind=Kind.LATE,
        id=f"late/{ref.uid}" if ref.uid else f"late/{_identity(ref)}/{int(since)}",
        at=at,
        data={**_of_pods(ref, pods, first.cluster_queue), **why, "forecast": first.first.data, **latest},
        text=f"Late: {ref.words}, {expected}{now}; {first.reason}: {message}{_how_many(pods)}",
        **_about(ref, first.pod, first.cluster_queue),
    )


def _identity(ref: WorkloadRef) -> str:
    return ref.uid or f"{ref.namespace}/{ref.name}"


def _about(ref: WorkloadRef, pod: Pod, cluster_queue: str) -> dict[str, Any]:
    """Say whom a notice concerns."""
    queues = frozenset({(pod.namespace, pod.queue or "")})
    return {"subject": ref.subject, "cluster_queue": cluster_queue, "local_queues": queues}


def _of_pods(ref: WorkloadRef, pods: Sequence[Pod], cluster_queue: str) -> dict[str, Any]:
    """What all notices about workloads have."""
    uid = {"uid": ref.uid} if ref.uid else {}
    return {
        "namespace": ref.namespace,
        "localQueue": pods[0].queue or "",
        "clusterQueue": cluster_queue,
        "workload": {"kind": ref.kind, "name": ref.name, **uid},
        "pods": {"count": len(pods), "names": [pod.name for pod in pods[:_NAMES]]},
    }


def _how_many(pods: Sequence[Pod]) -> str:
    return f" ({len(pods)} pods)" if len(pods) > 1 else ""
