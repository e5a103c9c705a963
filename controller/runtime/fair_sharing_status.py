"""Fair sharing in statuses: the share of a ClusterQueue, a weight without effect, the past usage of a LocalQueue.

Past usage changes every second while anything runs, so it is written at most once a minute, and not at all while
nothing runs: then what stands there stays right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.cache.cluster import ClusterCache
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.fair_sharing import FairShares, shown
from controller.objects.read import Entry, counted_until
from controller.runtime.status import Finding, Status

_WRITTEN_SECONDS: Final = 60


def fair_sharing_status(cache: ClusterCache, name: str) -> Status | None:
    """Return the part of the status that is about fair sharing; None where the queue's tree does not share."""
    if cache.tree.path(name)[-1] not in cache.tree.fair_roots:
        return None
    return {"weightedShare": shown(FairShares(cache.tree, cache.usage.in_tree).of(name))}


def weight_without_effect(cache: ClusterCache, queue: ClusterQueue | None) -> Iterator[Finding]:
    """A weight is nothing where the root does not let its tree share; no rule says it, for that is another object."""
    if queue is None or queue.fair_sharing is None:
        return
    root = cache.tree.path(queue.name)[-1]
    if root not in cache.tree.fair_roots:
        text = f"spec.fairSharing has no effect: {root}, the root of the tree, has none; add it there, {{}} is enough"
        yield ("FairSharing", False, "OffAtTheRoot", text)


def past_usage_status(cache: ClusterCache, entry: Entry) -> Status | None:
    """Return the part of a LocalQueue's status that is about its past usage."""
    local = cache.local_queues.get(entry.key)
    standing: Status | None = entry.status.get("fairSharing")
    if local is None or local.cluster_queue not in cache.cluster_queues or local.cluster_queue in cache.tree.faults:
        return standing  # until that is put right the sums must not be lost
    past, queue = cache.usage.past, local.cluster_queue
    fresh = past.status(entry.key, queue)
    if fresh is not None and standing and standing.get("counts") == fresh["counts"]:
        until = counted_until(standing)
        is_recent = 0 <= cache.now - until < _WRITTEN_SECONDS
        tells_all = ("users" in standing) == past.tells_users(queue)
        if tells_all and (is_recent or past.is_said(entry.key, until)):
            return standing
    users = past.users(entry.key, queue)
    return fresh if fresh is None or users is None else {**fresh, "users": users}
