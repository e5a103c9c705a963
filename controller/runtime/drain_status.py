"""What the status of a queue says of its drain: how many pods are on their way, and how many stay, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from controller.cache.cluster import ClusterCache
from controller.core.eviction_rules.draining import Leaving, door_drained_by, drained_by, leaving
from controller.core.workloads.workload import QueueKey
from controller.runtime.status import Finding


def queue_drain(cache: ClusterCache, name: str) -> Iterator[Finding]:
    """Tell of the drain of a ClusterQueue and those below it; nothing where neither it nor one above drains."""
    snapshot = cache.snapshot()
    if drained_by(snapshot, name):
        returns = snapshot.returns()
        yield _finding(cache, [one for below in cache.tree.below(name) for one in leaving(snapshot, below, returns)])


def local_queue_drain(cache: ClusterCache, key: QueueKey) -> Iterator[Finding]:
    """Tell of the drain of a LocalQueue; nothing where neither it nor its ClusterQueue drains."""
    snapshot = cache.snapshot()
    local = cache.local_queues.get(key)
    if local is not None and (door_drained_by(snapshot, key) or drained_by(snapshot, local.cluster_queue)):
        returns = snapshot.returns()
        pods = leaving(snapshot, local.cluster_queue, returns)
        yield _finding(cache, [one for one in pods if (one.pod.namespace, one.pod.queue or "") == key])


def _finding(cache: ClusterCache, pods: list[Leaving]) -> Finding:
    if not pods:
        return ("Drained", True, "Drained", "no pod of the queue is left")
    staying = Counter(why for one in pods if (why := _stays(cache, one)))
    going = len(pods) - staying.total()
    leaving_told = "1 pod is on its way out" if going == 1 else f"{going} pods are on their way out"
    if not staying:
        return ("Drained", False, "Draining", leaving_told)
    stay = "stays" if staying.total() == 1 else "stay"
    whys = ", ".join(f"{count}: {why}" for why, count in sorted(staying.items()))
    return ("Drained", False, "PodsStay", f"{leaving_told}; {staying.total()} {stay} ({whys})")


def _stays(cache: ClusterCache, one: Leaving) -> str:
    """Say why the pod does not go; empty where it does."""
    if one.verdict is None:
        return ""
    if not one.verdict.may_return:
        return one.verdict.why
    refusal = cache.evictions.refused.get(one.pod.uid)
    return f"the apiserver refuses for now; Penstock tries again: {refusal}" if refusal is not None else ""
