"""What a plan says of a snapshot, in rows that people and programs read: who comes in, who goes, who waits and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from controller.core.explaining.wording import deadline_note, describe
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import NOT_YET, EvictionCause, Plan, onto
from controller.core.workloads.pods import Phase, Pod, job_of
from controller.core.workloads.workload import Workload, among_all
from controller.kube.clock import rfc3339


@dataclass(frozen=True, slots=True)
class Admission:
    """A pod that would be released. `flavors` are those that are open to it, in order; `node` None: a sum had room."""

    pod: str
    cluster_queue: str
    flavors: tuple[str, ...]
    node: str | None

    @property
    def sentence(self) -> str:
        """What becomes of the pod."""
        flavor = onto(self.flavors[0], self.flavors if len(self.flavors) > 1 else ())
        where = f", node {self.node}" if self.node else ""
        return f"would be admitted by ClusterQueue {self.cluster_queue} onto {flavor}{where}"


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that would be evicted; `text` says on whose account."""

    pod: str
    cause: EvictionCause
    text: str

    @property
    def sentence(self) -> str:
        """What becomes of the pod."""
        return f"would be evicted ({self.cause}): {self.text}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pod that stays at the gate; `cluster_queue` is empty where its LocalQueue is not there."""

    pod: str
    local_queue: str
    cluster_queue: str
    reason: Reason
    text: str

    @property
    def sentence(self) -> str:
        """What becomes of the pod."""
        return f"waits ({self.reason}): {self.text}"


Row = Admission | Eviction | Waiting


@dataclass(frozen=True, slots=True)
class Outcome:
    """All of it, each list in the order of the decision. Not `is_complete`: another decision would follow at once.

    `at` is when, as Kubernetes writes a time.
    """

    at: str
    is_complete: bool
    admissions: tuple[Admission, ...]
    evictions: tuple[Eviction, ...]
    waiting: tuple[Waiting, ...]

    def of(self, pod: str) -> Row | None:
        """Return what becomes of the pod namespace/name; None: nothing, it is at no gate and stays where it is."""
        every: Iterator[Row] = chain(self.evictions, self.admissions, self.waiting)
        return next((one for one in every if one.pod == pod), None)

    @property
    def by_reason(self) -> dict[Reason, list[Waiting]]:
        """Who waits, the most frequent reason first, for each the first in order first."""
        found: dict[Reason, list[Waiting]] = {}
        for one in self.waiting:
            found.setdefault(one.reason, []).append(one)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def outcome_of(snapshot: Snapshot, plan: Plan) -> Outcome:
    """Read a plan that `decide` made of this snapshot, which has the pods that the plan names."""
    admissions = [
        Admission(snapshot.running.pods[one.uid].key, one.cluster_queue, one.flavors or (one.flavor,), one.node)
        for one in plan.admits
    ]
    evictions = [Eviction(one.pod.key, one.cause, one.text) for one in plan.evicts]
    waiting = _waiting(snapshot, plan)
    return Outcome(rfc3339(snapshot.now), plan.is_complete, tuple(admissions), tuple(evictions), tuple(waiting))


def stands(pod: Pod) -> str:
    """Say how it stands with a pod that a decision leaves as it is."""
    if pod.is_finished:
        return "has ended"
    if pod.is_terminating:
        return "is being deleted"
    match pod.phase:
        case Phase.QUEUED:
            return "waits in no queue"
        case Phase.RESERVED | Phase.RUNNING if pod.cluster_queue and pod.flavor:
            where = f", on node {pod.node}" if pod.node else ", on no node yet"
            return f"was admitted by ClusterQueue {pod.cluster_queue} onto {onto(pod.flavor, pod.flavors)}{where}"
        case _:
            return "does not wait at Penstock's gate"


def _waiting(snapshot: Snapshot, plan: Plan) -> Iterator[Waiting]:
    """Yield the pods that wait, those of one workload one after the other."""
    released = {one.uid for one in plan.admits}
    every = (one for run in snapshot.waiting.runs.values() for one in run)
    for workload in sorted(every, key=lambda one: among_all(one.order)):
        wait = plan.waits.get(workload.kind, NOT_YET).of(workload.uid)
        queue = _cluster_queue(snapshot, workload)
        found = snapshot.queues.cluster_queues.get(queue)
        may_preempt = found is not None and found.preemption.is_any
        text = describe(wait, workload.since, uid=workload.uid, may_preempt=may_preempt)
        for pod in (snapshot.running.pods[uid] for uid in workload.pods if uid not in released):
            note = deadline_note(job_of(pod, snapshot.running.jobs))
            yield Waiting(pod.key, "/".join(workload.kind.queue), queue, wait.reason, f"{text}{note}")


def _cluster_queue(snapshot: Snapshot, workload: Workload) -> str:
    local = snapshot.queues.local_queues.get(workload.kind.queue)
    return "" if local is None else local.cluster_queue
