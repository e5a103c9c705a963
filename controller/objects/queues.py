"""Our objects as written (`controller.api`) to what the decision reads (`controller.core.queueing.queues`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controller.api.ageing import Ageing as WrittenAgeing
from controller.api.base import Resource
from controller.api.cluster_queue import ClusterQueue as WrittenClusterQueue
from controller.api.cluster_queue import ClusterQueueSpec
from controller.api.fair_sharing import FairSharing as WrittenFairSharing
from controller.api.flavor import COOL_DOWN, PROVISION_TIMEOUT, ResourceFlavor
from controller.api.limit import Limit, OverriddenLimit
from controller.api.local_queue import LocalQueue as WrittenLocalQueue
from controller.api.nodes import LabelSelector as WrittenSelector
from controller.api.preemption import Preemption as WrittenPreemption
from controller.api.queue_flavors import FlavorQuotas, ResourceQuota
from controller.api.schedule import OverriddenQuota, ScheduleWindow
from controller.api.time_zones import load_zone
from controller.api.values import is_share
from controller.core.budgets.budget import read_price
from controller.core.calendar.cron import parse_cron
from controller.core.calendar.durations import parse_duration
from controller.core.calendar.windows import Window
from controller.core.keys import HELD
from controller.core.kubernetes.amounts import parse_quantity, supply_amount, supply_amounts
from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement
from controller.core.kubernetes.taints import Toleration
from controller.core.queueing.ageing import Ageing
from controller.core.queueing.effective import Override, Variation, WrittenLimits, WrittenQuota
from controller.core.queueing.fair_sharing_policy import USUAL, FairSharing, Strategy
from controller.core.queueing.mix import Mix
from controller.core.queueing.past_usage import PastUsageRule
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import (
    CapacityMode,
    ClusterQueue,
    Flavor,
    FlavorMode,
    FlavorQuota,
    LocalQueue,
    OnReservationTimeout,
    QueueingStrategy,
    SchedulerPreemption,
    StopPolicy,
    WhenCanBorrow,
    WhenCanPreempt,
)
from controller.core.queueing.shares import Amount, parse_share
from controller.core.workloads.decisions import DrySpell
from controller.kube.clock import epoch
from controller.objects.budgets import to_budget


def to_flavor(written: ResourceFlavor) -> Flavor:
    """Return the flavor as the decision reads it."""
    spec = written.spec
    is_autoscaled = spec.capacity.mode == "Autoscaled"
    return Flavor(
        name=written.metadata.name,
        node_labels=tuple(sorted(spec.node_labels.items())),
        requirements=tuple(Requirement(r.key, Operator(r.operator), r.values) for r in spec.node_requirements),
        tolerations=tuple(
            Toleration(t.key, t.operator, t.value, t.effect, t.toleration_seconds) for t in spec.tolerations
        ),
        mode=CapacityMode(spec.capacity.mode),
        sums=supply_amounts(spec.capacity.static or spec.capacity.max or {}),
        spreads=spec.capacity.packing == "MostFree",
        is_spot=spec.capacity_type == "Spot",
        price={resource: read_price(text) for resource, text in (spec.price or {}).items()},
        provision_timeout=parse_duration(spec.capacity.provision_timeout or PROVISION_TIMEOUT) if is_autoscaled else 0,
        cool_down=parse_duration(spec.capacity.cool_down or COOL_DOWN) if is_autoscaled else 0,
    )


def to_dry_spell(status: Mapping[str, Any]) -> DrySpell | None:
    """Return what the status of a flavor says of its latest dry spell; None where it says nothing, or nonsense."""
    try:
        until = epoch(status.get("dryUntil"))
    except (ValueError, TypeError, OverflowError):
        return None
    said = (c.get("message") for c in status.get("conditions") or () if isinstance(c, dict) and c.get("type") == "Dry")
    return DrySpell(until, str(next(said, None) or "its nodes did not come")) if until else None


def to_cluster_queue(written: WrittenClusterQueue) -> ClusterQueue:
    """Return the cluster queue as the decision reads it, but for what changes by itself; a share is 0 here."""
    spec = written.spec
    return ClusterQueue(
        name=written.metadata.name,
        flavors=tuple(_flavor_quota(one) for one in spec.flavors),
        parent=spec.parent or "",
        limits={limit.name: _amount_or_none_yet(limit.name, limit.max) for limit in spec.limits},
        user_limits={
            limit.name: _amount_or_none_yet(limit.name, limit.per_user)
            for limit in spec.limits
            if limit.per_user is not None
        },
        mix=_mix(spec),
        flavor_mode=FlavorMode(spec.flavor_mode),
        pins=spec.pin == "Prefer",
        run_time=to_seconds(spec.max_run_time) or 0,
        when_can_borrow=WhenCanBorrow(spec.flavor_fungibility.when_can_borrow),
        when_can_preempt=WhenCanPreempt(spec.flavor_fungibility.when_can_preempt),
        namespaces=to_selector(spec.namespace_selector),
        strategy=QueueingStrategy(spec.queueing_strategy),
        stop=StopPolicy(spec.stop_policy),
        stop_note=_stop_note(written, spec.stop_policy),
        allowed_classes=None if spec.allowed_priority_classes is None else frozenset(spec.allowed_priority_classes),
        scheduler_preemption=SchedulerPreemption(spec.scheduler_preemption),
        ageing=_ageing(spec.ageing),
        allow_bare_pods=spec.allow_bare_pods,
        allow_job_retries=spec.allow_job_retries,
        takes_back_by="reclaimOverQuota" if spec.reclaim_over_quota else "",
        reservation_timeout=to_seconds(spec.reservation_timeout),
        on_reservation_timeout=OnReservationTimeout(spec.on_reservation_timeout),
        budgets=tuple(map(to_budget, spec.budgets)),
        preemption=_preemption(spec.preemption),
        fair_sharing=_fair_sharing(spec.fair_sharing),
    )


def _fair_sharing(written: WrittenFairSharing | None) -> FairSharing | None:
    if written is None:
        return None
    return FairSharing(
        USUAL.weight if written.weight is None else parse_quantity(written.weight),
        USUAL.strategies
        if written.preemption_strategies is None
        else tuple(map(Strategy, written.preemption_strategies)),
        _past_usage(written),
    )


def _past_usage(written: WrittenFairSharing) -> PastUsageRule | None:
    if written.usage_half_life is None:
        return None
    weights = {resource: read_price(weight) for resource, weight in (written.resource_weights or {}).items()}
    by = written.usage_by or "Namespace"
    return PastUsageRule(
        parse_duration(written.usage_half_life),
        weights,
        by_namespace=by.startswith("Namespace"),
        by_user=by.endswith("AndUser"),
    )


def _mix(spec: ClusterQueueSpec) -> Mix | None:
    if spec.on_demand_base is None and spec.spot_percent is None:
        return None
    return Mix(spec.on_demand_base or 0, 100 if spec.spot_percent is None else spec.spot_percent)


def _preemption(written: WrittenPreemption) -> Preemption:
    borrow = written.borrow_within_cohort
    return Preemption(
        Within(written.within_cluster_queue),
        Reclaim(written.reclaim_within_cohort),
        borrow.policy == "LowerPriority",
        borrow.max_priority_threshold,
        to_seconds(written.minimum_runtime) or 0,
    )


def _stop_note(written: Resource, stop: str) -> str:
    """Return who stopped the queue by hand. A note that was left on a queue that nobody stops says nothing."""
    return written.metadata.annotations.get(HELD, "") if stop != "None" else ""


def _ageing(written: WrittenAgeing | None) -> Ageing | None:
    return None if written is None else Ageing(parse_duration(written.every), written.by, written.most)


def _flavor_quota(written: FlavorQuotas) -> FlavorQuota:
    def amounts(of: Callable[[ResourceQuota], str | int | None]) -> dict[str, int]:
        given = ((one.name, of(one)) for one in written.resources)
        return {name: _amount_or_none_yet(name, value) for name, value in given if value is not None}

    return FlavorQuota(
        written.name,
        amounts(lambda one: one.nominal_quota),
        borrowing=amounts(lambda one: one.borrowing_limit),
        lending=amounts(lambda one: one.lending_limit),
        fallback_after=to_seconds(written.fallback_after) or 0,
    )


def to_seconds(duration: str | None) -> int | None:
    """Return the seconds of a duration that was written; None for one that was not."""
    return None if duration is None else parse_duration(duration)


def to_variation(written: WrittenClusterQueue) -> Variation:
    """Return what of the cluster queue changes by itself: quotas and limits that are shares, and windows."""
    spec = written.spec
    shares = (_quotas(flavor.name, flavor.resources, is_share) for flavor in spec.flavors)
    return Variation(
        shares=tuple(one for one in shares if any(one.parts)),
        shared_limits=_limits(spec.limits, is_share),
        overrides=tuple(map(_to_override, spec.schedule)),
    )


def _to_override(written: ScheduleWindow) -> Override:
    window = Window(
        name=written.name,
        start=parse_cron(written.start),
        duration=parse_duration(written.duration),
        zone=load_zone(written.time_zone),
    )
    return Override(
        window=window,
        quotas=tuple(_quotas(flavor.name, flavor.resources, _is_given) for flavor in written.flavors),
        limits=_limits(written.limits, _is_given),
        stop=None if written.stop_policy is None else StopPolicy(written.stop_policy),
        drains=written.on_close == "Drain",
    )


def _quotas(
    flavor: str, resources: Iterable[ResourceQuota | OverriddenQuota], is_meant: Callable[[str | int | None], bool]
) -> WrittenQuota:
    nominal: dict[str, Amount] = {}
    borrowing: dict[str, Amount] = {}
    lending: dict[str, Amount] = {}
    for one in resources:
        given = (one.nominal_quota, one.borrowing_limit, one.lending_limit)
        for amounts, text in zip((nominal, borrowing, lending), given, strict=True):
            if text is not None and is_meant(text):
                amounts[one.name] = _amount(one.name, text)
    return WrittenQuota(flavor, nominal, borrowing, lending)


def _limits(written: Iterable[Limit | OverriddenLimit], is_meant: Callable[[str | int | None], bool]) -> WrittenLimits:
    most: dict[str, Amount] = {}
    per_user: dict[str, Amount] = {}
    for one in written:
        for amounts, text in ((most, one.max), (per_user, one.per_user)):
            if text is not None and is_meant(text):
                amounts[one.name] = _amount(one.name, text)
    return WrittenLimits(most, per_user)


def _is_given(text: str | int | None) -> bool:
    return text is not None


def _amount(resource: str, text: str | int) -> Amount:
    return parse_share(str(text)) if is_share(text) else supply_amount(resource, text)


def _amount_or_none_yet(resource: str, text: str | int) -> int:
    return 0 if is_share(text) else supply_amount(resource, text)


def to_local_queue(written: WrittenLocalQueue) -> LocalQueue:
    """Return the local queue as the decision reads it."""
    return LocalQueue(
        namespace=written.metadata.namespace,
        name=written.metadata.name,
        cluster_queue=written.spec.cluster_queue,
        stop=StopPolicy(written.spec.stop_policy),
        stop_note=_stop_note(written, written.spec.stop_policy),
        weight=parse_quantity(written.spec.fair_sharing.weight),
    )


def to_selector(written: WrittenSelector | None) -> LabelSelector | None:
    """Return the selector; None stays None, which selects nothing."""
    if written is None:
        return None
    equal = (Requirement(key, Operator.IN, (value,)) for key, value in sorted(written.match_labels.items()))
    listed = (Requirement(r.key, Operator(r.operator), r.values) for r in written.match_expressions)
    return LabelSelector((*equal, *listed))
