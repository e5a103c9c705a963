"""The faults of a waiting pod's own, in the order in which they are told: each hides those behind it."""

from __future__ import annotations

from collections.abc import Iterator

from controller.core.queueing.allowed_classes import not_allowed
from controller.core.queueing.operator_actions import held
from controller.core.queueing.scheduler_preemption import forbidden
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.pods import Pod, foreign_gates, job_of, priority_class_of
from controller.core.workloads.workload import Hold, Workload


def fault_behind(snapshot: Snapshot, workload: Workload, reason: Reason) -> Hold | None:
    """Return the first fault that is left of a workload once that of this reason is gone; None: there is none.

    Those that are told before it are gone already. What only a gang as a whole has comes before what its pods have.
    """
    known = snapshot.running.pods
    for pod in (known[uid] for uid in workload.pods if uid in known):
        faults = list(_faults(snapshot, pod))
        at = next((place for place, one in enumerate(faults) if one.reason is reason), -1)
        if faults[at + 1 :]:
            return faults[at + 1]
    return None


def _faults(snapshot: Snapshot, pod: Pod) -> Iterator[Hold]:
    """Yield them as `cache.queue.order_positions` and the gang of the pod look at them."""
    local = snapshot.queues.local_queues.get((pod.namespace, pod.queue or ""))
    at, queues = "" if local is None else local.cluster_queue, snapshot.queues.cluster_queues
    job = job_of(pod, snapshot.running.jobs)
    named = priority_class_of(pod, job)
    missing = None
    if named is not None and named not in snapshot.queues.priority_classes:
        missing = Hold(Reason.PRIORITY_CLASS_NOT_FOUND, f"WorkloadPriorityClass {named} does not exist")
    found = (
        held(pod, job),
        pod.hold,
        missing,
        None if named is None else not_allowed(named, "the pod", at, queues),
        forbidden(pod.preempting_class, at, queues),
        foreign_gates(pod),
    )
    yield from (one for one in found if one is not None)
