"""What a cluster queue comes to at a moment: shares of live capacity in amounts, and what open windows override.

The decision sees the result alone. When it may change next: `windows.Outlook.until` and `Capacity.until`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from controller.core.calendar.windows import FOR_EVER, Window
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota, StopPolicy
from controller.core.queueing.shares import Amount, Share, amounts_of

NOT_READY_SECONDS: Final = 300
"""How long a node that is no longer Ready still counts: quotas must not shake with every restart of a kubelet."""


@dataclass(frozen=True, slots=True)
class WrittenQuota:
    """Quotas and limits of one flavor as written, of which some may be shares. Only what is listed is overridden."""

    flavor: str
    nominal: Mapping[str, Amount] = field(default_factory=dict)
    borrowing: Mapping[str, Amount] = field(default_factory=dict)
    lending: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Mapping[str, Amount], ...]:
        """All of it, by resource."""
        return self.nominal, self.borrowing, self.lending


@dataclass(frozen=True, slots=True)
class WrittenLimits:
    """Limits over all flavors as written, for all users together and for each. Only what is listed is overridden."""

    most: Mapping[str, Amount] = field(default_factory=dict)
    per_user: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def has_shares(self) -> bool:
        """Whether the capacity of flavors counts."""
        return any(isinstance(one, Share) for part in (self.most, self.per_user) for one in part.values())


_NO_LIMITS: Final = WrittenLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What a window changes while it is open. `stop` None: nothing about admission.

    `drains`: as long as it is closed, what is too much then goes.
    """

    window: Window
    quotas: tuple[WrittenQuota, ...] = ()
    limits: WrittenLimits = _NO_LIMITS
    stop: StopPolicy | None = None
    drains: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What of a cluster queue changes by itself. What is a share stands in the queue as 0."""

    shares: tuple[WrittenQuota, ...] = ()
    shared_limits: WrittenLimits = _NO_LIMITS
    overrides: tuple[Override, ...] = ()

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows of the schedule, in the order of the list."""
        return tuple(override.window for override in self.overrides)

    @property
    def limits(self) -> tuple[WrittenLimits, ...]:
        """Limits that are shares, and those of windows."""
        return (self.shared_limits, *(override.limits for override in self.overrides))

    @property
    def limits_by_share(self) -> bool:
        """Whether a limit over all flavors is a share of what they have."""
        return any(written.has_shares for written in self.limits)

    def shared_flavors(self) -> set[str]:
        """Names of the flavors whose capacity counts for quotas."""
        written = (*self.shares, *(quota for override in self.overrides for quota in override.quotas))
        return {q.flavor for q in written if any(isinstance(one, Share) for part in q.parts for one in part.values())}


FIXED: Final = Variation()


@dataclass(frozen=True, slots=True)
class WrittenQueue:
    """A ClusterQueue as it is written, and what of it changes by itself."""

    queue: ClusterQueue
    variation: Variation = FIXED


def tells_users(queue: ClusterQueue | None, variation: Variation) -> bool:
    """Say whether it matters to a queue whose a pod is, if only while some window is open."""
    return queue is not None and (queue.tells_users or any(written.per_user for written in variation.limits))


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a flavor has of each resource, and until when that holds if nothing else happens."""

    amounts: Mapping[str, int] = field(default_factory=dict)
    until: int = FOR_EVER


def live_capacity(flavor: Flavor | None, members: Iterable[Node], now: int) -> Capacity:
    """Return what shares of a flavor are taken of: its nodes, cordoned or not, or its sums; None has nothing."""
    if flavor is None:
        return Capacity()
    if flavor.is_summed:
        return Capacity(flavor.sums)
    total: dict[str, int] = {}
    until = FOR_EVER
    for node in members:
        if not node.is_ready:
            end = node.not_ready_since + NOT_READY_SECONDS
            if end <= now:
                continue
            until = min(until, end)
        for resource, amount in node.known.items():
            total[resource] = total.get(resource, 0) + amount
    return Capacity(total, until)


def in_effect(
    queue: ClusterQueue,
    variation: Variation,
    *,
    opened: Iterable[str],
    capacities: Mapping[str, Capacity],
    below: Iterable[str] = (),
) -> ClusterQueue:
    """Return the queue in plain amounts. Of open windows the last in the list wins, field by field.

    `below` are the flavors that the queue and those below it list: shares of limits are of what these have together.
    """
    names = frozenset(opened)
    open_ones = [override for override in variation.overrides if override.window.name in names]
    stops = [(override.stop, override.window.name) for override in open_ones if override.stop is not None]
    stop, note = (stops[-1][0], f"its open window {stops[-1][1]}") if stops else (queue.stop, queue.stop_note)
    draining = [one for one in variation.overrides if one.drains and one.window.name not in names]
    closed = next((one.window.name for one in draining if one.stop is StopPolicy.NONE), "")
    # a Hold of its own, and not by hand or by another window, which ask for no drain
    if closed and stop is StopPolicy.HOLD and not stops and not queue.stop_note:
        stop, note = StopPolicy.HOLD_AND_DRAIN, f"its window {closed} is closed, with onClose Drain"
    layers = [variation.shares, *(override.quotas for override in open_ones)]
    changing = {quota.flavor: frozenset(_changing(variation, quota.flavor)) for quota in queue.flavors}
    limits = [variation.shared_limits, *(override.limits for override in open_ones)]
    whole = _together(capacities, below) if variation.limits_by_share else {}
    return replace(
        queue,
        limits=_limited(queue.limits, (written.most for written in limits), whole),
        user_limits=_limited(queue.user_limits, (written.per_user for written in limits), whole),
        changing_limits=frozenset(name for written in variation.limits for name in written.most),
        changing_user_limits=frozenset(name for written in variation.limits for name in written.per_user),
        stop=stop,
        stop_note=note,
        takes_back_by=queue.takes_back_by or _closed_text(draining),
        flavors=tuple(
            replace(_overlaid(quota, layers, capacities), changing=changing[quota.flavor]) for quota in queue.flavors
        ),
    )


def _closed_text(draining: Sequence[Override]) -> str:
    """Say which closed windows, of those with onClose Drain, take back what is too much; empty: none does."""
    names = [one.window.name for one in draining if one.quotas or one.limits != _NO_LIMITS]
    return f"onClose Drain of its window {', '.join(names)}" if names else ""


def flavors_below(queues: Mapping[str, ClusterQueue]) -> dict[str, set[str]]:
    """Return by queue the flavors that it and those below it list, as far as their parents exist."""
    listed: dict[str, set[str]] = {name: set() for name in queues}
    for queue in queues.values():
        own = {quota.flavor for quota in queue.flavors}
        passed: set[str] = set()
        at = queue.name
        while at in listed and at not in passed:  # a circle of parents ends too
            listed[at] |= own
            passed.add(at)
            at = queues[at].parent
    return listed


def stopped_by(variation: Variation, opened: Iterable[str]) -> str:
    """Return the name of the open window that says whether the queue admits; empty: none does."""
    names = frozenset(opened)
    deciding = [one.window.name for one in variation.overrides if one.window.name in names and one.stop is not None]
    return deciding[-1] if deciding else ""


def _overlaid(
    quota: FlavorQuota, layers: Iterable[tuple[WrittenQuota, ...]], capacities: Mapping[str, Capacity]
) -> FlavorQuota:
    capacity = capacities.get(quota.flavor, Capacity()).amounts
    nominal, borrowing, lending = dict(quota.nominal), dict(quota.borrowing), dict(quota.lending)
    for layer in layers:
        for written in layer:
            if written.flavor == quota.flavor:
                nominal.update(amounts_of(written.nominal, capacity))
                borrowing.update(amounts_of(written.borrowing, capacity))
                lending.update(amounts_of(written.lending, capacity))
    return replace(quota, nominal=nominal, borrowing=borrowing, lending=lending)


def _limited(
    most: Mapping[str, int], layers: Iterable[Mapping[str, Amount]], whole: Mapping[str, int]
) -> dict[str, int]:
    limits = dict(most)
    for layer in layers:
        limits.update(amounts_of(layer, whole))
    return limits


def _together(capacities: Mapping[str, Capacity], flavors: Iterable[str]) -> dict[str, int]:
    total: dict[str, int] = {}
    for flavor in flavors:
        for resource, amount in capacities.get(flavor, Capacity()).amounts.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _changing(variation: Variation, flavor: str) -> Iterator[str]:
    for written in (variation.shares, *(override.quotas for override in variation.overrides)):
        for quota in written:
            if quota.flavor == flavor:
                for part in quota.parts:
                    yield from part
