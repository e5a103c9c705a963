"""Budgets in tests: periods by name, a book that is stepped by hand, pods that ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.budgets.budget import AtEnd, Budget, hours_of
from controller.core.budgets.periods import CalendarPeriod, CalendarUnit, Period, SlidingPeriod
from controller.core.workloads.pods import Pod
from tests.support.builders import a_cache, a_cluster_queue, a_flavor, a_released_pod, a_shape
from tests.support.zones import utc, zone

NOON = utc("2026-03-04 12:00")


def a_calendar(unit: str = "Day", place: str = "UTC") -> CalendarPeriod:
    return CalendarPeriod(CalendarUnit(unit), zone(place), place)


def a_budget(
    hours: int = 2, *, name: str = "daily", resource: str = "cpu", period: Period | None = None, **fields: Any
) -> Budget:
    """Hours of cpu a day, after which the queue holds, unless other fields are given."""
    given = {"amount": hours_of(resource, hours), "at_end": AtEnd.HOLD, **fields}
    return Budget(name=name, resource=resource, period=period or a_calendar(), **given)


def a_sliding(seconds: int = 48 * 3600) -> SlidingPeriod:
    return SlidingPeriod(seconds)


def a_run(name: str = "run", cpu: str = "1", *, started: int, ended: int = 0, **fields: Any) -> Pod:
    """A pod of team-a that started on a node, and perhaps succeeded."""
    over = {"is_finished": True} if ended else {}
    given = {"node": "node-1", "started": started, "ended": ended, **over, **fields}
    return a_released_pod(name, a_shape(cpu=cpu), **given)


def a_counting_cache(
    *budgets: Budget,
    now: int = NOON,
    price: dict[str, int] | None = None,
    on_change: Callable[[], None] = lambda: None,
) -> ClusterCache:
    """The queue team-a with these budgets, at a time."""
    flavor = replace(a_flavor(), price=price or {})
    cache = a_cache(flavors=[flavor], queues=[a_cluster_queue(budgets=budgets)], on_change=on_change)
    cache.advance(now)
    return cache


def put(cache: ClusterCache, *pods: Pod, now: int) -> None:
    """Let the cache see pods as they are now."""
    for pod in pods:
        known = cache.pods.get(pod.uid)
        version = str(1 + int(known.resource_version)) if known is not None else "1"
        cache.put_pod(replace(pod, resource_version=version))
    cache.advance(now)


def used(cache: ClusterCache, budget: Budget, now: int, queue: str = "team-a") -> int:
    """What is used of the budget of a queue, in its own unit."""
    cache.advance(now)
    tally = cache.budgets.tally(queue, budget)
    assert tally is not None
    return tally.used(now)


def core_seconds(*spans: Iterable[int]) -> int:
    """What one core uses in these spans of time, as a budget of cpu counts it."""
    return sum(1000 * (until - since) for since, until in spans)
