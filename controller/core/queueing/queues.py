"""Flavors, cluster queues and local queues as the decision sees them. Objects as written are in `controller.api`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from controller.core.budgets.budget import Budget
from controller.core.kubernetes.labels import LabelSelector, Requirement
from controller.core.kubernetes.taints import Toleration
from controller.core.queueing.ageing import Ageing
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.mix import Mix
from controller.core.queueing.preemption_policy import NO_PREEMPTION, Preemption


class CapacityMode(StrEnum):
    """How a flavor's room is known."""

    NODES = "Nodes"
    AUTOSCALED = "Autoscaled"
    """Nodes will come: by sums up to a maximum, until they do not come."""
    STATIC = "Static"


class QueueingStrategy(StrEnum):
    """What a workload that cannot be admitted does to those behind it."""

    BEST_EFFORT_FIFO = "BestEffortFIFO"
    STRICT_FIFO = "StrictFIFO"
    BACKFILL = "Backfill"
    """It lets those pass that do not delay it (`backfill.easy`)."""


class WhenCanBorrow(StrEnum):
    """What a workload does that could have a flavor by borrowing."""

    MAY_STOP_SEARCH = "MayStopSearch"
    """It borrows: the order of flavors comes first."""
    TRY_NEXT_FLAVOR = "TryNextFlavor"
    """It takes a later flavor rather, where it borrows less."""


class WhenCanPreempt(StrEnum):
    """What a workload does that could have a flavor if others went."""

    TRY_NEXT_FLAVOR = "TryNextFlavor"
    """It takes a later flavor rather, where that has quota and room; nobody goes then."""
    MAY_STOP_SEARCH = "MayStopSearch"
    """They go: the order of flavors comes first."""


class FlavorMode(StrEnum):
    """How a workload comes to one of the queue's flavors."""

    ORDERED = "Ordered"
    """The first with quota and room."""
    ANY = "Any"
    """All with quota and room are open to it, and kube-scheduler chooses."""


class StopPolicy(StrEnum):
    """Whether a queue admits, and what becomes of what it has admitted."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"
    """As Hold, and admitted pods that may be returned to their owners are."""


class OnReservationTimeout(StrEnum):
    """What becomes of a pod that was admitted and is on no node for too long."""

    KEEP = "Keep"
    EVICT = "Evict"
    """It is returned to its owner, where that costs nothing."""


class SchedulerPreemption(StrEnum):
    """What becomes of its pods for which kube-scheduler may preempt others (`queueing.scheduler_preemption`)."""

    WARN = "Warn"
    """Who creates them is told what to do instead."""
    FORBID = "Forbid"
    """None is created, or admitted."""
    ALLOW = "Allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """A named part of the cluster's nodes. `node_labels` and `requirements` are one conjunction.

    `price`: of an hour of each resource's `budgets.budget.price_unit`, in billionths. `sums` are what there is, or may
    be, of each resource where room is known by sums. `spreads`: pods get the node with most free, not the fullest.
    `provision_timeout` and `cool_down` are of mode Autoscaled, in seconds: how long pods wait for a node to come, and
    how long none are then sent.
    """

    name: str
    node_labels: tuple[tuple[str, str], ...] = ()
    requirements: tuple[Requirement, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    mode: CapacityMode = CapacityMode.NODES
    sums: Mapping[str, int] = field(default_factory=dict)
    price: Mapping[str, int] = field(default_factory=dict)
    is_spot: bool = False
    spreads: bool = False
    provision_timeout: int = 0
    cool_down: int = 0

    @property
    def is_summed(self) -> bool:
        """Whether room is known by sums, not node by node."""
        return self.mode is not CapacityMode.NODES

    @property
    def says(self) -> int:
        """How many requirements it has on its nodes."""
        return len(self.node_labels) + len(self.requirements)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Say whether a node with these labels is of this flavor, overlaps aside."""
        return all(labels.get(key) == value for key, value in self.node_labels) and all(
            requirement.matches(labels) for requirement in self.requirements
        )


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """What a cluster queue may use of one flavor: amount by resource. A resource not listed is not given at all.

    `borrowing` is the most beyond nominal that it may take from the tree, `lending` the most of its own that it gives
    to the tree; a resource that is not in them has no such limit. `changing` are the resources whose amount may be
    another one later without anybody changing the queue. `fallback_after`: seconds that a workload waits before the
    flavors behind this one are tried too.
    """

    flavor: str
    nominal: Mapping[str, int]
    borrowing: Mapping[str, int] = field(default_factory=dict)
    lending: Mapping[str, int] = field(default_factory=dict)
    changing: frozenset[str] = frozenset()
    fallback_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue:
    """A quota and who may use it. `namespaces` None selects no namespace; `flavors` are in order of preference.

    `parent` empty: the root of its tree. `limits` are the most of a resource whichever flavor it is of, for the queue
    and all those below it, `user_limits` those of each user; `changing_limits` and `changing_user_limits` are the
    resources of which these may be others later without anybody changing the queue. `budgets` are of all of them, too.
    `allowed_classes` are the WorkloadPriorityClasses that pods there and below may name; None: any.
    `scheduler_preemption`: what becomes of pods for which kube-scheduler may preempt; a queue above may forbid it too.
    `stop_note` says who wrote the stopPolicy by hand, and why.
    `allow_bare_pods` and `allow_job_retries`: its pods may be evicted though nobody makes them anew, or though their
    Job counts them as failed while it has retries left. `takes_back_by` says by which of its fields what it uses beyond
    its quotas and limits is evicted; empty: it stays. `reservation_timeout`: seconds that a pod may be on no node
    after its admission; None: for ever. `pins`: released pods prefer the node that was planned for them.
    `run_time`: the seconds for which a pod or Job of it may run; 0: for ever. `fair_sharing`
    of a root: the tree shares fairly.
    """

    name: str
    flavors: tuple[FlavorQuota, ...] = ()
    parent: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)
    user_limits: Mapping[str, int] = field(default_factory=dict)
    changing_limits: frozenset[str] = frozenset()
    changing_user_limits: frozenset[str] = frozenset()
    when_can_borrow: WhenCanBorrow = WhenCanBorrow.MAY_STOP_SEARCH
    when_can_preempt: WhenCanPreempt = WhenCanPreempt.TRY_NEXT_FLAVOR
    namespaces: LabelSelector | None = None
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    stop: StopPolicy = StopPolicy.NONE
    stop_note: str = ""
    allowed_classes: frozenset[str] | None = None
    scheduler_preemption: SchedulerPreemption = SchedulerPreemption.WARN
    ageing: Ageing | None = None
    allow_bare_pods: bool = False
    allow_job_retries: bool = False
    takes_back_by: str = ""
    reservation_timeout: int | None = None
    on_reservation_timeout: OnReservationTimeout = OnReservationTimeout.KEEP
    budgets: tuple[Budget, ...] = ()
    preemption: Preemption = NO_PREEMPTION
    fair_sharing: FairSharing | None = None
    mix: Mix | None = None
    flavor_mode: FlavorMode = FlavorMode.ORDERED
    pins: bool = True
    run_time: int = 0

    @property
    def tells_users(self) -> bool:
        """Whether it matters whose a pod is."""
        past = None if self.fair_sharing is None else self.fair_sharing.past_usage
        return bool(self.user_limits) or (past is not None and past.by_user)

    @property
    def takes_first_flavor(self) -> bool:
        """Whether a pod gets the first flavor with quota and room, whatever others of the queue have got."""
        is_ordered = self.flavor_mode is FlavorMode.ORDERED and self.mix is None
        return is_ordered and self.when_can_borrow is WhenCanBorrow.MAY_STOP_SEARCH and not self.preempts_first

    @property
    def preempts_first(self) -> bool:
        """Whether others go for a workload in an earlier flavor though a later one has quota and room for it."""
        return self.when_can_preempt is WhenCanPreempt.MAY_STOP_SEARCH and self.preemption.is_any


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue:
    """A namespace's door to a cluster queue; `weight` divides its past usage."""

    namespace: str
    name: str
    cluster_queue: str
    stop: StopPolicy = StopPolicy.NONE
    stop_note: str = ""
    weight: Fraction = Fraction(1)
