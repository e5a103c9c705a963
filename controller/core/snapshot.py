"""The world as one decision sees it: views of what the cache holds, in groups, valid until the cache changes next.

Nothing is copied to make one. A decision writes to none of it but the memo; what it spends it keeps in a ledger of its
own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from controller.core.candidates.candidate import KnownCandidates
from controller.core.candidates.reclaimable import KnownReclaimable
from controller.core.capacity.node_index import NodeIndex
from controller.core.capacity.room import Room
from controller.core.evictions.leaving import NOBODY, Leaving
from controller.core.evictions.returns import Returns
from controller.core.forecasts.forecast import Forecast
from controller.core.kubernetes.owners import Job
from controller.core.queueing.past_usage import PastUsage
from controller.core.queueing.queues import ClusterQueue, Flavor, LocalQueue
from controller.core.quota.fair_sharing import KnownShares
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.quota.used_up import NOTHING_USED_UP, UsedUpBudgets
from controller.core.quota.user_limits import UserKey
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import DrySpell, FlavorNode
from controller.core.workloads.groups import GroupKey
from controller.core.workloads.kept_places import KeptPlaces
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """What people have set up. `tree` has the cluster queues and their quotas as they are in effect now.

    `faulty` says by cluster queue what is wrong with it; `namespaces` has labels, `priority_classes` the values of the
    WorkloadPriorityClasses, and `class_run_times` the seconds for which their workloads may run, where they say so.
    """

    cluster_queues: Mapping[str, ClusterQueue]
    tree: QuotaTree
    local_queues: Mapping[QueueKey, LocalQueue]
    flavors: Mapping[str, Flavor]
    namespaces: Mapping[str, Mapping[str, str]]
    faulty: Mapping[str, str] = field(default_factory=dict)
    priority_classes: Mapping[str, int] = field(default_factory=dict)
    class_run_times: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageView:
    """What admitted workloads are charged with: amounts in the units of their resources.

    `in_tree` has them at every queue of the tree (`quota.tree_usage`), `by_flavor` by flavor and resource, `by_user` as
    limits of users count them. `charges` are by uid of the pod, `charged` the uids by cluster queue. `budgets` are
    those used up. `past` orders the LocalQueues of a cluster queue, where its tree says so.
    """

    in_tree: TreeUsage
    by_flavor: Mapping[tuple[str, str], int] = field(default_factory=dict)
    by_user: Mapping[UserKey, int] = field(default_factory=dict)
    charges: Mapping[str, Charge] = field(default_factory=dict)
    charged: Mapping[str, Collection[str]] = field(default_factory=dict)
    budgets: UsedUpBudgets = NOTHING_USED_UP
    past: Mapping[QueueKey, PastUsage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """The nodes, and what every pod bound to or reserved on one takes of it (`used`, by node and resource).

    `room` is what that leaves, sorted; None: the decision sorts it. `bound` are the uids of the pods on each node.
    `dry` are flavors whose nodes do not come.
    """

    index: NodeIndex
    used: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    room: Room | None = None
    bound: Mapping[str, Collection[str]] = field(default_factory=dict)
    dry: Mapping[str, DrySpell] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingView:
    """The workloads that wait, `runs` of each class in its order.

    `rejected` are the uids of pods whose release was refused, `loose_groups` the PodGroups each of whose pods stands
    alone. `preemptors` are those of the last plan, `held` where it keeps room for them; `kept` are the places of
    members that gangs have lost a moment ago. `asked` are classes of which it is told why they wait, whether they may
    fit or not; None: all. `preempts_in` are the roots of the trees in which others may be preempted now; None: all.
    """

    runs: Mapping[WorkloadClass, Sequence[Workload]]
    rejected: Collection[str] = frozenset()
    loose_groups: Collection[GroupKey] = frozenset()
    preemptors: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, Counter[FlavorNode]] = field(default_factory=dict)
    kept: Sequence[KeptPlaces] = ()
    asked: Collection[WorkloadClass] | None = None
    preempts_in: Collection[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningView:
    """The admitted pods and their Jobs, by uid.

    `overdue` are the uids of those on no node for too long, `unprovided` by flavor of those that wait for a node to
    come. `leaving` are those that go. `forecast` is what is expected to end when, None where no queue backfills.
    """

    pods: Mapping[str, Pod] = field(default_factory=dict)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    overdue: Collection[str] = frozenset()
    unprovided: Mapping[str, Collection[str]] = field(default_factory=dict)
    leaving: Leaving = NOBODY
    forecast: Forecast | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """What earlier decisions found and what holds still: it saves time, and without it the plan is the same.

    Mutable: kept by the cache, filled by `decide`.
    """

    candidates: KnownCandidates = field(default_factory=KnownCandidates)
    reclaimable: KnownReclaimable = field(default_factory=KnownReclaimable)
    shares: KnownShares = field(default_factory=KnownShares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What `decide` reads. `now` is in seconds since 1970."""

    queues: QueueView
    usage: UsageView
    nodes: NodeView
    waiting: WaitingView
    running: RunningView = field(default_factory=RunningView)
    memo: Memo = field(default_factory=Memo)
    now: float = 0.0

    def returns(self) -> Returns:
        """Begin to judge which of its pods may be returned to their owners."""
        return Returns(self.queues.cluster_queues, self.usage.charged, self.running)
