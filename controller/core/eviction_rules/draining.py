"""stopPolicy HoldAndDrain: which admitted pods are to go, and which of them may be returned to their owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.core.evictions.returns import Returns, Verdict
from controller.core.queueing.queues import StopPolicy
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.groups import GroupKey
from controller.core.workloads.pods import Phase, Pod
from controller.core.workloads.workload import QueueKey

_ADMITTED = (Phase.RESERVED, Phase.RUNNING)


@dataclass(frozen=True, slots=True)
class Leaving:
    """A pod that is to go: who says so, and whether it may be returned. A pod that is being deleted has no verdict."""

    pod: Pod
    by: str
    verdict: Verdict | None


def drains(snapshot: Snapshot, returns: Returns) -> Iterator[Evict]:
    """Say which pods to evict for a drain."""
    for queue in _draining(snapshot):
        for one in leaving(snapshot, queue, returns):
            if one.verdict is not None and one.verdict.may_return:
                yield Evict(one.pod, EvictionCause.DRAINED, f"{one.by}; {one.verdict.why}")


def leaving(snapshot: Snapshot, queue: str, returns: Returns) -> Iterator[Leaving]:
    """Tell of the pods charged to a cluster queue those that are to go, by its stopPolicy or their local queue's."""
    by = drained_by(snapshot, queue)
    staying = _staying(snapshot, queue, returns)
    for uid in snapshot.usage.charged.get(queue, ()):
        pod = snapshot.running.pods[uid]
        why = by or door_drained_by(snapshot, (pod.namespace, pod.queue or ""))
        if why and pod.phase in _ADMITTED:
            # what is evicted meanwhile counts for those that come after
            verdict = None if pod.is_terminating else returns.verdict(pod, queue)
            if verdict is not None and verdict.may_return and pod.group is not None and pod.group.key in staying:
                verdict = Verdict(False, f"its gang stays with one of its pods: {staying[pod.group.key].why}")
            yield Leaving(pod, why, verdict)


def _staying(snapshot: Snapshot, queue: str, returns: Returns) -> Mapping[GroupKey, Verdict]:
    """Return the gangs of a queue of which a pod may not be returned, and why."""
    found: dict[GroupKey, Verdict] = {}
    for uid in snapshot.usage.charged.get(queue, ()):
        pod = snapshot.running.pods[uid]
        if pod.group is None or pod.is_terminating or pod.group.key in snapshot.waiting.loose_groups:
            continue
        verdict = returns.verdict(pod, queue)
        if not verdict.may_return:
            found[pod.group.key] = verdict
    return found


def drained_by(snapshot: Snapshot, queue: str) -> str:
    """Say which cluster queue, of this one and those above it, drains it; empty: none does."""
    for name in snapshot.queues.tree.path(queue):
        found = snapshot.queues.cluster_queues.get(name)
        if found is not None and found.stop is StopPolicy.HOLD_AND_DRAIN:
            return f"ClusterQueue {name} has stopPolicy HoldAndDrain"
    return ""


def door_drained_by(snapshot: Snapshot, key: QueueKey) -> str:
    """Say whether the local queue itself drains; empty: it does not."""
    local = snapshot.queues.local_queues.get(key)
    if local is None or local.stop is not StopPolicy.HOLD_AND_DRAIN:
        return ""
    return f"LocalQueue {local.name} has stopPolicy HoldAndDrain"


def _draining(snapshot: Snapshot) -> list[str]:
    """The cluster queues of which any pod may have to go. Without a drain this costs one look at each queue."""
    drain = StopPolicy.HOLD_AND_DRAIN
    queues = snapshot.queues
    names = {below for q in queues.cluster_queues.values() if q.stop is drain for below in queues.tree.below(q.name)}
    names.update(local.cluster_queue for local in queues.local_queues.values() if local.stop is drain)
    return sorted(names)
