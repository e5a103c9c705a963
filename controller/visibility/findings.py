"""What decisions have found out about a snapshot: why each class waits, who would be admitted or evicted now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.core.explaining.wording import deadline_note, describe, size_note
from controller.core.keys import CONDITION
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import NOT_YET, Admit, Evict, Plan, Wait
from controller.core.workloads.pods import Pod, job_of
from controller.core.workloads.workload import Workload, WorkloadClass


@dataclass(frozen=True, slots=True)
class Findings:
    """`wait_of` says why a class waits; `admits` and `evicts`, by uid of the pod, what the next decision would do."""

    wait_of: Callable[[WorkloadClass], Wait]
    admits: Mapping[str, Admit] = field(default_factory=dict)
    evicts: Mapping[str, Evict] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> Findings:
        """Return those of a plan that was made of the whole snapshot."""
        admits = {one.uid: one for one in plan.admits}
        evicts = {one.pod.uid: one for one in plan.evicts}
        return cls(lambda kind: plan.waits.get(kind, NOT_YET), admits, evicts)

    def why(self, snapshot: Snapshot, workload: Workload) -> tuple[Reason, str]:
        """Return why a workload waits, as a word and as a sentence."""
        admit = self.admits.get(workload.pods[0])
        if admit is not None:
            where = f", node {admit.node}" if admit.node else ""
            return next_of(snapshot, workload, f"{admit.onto}{where}")
        wait = self.wait_of(workload.kind).of(workload.uid)
        return wait.reason, sentence_of(snapshot, workload, wait)

    def note(self, snapshot: Snapshot, pod: Pod) -> str:
        """Return what is to be said of a pod beside why its workload waits."""
        return deadline_note(job_of(pod, snapshot.running.jobs))


def next_of(snapshot: Snapshot, workload: Workload, where: str) -> tuple[Reason, str]:
    """Return why a workload waits that the next decision admits onto this, as a word and as a sentence."""
    pod = refused_of(snapshot, workload)
    if pod is None:
        return Reason.PENDING, f"the next decision admits it onto {where}"
    by = f"the condition {CONDITION} of pod {pod.name} says by whom, and docs/reasons.md what to do"
    return Reason.PATCH_REJECTED, f"decisions admit it onto {where}, but its release was refused: {by}"


def refused_of(snapshot: Snapshot, workload: Workload) -> Pod | None:
    """Return the first pod of a workload whose condition says that its release was refused; None: of none it does.

    A decision does not know of it where nobody but the controller has tried.
    """
    known = (snapshot.running.pods.get(uid) for uid in workload.pods)
    said = ((one, one.said) for one in known if one is not None)
    return next((one for one, told in said if told is not None and told.reason == Reason.PATCH_REJECTED), None)


def sentence_of(snapshot: Snapshot, workload: Workload, wait: Wait) -> str:
    """Write why a workload waits, as the condition of its pods says it."""
    local = snapshot.queues.local_queues.get(workload.kind.queue)
    queue = None if local is None else snapshot.queues.cluster_queues.get(local.cluster_queue)
    may_preempt = queue is not None and queue.preemption.is_any
    pod = snapshot.running.pods[workload.pods[0]]
    size = size_note(pod, snapshot.running.pods.get(pod.of)) if wait.blockers else ""
    return f"{describe(wait, workload.since, uid=workload.uid, may_preempt=may_preempt)}{size}"
