"""The world as one decision sees it: a view of what the cache holds, valid until the cache changes next.

Nothing is copied to make one; `decide` keeps what it spends in a ledger of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from controller.core.capacity.node_index import NodeIndex
from controller.core.capacity.room import Room
from controller.core.kubernetes.owners import Job
from controller.core.queueing.past_usage import PastUsage
from controller.core.queueing.queues import ClusterQueue, Flavor, LocalQueue
from controller.core.quota.fair_sharing import KnownShares
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.quota.used_up import NOTHING_USED_UP, UsedUpBudgets
from controller.core.quota.user_limits import UserKey
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import DrySpell, Place
from controller.core.workloads.groups import GroupKey
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass
from controller.core.world.candidates import KnownCandidates
from controller.core.world.forecast import Forecast
from controller.core.world.kept_places import KeptPlaces
from controller.core.world.leaving import NOBODY, Leaving
from controller.core.world.offer import KnownOffers


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What `decide` reads.

    `now` is in seconds since 1970. `usage` and `flavor_usage` are amounts charged by admitted workloads, the former at
    every queue of the tree as `quota.tree_usage` keeps them; `node_used` is what every pod bound to or reserved on a
    node takes, and `room` what that leaves, sorted (None: the decision sorts it). `preemptors` are those of the last
    plan, `held` where it keeps room for them. `pods` and `jobs` are by uid; `charges` are what pods are charged with;
    `admitted` has the uids of the pods that each cluster queue is charged with, `bound` of those on each node.
    `overdue` are those that are on no node for too long; `dry` are flavors whose nodes do not come, `unprovided` by
    flavor the pods that wait for some. `leaving` are those that go, `candidates`, `offers` and `shares` what earlier
    decisions found of who may go. `rejected` are queued pods whose release was refused. `priority_classes` has the
    values of the WorkloadPriorityClasses. `loose_groups` are the PodGroups each of whose pods stands alone.
    `past_usage` orders the LocalQueues of a cluster queue, where its tree says so. `forecast` is what is expected to
    end when, None where no queue backfills. `asked` are classes of which it is told why they wait, whether they may fit
    or not; None: all. `kept` are the places of members that gangs have lost a moment ago.
    """

    cluster_queues: Mapping[str, ClusterQueue]
    tree: QuotaTree
    local_queues: Mapping[QueueKey, LocalQueue]
    flavors: Mapping[str, Flavor]
    namespaces: Mapping[str, Mapping[str, str]]
    nodes: NodeIndex
    runs: Mapping[WorkloadClass, Sequence[Workload]]
    usage: TreeUsage
    flavor_usage: Mapping[tuple[str, str], int] = field(default_factory=dict)
    node_used: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    room: Room | None = None
    faulty_queues: Mapping[str, str] = field(default_factory=dict)
    now: float = 0.0
    preemptors: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, Counter[Place]] = field(default_factory=dict)
    budgets: UsedUpBudgets = NOTHING_USED_UP
    user_usage: Mapping[UserKey, int] = field(default_factory=dict)
    pods: Mapping[str, Pod] = field(default_factory=dict)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    charges: Mapping[str, Charge] = field(default_factory=dict)
    admitted: Mapping[str, Collection[str]] = field(default_factory=dict)
    bound: Mapping[str, Collection[str]] = field(default_factory=dict)
    overdue: Collection[str] = frozenset()
    dry: Mapping[str, DrySpell] = field(default_factory=dict)
    unprovided: Mapping[str, Collection[str]] = field(default_factory=dict)
    rejected: Collection[str] = frozenset()
    leaving: Leaving = NOBODY
    candidates: KnownCandidates = field(default_factory=KnownCandidates)
    offers: KnownOffers = field(default_factory=KnownOffers)
    shares: KnownShares = field(default_factory=KnownShares)
    priority_classes: Mapping[str, int] = field(default_factory=dict)
    loose_groups: Collection[GroupKey] = frozenset()
    past_usage: Mapping[QueueKey, PastUsage] = field(default_factory=dict)
    forecast: Forecast | None = None
    asked: Collection[WorkloadClass] | None = None
    kept: Sequence[KeptPlaces] = ()
