"""Reservations that last too long: pods that were admitted and that kube-scheduler puts onto no node.

Such a pod keeps its quota, because it may still be bound at any time; its room on the planned node goes to others.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.core.calendar.durations import format_duration
from controller.core.evictions.returns import Returns
from controller.core.queueing.queues import ClusterQueue, OnReservationTimeout
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Evict, EvictionCause, onto
from controller.core.workloads.pods import Phase, Pod


def overdue_at(pod: Pod, queue: ClusterQueue | None) -> float | None:
    """Return when a pod's reservation is overdue, epoch seconds; None: never, or it is none.

    Of a Job that is held as a whole each pod has its own, from when it exists.
    """
    if queue is None or queue.reservation_timeout is None or pod.is_job:
        return None
    if pod.phase is not Phase.RESERVED or not pod.admitted_at:
        return None
    return pod.admitted_at + queue.reservation_timeout


def overdue_text(pod: Pod, queue: ClusterQueue) -> str:
    """Say of an overdue pod where it was admitted, for how long it is without a node, and what the scheduler says."""
    after = format_duration(queue.reservation_timeout or 0)
    said = pod.unscheduled or "kube-scheduler has not said why"
    where = onto(pod.flavor, pod.flavors)
    return f"admitted by ClusterQueue {queue.name} onto {where}, and on no node after {after}: {said}"


def is_learnt_from(evict: Evict) -> bool:
    """Say whether an eviction shows that a flavor has no node for such a pod: kube-scheduler has tried, and says so.

    Of a gang those go too that are on a node, or that nobody has tried to place.
    """
    pod = evict.pod
    is_refused = pod.phase is Phase.RESERVED and bool(pod.unscheduled)
    return evict.cause is EvictionCause.RESERVATION_TIMEOUT and is_refused


def unschedulable_text(pod: Pod) -> str:
    """Say which pod came back, and what the scheduler said of it."""
    return f"kube-scheduler found no node for pod {pod.key}: {pod.unscheduled.rstrip('. ')}"


def overdue_evictions(snapshot: Snapshot, returns: Returns) -> Iterator[Evict]:
    """Say which overdue pods to return now: those of queues that want it, where it costs their owner nothing."""
    pods = [snapshot.running.pods[uid] for uid in snapshot.running.overdue]
    # of a gang that goes the first is named: one of which something is known
    for pod in sorted(pods, key=lambda one: not one.unscheduled):
        queue = snapshot.queues.cluster_queues.get(pod.cluster_queue or "")
        if queue is None or queue.on_reservation_timeout is OnReservationTimeout.KEEP or pod.is_terminating:
            continue
        verdict = returns.verdict(pod, queue.name)
        if verdict.may_return:
            text = f"{overdue_text(pod, queue).rstrip('. ')}; {verdict.why}"
            yield Evict(pod, EvictionCause.RESERVATION_TIMEOUT, text)
