"""What a later time rests on and one decision does not: queues as they are written, and sums that are counted on.

A snapshot has the queues as they are in effect at its moment. Whoever plays it forward needs their windows and shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.cache.budgets.budget_book import BudgetKey
from controller.cache.cluster import ClusterCache
from controller.cache.usage.usage_sums import Remembered as PastSum
from controller.core.budgets.tally import Memory
from controller.core.queueing.effective import WrittenQueue
from controller.core.workloads.decisions import DrySpell
from controller.core.workloads.groups import GroupKey, PodGroup
from controller.core.workloads.workload import QueueKey
from controller.objects.budgets import Remembered as BudgetSum
from controller.replay.records import WrittenRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AsWritten:
    """By name: ClusterQueues, PodGroups of Kubernetes, and what budgets and LocalQueues have used so far.

    `dry_spells` are by flavor, those that are over too: by these pods are judged that waited through one.
    """

    cluster_queues: Mapping[str, WrittenQueue]
    pod_groups: Mapping[GroupKey, PodGroup] = field(default_factory=dict)
    budgets: Mapping[BudgetKey, BudgetSum] = field(default_factory=dict)
    past_usage: Mapping[QueueKey, PastSum] = field(default_factory=dict)
    dry_spells: Mapping[str, DrySpell] = field(default_factory=dict)


def as_written(cache: ClusterCache) -> AsWritten:
    """Return it of what a cache knows, as of its latest `advance`."""
    groups = ((key, cache.gangs.pod_group(key)) for key in cache.gangs.native())
    return AsWritten(
        cluster_queues=cache.queues.written(),
        pod_groups={key: group for key, group in groups if group is not None},
        budgets=dict(cache.budgets.so_far()),
        past_usage=cache.usage.past.so_far(),
        dry_spells=dict(cache.clocks.stock_outs.spells),
    )


def written_record(written: AsWritten) -> WrittenRecord:
    """Return it as a file holds it."""
    return WrittenRecord(
        cluster_queues=list(written.cluster_queues.values()),
        pod_groups=list(written.pod_groups.values()),
        budgets=[
            (queue, budget, one.key, one.memory.until, list(one.memory.sums.items()))
            for (queue, budget), one in written.budgets.items()
        ],
        past_usage=list(written.past_usage.items()),
        dry_spells=dict(written.dry_spells),
    )


def from_written_record(record: WrittenRecord) -> AsWritten:
    """Return what a file holds."""
    return AsWritten(
        cluster_queues={one.queue.name: one for one in record.cluster_queues},
        pod_groups={GroupKey(one.namespace, one.name, is_native=True): one for one in record.pod_groups},
        budgets={
            (queue, budget): BudgetSum(key, Memory(until, dict(sums)))
            for queue, budget, key, until, sums in record.budgets
        },
        past_usage=dict(record.past_usage),
        dry_spells=record.dry_spells,
    )
