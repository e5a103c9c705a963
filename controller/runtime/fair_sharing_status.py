"""Fair sharing in the status of a ClusterQueue: its share, and a weight that has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from controller.cache.cluster import ClusterCache
from controller.core.fair_sharing import FairShares, shown
from controller.core.queues import ClusterQueue
from controller.runtime.status import Finding, Status


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
