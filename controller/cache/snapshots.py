"""The cache as one decision sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from controller.cache.queue.waiting import Waiting
from controller.cache.usage.usage import Usage
from controller.core.queueing.past_usage import PastUsage
from controller.core.quota.used_up import UsedUpBudgets
from controller.core.snapshot import Memo, NodeView, QueueView, RunningView, Snapshot, UsageView, WaitingView
from controller.core.workloads.kept_places import KeptPlaces
from controller.core.workloads.workload import QueueKey

if TYPE_CHECKING:
    from controller.cache.cluster import ClusterCache


def snapshot_of(cache: ClusterCache, waiting: Waiting) -> Snapshot:
    """Return a view of what the cache knows, and of what waits there; valid until the next change."""
    past = cache.usage.past.at(cache.now, cache.local_queues)
    return Snapshot(
        queues=_queues(cache),
        usage=usage_view(cache.usage, cache.budgets.used_up, past),
        nodes=_nodes(cache),
        waiting=_waiting(cache, waiting),
        running=_running(cache, waiting),
        memo=Memo(
            candidates=cache.usage.candidates, reclaimable=cache.usage.known_reclaimable, shares=cache.usage.shares
        ),
        now=cache.now,
    )


def usage_view(usage: Usage, budgets: UsedUpBudgets, past: Mapping[QueueKey, PastUsage]) -> UsageView:
    """Return what pods are charged with, beside the budgets that are used up and what was used before."""
    return UsageView(
        in_tree=usage.in_tree,
        by_flavor=usage.by_flavor,
        by_user=usage.by_user.sums,
        charges=usage.charges,
        charged=usage.charged,
        budgets=budgets,
        past=past,
    )


def _queues(cache: ClusterCache) -> QueueView:
    return QueueView(
        cluster_queues=cache.cluster_queues,
        tree=cache.tree,
        local_queues=cache.local_queues,
        flavors=cache.flavors,
        namespaces=cache.namespaces,
        faulty=cache.faulty_queues,
        priority_classes=cache.positions.classes,
        class_run_times=cache.positions.run_times,
    )


def _nodes(cache: ClusterCache) -> NodeView:
    return NodeView(
        index=cache.index,
        used=cache.usage.by_node,
        room=cache.room,
        bound=cache.usage.bound,
        dry=cache.clocks.stock_outs.dry,
    )


def _waiting(cache: ClusterCache, waiting: Waiting) -> WaitingView:
    return WaitingView(
        runs=cache.backlog.runs,
        rejected=waiting.rejections.ever,
        loose_groups=cache.gangs.loose,
        preemptors=waiting.preemptors,
        held=waiting.held,
        kept=_kept(waiting),
        asked=waiting.asked.portion,
        preempts_in=waiting.rounds.portion,
    )


def _running(cache: ClusterCache, waiting: Waiting) -> RunningView:
    return RunningView(
        pods=cache.pods,
        jobs=cache.jobs,
        overdue=cache.clocks.reservations.overdue,
        unprovided=cache.clocks.stock_outs.unprovided,
        leaving=cache.evictions.seen(cache.now),
        forecast=waiting.foresight.forecast,
    )


def _kept(waiting: Waiting) -> list[KeptPlaces]:
    """Return what is kept for members of gangs that are made anew, and who waits for it, first in order first."""
    found = []
    for key, places in waiting.gangs.lost.of.items():
        those = [one for uid in waiting.gangs.waiting_as(key) if (one := waiting.backlog.get(uid)) is not None]
        found.append(KeptPlaces(tuple(places), sorted(those, key=lambda one: one.order)))
    return found
