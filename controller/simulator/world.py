"""What a simulation begins with: what people have set up, as they wrote it, and the pods that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.cache.budgets.budget_book import BudgetKey
from controller.cache.usage.usage_sums import Remembered as PastSum
from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.owners import Job
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.core.queueing.effective import WrittenQueue
from controller.core.queueing.queues import Flavor, LocalQueue
from controller.core.workloads.decisions import DrySpell
from controller.core.workloads.groups import GroupKey, PodGroup
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import QueueKey
from controller.objects.budgets import Remembered as BudgetSum
from controller.replay.snapshot_file import Saved


@dataclass(frozen=True, slots=True)
class PastRun:
    """A pod that succeeded: its LocalQueue, what it asked for, when it ended (epoch seconds), and its seconds.

    `stated`: the seconds that it said it would run at most; 0: it did not say.
    """

    queue: QueueKey
    requests: Requests
    ended: int
    uid: str
    seconds: int
    stated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Objects by name, as the apiserver has them at `now`, epoch seconds; pods and Jobs are by uid.

    `faulty` says by ClusterQueue what is wrong with it. `budgets` and `past_usage` are what is counted on from. `runs`
    are pods that succeeded, from which the runtimes of others are expected; those that are still among `pods` are not
    repeated. `backfill_depth` and `resources` are options of the controller.
    """

    now: float
    queues: Mapping[str, WrittenQueue] = field(default_factory=dict)
    faulty: Mapping[str, str] = field(default_factory=dict)
    local_queues: Mapping[QueueKey, LocalQueue] = field(default_factory=dict)
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    priority_classes: Mapping[str, int] = field(default_factory=dict)
    class_run_times: Mapping[str, int] = field(default_factory=dict)
    pod_groups: Mapping[GroupKey, PodGroup] = field(default_factory=dict)
    budgets: Mapping[BudgetKey, BudgetSum] = field(default_factory=dict)
    past_usage: Mapping[QueueKey, PastSum] = field(default_factory=dict)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    pods: Mapping[str, Pod] = field(default_factory=dict)
    dry_spells: Mapping[str, DrySpell] = field(default_factory=dict)
    runs: tuple[PastRun, ...] = ()
    backfill_depth: int = USUAL_DEPTH
    resources: QuotaResources = AS_REQUESTED


def world_of(saved: Saved) -> World:
    """Return what a file holds as a world. Without what is written, queues stay as they were in effect."""
    snapshot, written = saved.snapshot, saved.written
    in_effect = {name: WrittenQueue(queue) for name, queue in snapshot.queues.cluster_queues.items()}
    forecast = snapshot.running.forecast
    pods = snapshot.running.pods
    return World(
        now=snapshot.now,
        queues=in_effect if written is None else written.cluster_queues,
        faulty=snapshot.queues.faulty,
        local_queues=snapshot.queues.local_queues,
        flavors=snapshot.queues.flavors,
        namespaces=snapshot.queues.namespaces,
        nodes=snapshot.nodes.index.nodes,
        priority_classes=snapshot.queues.priority_classes,
        class_run_times=snapshot.queues.class_run_times,
        pod_groups={} if written is None else written.pod_groups,
        budgets={} if written is None else written.budgets,
        past_usage={} if written is None else written.past_usage,
        jobs=snapshot.running.jobs,
        pods=pods,
        dry_spells=snapshot.nodes.dry if written is None else written.dry_spells,
        runs=()
        if forecast is None
        else tuple(PastRun(queue, requests, *run) for queue, requests, run in forecast.history if run[1] not in pods),
        backfill_depth=USUAL_DEPTH if forecast is None else forecast.depth,
        resources=snapshot.queues.tree.resources,
    )
