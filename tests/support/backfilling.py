"""Pods and Backfill queues of which it is known how long they run, a minute past the beginning of time."""

from __future__ import annotations

from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.workloads.decisions import Booking
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Constraints
from tests.support.builders import a_cache, a_cluster_queue, a_node, a_pod, a_quota, a_released_pod, a_shape

HOUR = 3600


def backfilling(name: str = "team-a", cpu: str = "8", **fields: Any) -> ClusterQueue:
    return a_cluster_queue(name, a_quota(cpu=cpu), **{"strategy": QueueingStrategy.BACKFILL, **fields})


def runs(name: str, cpu: str, hours: float, **fields: Any) -> Pod:
    """A pod that started at the beginning of time, on the one node, and is expected to run so long; 0: who knows."""
    known = {"node": "node-1", "admitted_at": 1.0, "started": 1, "expected_runtime": int(hours * HOUR)}
    return a_released_pod(name, a_shape(cpu=cpu), **{**known, **fields})


def waits(name: str, cpu: str, hours: float = 0, *, where: Constraints | None = None, **fields: Any) -> Pod:
    known = {"created": 10.0, "expected_runtime": int(hours * HOUR)}
    return a_pod(name, a_shape(where, cpu=cpu), **{**known, **fields})


def a_world(*pods: Pod, cpu: str = "8", queues: tuple[ClusterQueue, ...] = (), **fields: Any) -> ClusterCache:
    """One node that runs pods, and Backfill queues of as much; it is a minute past the beginning of time."""
    nodes = fields.pop("nodes", [a_node(cpu=cpu)])
    cache = a_cache(*pods, nodes=nodes, queues=queues or (backfilling(cpu=cpu),), **fields)
    cache.advance(60.0)
    return cache


def reservations(cache: ClusterCache) -> set[Booking]:
    found = (cache.reasons.of(kind).booking for kind in cache.backlog.runs)
    return {one for one in found if one is not None}


def kept(cache: ClusterCache) -> dict[str, float]:
    """From when on something is kept for whom."""
    return {booking.uid: booking.at for booking in reservations(cache)}
