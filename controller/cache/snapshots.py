"""The cache as one decision sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.cache.usage import Usage
from controller.cache.waiting import Waiting
from controller.core.world.kept_places import KeptPlaces
from controller.core.world.snapshot import Snapshot

if TYPE_CHECKING:
    from controller.cache.cluster import ClusterCache


def snapshot_of(cache: ClusterCache, waiting: Waiting) -> Snapshot:
    """Return a view of what the cache knows, and of what waits there; valid until the next change."""
    return Snapshot(
        cluster_queues=cache.cluster_queues,
        tree=cache.tree,
        local_queues=cache.local_queues,
        flavors=cache.flavors,
        namespaces=cache.namespaces,
        nodes=cache.index,
        runs=cache.backlog.runs,
        **used_in(cache.usage),
        room=cache.room,
        faulty_queues=cache.faulty_queues,
        now=cache.now,
        asked=waiting.asked.portion,
        preemptors=waiting.preemptors,
        held=waiting.held,
        kept=_kept(waiting),
        budgets=cache.budgets.used_up,
        pods=cache.pods,
        jobs=cache.jobs,
        overdue=cache.clocks.reservations.overdue,
        dry=cache.clocks.stock_outs.dry,
        unprovided=cache.clocks.stock_outs.unprovided,
        rejected=waiting.rejections.ever,
        leaving=cache.evictions.seen(cache.now),
        candidates=cache.usage.candidates,
        offers=cache.usage.offers,
        shares=cache.usage.shares,
        priority_classes=cache.places.classes,
        loose_groups=cache.gangs.loose,
        past_usage=cache.usage.past.at(cache.now, cache.local_queues),
        forecast=waiting.foresight.forecast,
    )


def used_in(usage: Usage) -> dict[str, Any]:
    """Return the fields of a snapshot that say what pods use."""
    return {
        "usage": usage.in_tree,
        "flavor_usage": usage.by_flavor,
        "node_used": usage.by_node,
        "user_usage": usage.by_user.sums,
        "charges": usage.charges,
        "admitted": usage.charged,
        "bound": usage.bound,
    }


def _kept(waiting: Waiting) -> list[KeptPlaces]:
    """Return what is kept for members of gangs that are made anew, and who waits for it, first in order first."""
    found = []
    for key, places in waiting.gangs.lost.of.items():
        those = [one for uid in waiting.gangs.waiting_as(key) if (one := waiting.backlog.get(uid)) is not None]
        found.append(KeptPlaces(tuple(places), sorted(those, key=lambda one: one.order)))
    return found
