"""What metrics say of ClusterQueues: the same as their statuses."""

from __future__ import annotations

from dataclasses import replace

from controller.cache.cluster import ClusterCache
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.objects.read import Entry
from controller.runtime import gauges, queue_gauges
from controller.telemetry.metrics import ControllerMetrics
from tests.support.budgets import NOON, a_budget, a_counting_cache, a_run, put
from tests.support.builders import decided
from tests.support.cohorts import arrives, cohort, queue, runs, world

LIGHT = {"cluster_queue": "light"}
SPOT_CPU = {"flavor": "spot", "resource": "cpu"}


def scraped(cache: ClusterCache, now: float, *names: str) -> ControllerMetrics:
    metrics = ControllerMetrics()
    entries = {("", name): Entry(("", name), f"uid-{name}", 1, {}) for name in names}
    list(gauges.refresh(cache, metrics))
    list(queue_gauges.refresh(cache, entries, metrics.queues, now))
    return metrics


def value(metrics: ControllerMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"penstock_{name}", labels)


def test_what_is_borrowed_and_admitted() -> None:
    pods = [runs("one", "light", 4), runs("two", "light", 2, node=None)]
    metrics = scraped(world([cohort(), queue("light", 4), queue("full", 4)], *pods), 1_000.0, "light", "full", "cohort")
    assert value(metrics, "quota_borrowed", **LIGHT, **SPOT_CPU) == 2
    assert value(metrics, "quota_borrowed", cluster_queue="full", **SPOT_CPU) == 0
    assert value(metrics, "quota_borrowed", cluster_queue="cohort", **SPOT_CPU) is None
    assert value(metrics, "admitted_pods", **LIGHT, phase="running") == 1
    assert value(metrics, "admitted_pods", **LIGHT, phase="reserved") == 1
    assert value(metrics, "admitted_pods", cluster_queue="cohort", phase="running") == 0


def test_conditions_are_those_of_the_status() -> None:
    cache = world([queue("light", 4, parent=""), queue("off", 1, parent="nobody")], runs("one", "light", 5))
    metrics = scraped(cache, 1_000.0, "light", "off", "unread")
    found = {
        (name, condition): value(metrics, "cluster_queue_condition", cluster_queue=name, condition=condition)
        for name in ("light", "off", "unread")
        for condition in ("Active", "OverQuota")
    }
    assert found == {
        ("light", "Active"): 1,
        ("light", "OverQuota"): 1,
        ("off", "Active"): 0,
        ("off", "OverQuota"): None,
        ("unread", "Active"): 0,
        ("unread", "OverQuota"): None,
    }


def test_requests_that_wait_are_summed_by_reason() -> None:
    waiting = [arrives(name, "light", 3) for name in ("a", "b")]
    cache = world([queue("light", 4, parent="")], runs("one", "light", 4), *waiting)
    decided(cache)
    metrics = scraped(cache, 1_000.0, "light")
    assert value(metrics, "pending_requests", **LIGHT, reason="QuotaExceeded", resource="cpu") == 6


def test_a_budget_says_what_is_used_and_how_long_it_lasts() -> None:
    cache = a_counting_cache(a_budget())
    put(cache, a_run(started=NOON), now=NOON)
    cache.advance(NOON + 3600)
    metrics = scraped(cache, NOON + 3600, "team-a")
    daily = {"cluster_queue": "team-a", "budget": "daily"}
    assert value(metrics, "budget_used_ratio", **daily) == 0.5
    assert value(metrics, "budget_left_seconds", **daily) == 3600
    cache.advance(NOON + 4 * 3600)
    metrics = scraped(cache, NOON + 4 * 3600, "team-a")
    assert value(metrics, "budget_left_seconds", **daily) == 0


def test_a_fair_tree_says_shares_and_what_is_gone_is_gone() -> None:
    root = replace(queue("cohort", 0, parent=""), fair_sharing=FairSharing())
    cache = world([root, queue("light", 4), queue("full", 4)], runs("one", "light", 6))
    metrics = scraped(cache, 1_000.0, "light", "full")
    assert value(metrics, "weighted_share", **LIGHT) == 250
    assert value(metrics, "weighted_share", cluster_queue="full") == 0
    list(queue_gauges.refresh(cache, {}, metrics.queues, 1_000.0))
    assert value(metrics, "weighted_share", **LIGHT) is None
    unfair = world([cohort(), queue("light", 4)])
    assert value(scraped(unfair, 1_000.0, "light"), "weighted_share", **LIGHT) is None
