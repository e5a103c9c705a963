"""Cohorts as Kueue's documents draw them: queues below one another with whole cpus of one flavor, who runs, who waits.

Quota alone decides, as there: the flavor has room for everything. Whoever runs may be returned to their owner.
"""

from __future__ import annotations

from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_pod,
    a_released_pod,
    a_shape,
    a_static_flavor,
    a_tree_quota,
    decided,
)

CPU = 1000
ROOM = "1000000"
_OWNER = Owner("apps/v1", "ReplicaSet", "web", "web")


def queue(
    name: str,
    cpu: int,
    *,
    parent: str = "cohort",
    borrow: int | None = None,
    lend: int | None = None,
    flavor: str = "spot",
    **fields: Any,
) -> ClusterQueue:
    """A ClusterQueue with a nominal quota; limits in cpus as well."""
    limits = [None if limit is None else limit * CPU for limit in (borrow, lend)]
    quota = a_tree_quota(flavor, cpu * CPU, borrow=limits[0], lend=limits[1])
    return a_cluster_queue(name, quota, parent=parent, **fields)


def cohort(name: str = "cohort", cpu: int | None = None, *, parent: str = "", **limits: int) -> ClusterQueue:
    """A Cohort, with quota of its own beside its children's if `cpu` is given."""
    if cpu is None:
        return ClusterQueue(name=name, parent=parent)
    return queue(name, cpu, parent=parent, borrow=limits.get("borrow"), lend=limits.get("lend"))


def runs(name: str, of: str, cpu: int, *, priority: int = 0, admitted: float = 1.0, **fields: Any) -> Pod:
    """A workload of one pod that was admitted to the queue."""
    stamps = {"cluster_queue": of, "flavor": "spot", "node": "n", "queue": of, "owner": _OWNER}
    shape = a_shape(cpu=str(cpu))
    return a_released_pod(name, shape, **{**stamps, "priority": priority, "admitted_at": admitted, **fields})


def arrives(name: str, at: str, cpu: int, *, priority: int = 0, created: float = 100.0, **fields: Any) -> Pod:
    """A workload of one pod that waits in the queue."""
    return a_pod(name, a_shape(cpu=str(cpu)), queue=at, priority=priority, created=created, **fields)


def world(queues: list[ClusterQueue], *pods: Pod, flavors: tuple[str, ...] = ("spot",)) -> ClusterCache:
    """All of it, with a LocalQueue of the same name for each queue."""
    cache = a_cache(
        *pods,
        nodes=[],
        flavors=[a_static_flavor(name, cpu=ROOM, pods=ROOM) for name in flavors],
        queues=queues,
        locals_=[a_local_queue(one.name, one.name) for one in queues],
    )
    cache.advance(1_000.0)
    return cache


def preempted(cache: ClusterCache) -> list[str]:
    """Decide once; who is evicted, by name."""
    return sorted(evict.pod.uid for evict in decided(cache).evicts)


def admitted_to(cache: ClusterCache) -> list[str]:
    """Decide once; who is admitted, in the order of the decision."""
    return [admit.uid for admit in decided(cache).admits]
