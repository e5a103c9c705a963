"""What a decision may say about a workload or a class of workloads. Frozen values; the executor acts on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from controller.core.reasons import HOPELESS, Reason
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Domain
from controller.core.workloads.workload import Workload, WorkloadClass

FlavorNode = tuple[str, str | None]
"""A flavor, and a node of it; None: its sums."""


@dataclass(frozen=True, slots=True)
class Booking:
    """What is kept for the first blocked workload, `uid`, of a Backfill queue: it fits from `at` on, epoch seconds.

    `at` infinite: when others end whose runtime nobody knows. `places`: where.
    """

    queue: str
    uid: str
    at: float
    places: frozenset[FlavorNode] = frozenset()


@dataclass(frozen=True, slots=True)
class Blocker:
    """Why one flavor did not take the workload. `need` and `free` are amounts of `resource`, in its unit.

    `detail` is a clause for what numbers do not say; with `resource` None it is the whole finding, and `now` the same
    with what is so at the moment, where it says more. `at` is the cluster
    queue whose quota or limit is too narrow. `flavor` empty: a limit on all flavors, of `user` where it is a user's.
    `booking`: the reservation beside which there is too little. `kept`:
    how much is kept for members that gangs have lost, and until when, epoch seconds.
    """

    flavor: str
    reason: Reason
    resource: str | None = None
    need: int = 0
    free: int = 0
    detail: str = ""
    at: str = ""
    user: str = ""
    booking: Booking | None = None
    kept: tuple[int, float] | None = None
    now: str = ""


@dataclass(frozen=True, slots=True)
class Later:
    """A flavor that is not tried before the workload has waited `after` seconds."""

    flavor: str
    after: int


@dataclass(frozen=True, slots=True)
class Wait:
    """A class of workloads stays queued: the reason, and what each flavor said (or `text` where none was asked).

    `later` is the first flavor that was not asked yet. `booking` is the reservation of the first of the class.
    `is_put_off`: whom to preempt is not asked before fewer evictions are under way. Where that is why it waits,
    `preempting` says of each workload that others go for how many, and `others` why the rest of the class waits.
    """

    reason: Reason
    text: str = ""
    blockers: tuple[Blocker, ...] = ()
    later: Later | None = None
    booking: Booking | None = None
    is_put_off: bool = False
    preempting: Mapping[str, str] = field(default_factory=dict, hash=False)
    others: Wait | None = None

    def of(self, uid: str) -> Wait:
        """Return why this workload of the class waits; `Pending`: nothing was said of it yet."""
        if self.reason is not Reason.PREEMPTING:
            return self
        if uid in self.preempting:
            return Wait(Reason.PREEMPTING, self.preempting[uid])
        return self.others or NOT_YET

    @property
    def any_booking(self) -> Booking | None:
        """The reservation of any of the class: of the first, or where others go for that one, of the next."""
        return self.booking or (None if self.others is None else self.others.booking)

    @property
    def contested(self) -> set[str]:
        """The flavors in which others are in the way; empty: where a limit over all is, in all of them."""
        return {one.flavor for one in self.blockers if one.reason not in HOPELESS}

    def tells_more_than(self, former: Wait) -> bool:
        """Say whether anybody of the class waits for another reason, or for the same in other words."""
        told = (self.reason, self.text, self.preempting), (former.reason, former.text, former.preempting)
        if told[0] != told[1] or (self.others is None) != (former.others is None):
            return True
        return self.others is not None and former.others is not None and self.others.tells_more_than(former.others)


NOT_YET: Final = Wait(Reason.PENDING, "not considered yet")


@dataclass(frozen=True, slots=True)
class Admit:
    """Release this pod onto this flavor; `node` is where room was found (None: a sum, not a node).

    `flavors` are those that are open to it, in order, where there are several; then `flavor` is the one that pays.
    `domains` are where its gang, and its slice, stay together. `is_pinned`: it prefers the node. `preemptions` is how
    many in a row led to its place (`preemption.rounds`).

    The pods of a gang stand one after the other in a plan, all or none of them. A Job that is held as a whole has one
    admission: `node` is None, and `nodes` has where room was found, with how many pods of it there.
    """

    uid: str
    workload: Workload
    cluster_queue: str
    flavor: str
    node: str | None
    flavors: tuple[str, ...] = ()
    domains: tuple[Domain, ...] = ()
    is_pinned: bool = True
    preemptions: int = 0
    nodes: tuple[tuple[str | None, int], ...] = ()

    @property
    def also(self) -> tuple[str, ...]:
        """The flavors that hold quota for it beside the one that pays."""
        return tuple(one for one in self.flavors if one != self.flavor)

    @property
    def count(self) -> int:
        """How many pods it is for: of a Job that can do with fewer than it wants maybe not all."""
        return sum(count for _, count in self.nodes) or 1

    @property
    def places(self) -> list[FlavorNode]:
        """Where it takes quota and room, pod by pod."""
        nodes = [node for node, count in self.nodes for _ in range(count)] or [self.node]
        return [(flavor, node) for flavor in (self.flavor, *self.also) for node in nodes]

    @property
    def onto(self) -> str:
        """What people read: `flavor spot`, `one of the flavors spot, on-demand`."""
        return onto(self.flavor, self.flavors)


def onto(flavor: str | None, flavors: Sequence[str]) -> str:
    """Write which flavor a pod was admitted to, or which are open to it."""
    return f"one of the flavors {', '.join(flavors)}" if flavors else f"flavor {flavor}"


class EvictionCause(StrEnum):
    """Why we evict a pod, the same word in its condition, Events, metrics and logs."""

    DRAINED = "Drained"
    """Its queue, or one above it, has stopPolicy HoldAndDrain."""
    PREEMPTED = "Preempted"
    """A workload that may preempt it finds no quota or room otherwise."""
    RESERVATION_TIMEOUT = "ReservationTimeout"
    """It was on no node for the reservationTimeout of its queue, which has onReservationTimeout Evict."""
    FLAVOR_DRY = "FlavorDry"
    """No node came for it, nor for others, within the provisionTimeout of its flavor."""
    OVER_QUOTA = "OverQuota"
    """Its queue, or one above it, uses more than it may, and takes that back."""


@dataclass(frozen=True, slots=True)
class Evict:
    """Return this pod to its owner, which `evictions.returns` allows; `text` says on whose account, and at what cost.

    `together`: the same on those of one gang that go all or not at all; empty: it goes by itself. `beneficiary`: the
    ClusterQueue of the workload that it goes for; empty: it goes for none.
    """

    pod: Pod
    cause: EvictionCause
    text: str
    together: str = ""
    beneficiary: str = ""


@dataclass(frozen=True, slots=True)
class DrySpell:
    """A flavor's nodes did not come: nothing is sent there until `until`, epoch seconds. `text` says what happened."""

    until: float
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one decision says. `waits` holds every class that was looked at and has workloads left waiting.

    `is_complete` is False when the limit on admissions ended the decision early, or a preemptor that came in elsewhere
    than room was held for it: decide again. `preemptors` are the workloads that wait for pods to go, those first that
    began first; each with how many preemptions in a row have led to its place (`preemption.rounds`). 0: nobody goes for
    it, it waits for what those leave who go for others. `held` has where room is kept for the pods of each: how many in
    a flavor on a node, or in its sums.
    """

    admits: tuple[Admit, ...]
    waits: Mapping[WorkloadClass, Wait]
    is_complete: bool
    evicts: tuple[Evict, ...] = ()
    preemptors: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, Counter[FlavorNode]] = field(default_factory=dict)
