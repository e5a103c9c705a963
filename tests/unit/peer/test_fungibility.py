"""Kueue's flavorFungibility.whenCanPreempt (pkg/scheduler/flavorassigner): which flavor, and who goes for it.

Each case is worked out by hand, in whole cpus; spot comes before dear.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.queueing.fair_sharing_policy import USUAL
from controller.core.queueing.mix import Mix
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, WhenCanBorrow, WhenCanPreempt
from controller.core.workloads.pods import Pod
from tests.support.builders import a_cluster_queue, a_quota, a_static_flavor, decided
from tests.support.cohorts import arrives, cohort, queue, runs, world

BOTH = Preemption(Within.LOWER_PRIORITY, Reclaim.ANY, borrows=True)


def two(spot: int, dear: int, when: WhenCanPreempt = WhenCanPreempt.MAY_STOP_SEARCH, **fields: Any) -> ClusterQueue:
    """The queue `a`, which may preempt whom it can."""
    quotas = (a_quota("spot", cpu=spot), a_quota("dear", cpu=dear))
    given = {"parent": "cohort", "preemption": BOTH, "when_can_preempt": when, **fields}
    return a_cluster_queue("a", *quotas, **given)


def a_world(*parts: ClusterQueue | Pod) -> ClusterCache:
    queues = [one for one in parts if isinstance(one, ClusterQueue)]
    pods = [one for one in parts if isinstance(one, Pod)]
    return world([cohort(), *queues], *pods, flavors=("spot", "dear"))


def outcome(cache: ClusterCache) -> tuple[list[str], list[str]]:
    """Decide once: whom that evicts, and the flavors of those that are admitted."""
    plan = decided(cache)
    for evict in plan.evicts:
        cache.evictions.begin(evict)
    return sorted(evict.pod.uid for evict in plan.evicts), [admit.flavor for admit in plan.admits]


@pytest.mark.parametrize(
    ("when", "expected"),
    [(WhenCanPreempt.TRY_NEXT_FLAVOR, ([], ["dear"])), (WhenCanPreempt.MAY_STOP_SEARCH, (["low"], []))],
)
def test_ones_own_go_in_the_first_flavor_before_the_next(when: WhenCanPreempt, expected: object) -> None:
    # 4 of spot are used up by a lower priority, 4 of dear are free
    cache = a_world(two(4, 4, when), runs("low", "a", 4), arrives("p", "a", 4, priority=5))
    assert outcome(cache) == expected


def test_it_waits_for_those_it_preempted_and_takes_their_flavor() -> None:
    cache = a_world(two(4, 4), runs("low", "a", 4), arrives("p", "a", 4, priority=5))
    assert [outcome(cache), outcome(cache)] == [(["low"], []), ([], [])]
    cache.drop_pod("low")
    assert outcome(cache) == ([], ["spot"])


def test_where_the_eviction_is_refused_it_takes_the_next_flavor() -> None:
    cache = a_world(two(4, 4), runs("low", "a", 4), arrives("p", "a", 4, priority=5))
    assert outcome(cache) == (["low"], [])
    cache.evictions.refuse("low", "a budget")
    assert outcome(cache) == ([], ["dear"])


def test_without_candidates_in_the_first_the_next_is_taken() -> None:
    # noPreemptionCandidates in spot: what uses it is of the same priority; fit in dear
    cache = a_world(two(4, 4), runs("same", "a", 4, priority=5), arrives("p", "a", 4, priority=5))
    assert outcome(cache) == ([], ["dear"])


def test_borrowing_in_the_first_flavor_comes_before_preempting() -> None:
    # spot fits by borrowing b's 4: mode fit, and whenCanBorrow MayStopSearch stops there
    cache = a_world(two(4, 4), queue("b", 4), runs("low", "a", 4), arrives("p", "a", 4, priority=5))
    assert outcome(cache) == ([], ["spot"])


def test_what_others_borrowed_in_the_first_flavor_is_reclaimed() -> None:
    # b owns 0 of spot and borrowed a's 4
    cache = a_world(two(4, 4), queue("b", 0), runs("of-b", "b", 4, priority=9), arrives("p", "a", 4))
    assert outcome(cache) == (["of-b"], [])


@pytest.mark.parametrize(
    ("when", "expected"),
    [(WhenCanBorrow.MAY_STOP_SEARCH, (["of-b"], [])), (WhenCanBorrow.TRY_NEXT_FLAVOR, ([], ["dear"]))],
)
def test_preempting_while_borrowing_stops_where_borrowing_does(when: WhenCanBorrow, expected: object) -> None:
    # a owns 2 of spot and wants 4: with of-b gone it borrows 2 of the cohort's 4; dear has 4 of its own
    spare = queue("b", 2)
    cache = a_world(
        two(2, 4, when_can_borrow=when), spare, runs("of-b", "b", 4, priority=-1), arrives("p", "a", 4, priority=5)
    )
    assert outcome(cache) == expected


def test_the_first_preemptible_flavor_is_found_past_borrowing() -> None:
    # spot: low would go, nothing borrowed. far fits by borrowing, dear too at no cost: the search stops at spot
    quotas = (a_quota("spot", cpu=4), a_quota("far", cpu=0), a_quota("dear", cpu=4))
    given = {"parent": "cohort", "preemption": BOTH, "when_can_preempt": WhenCanPreempt.MAY_STOP_SEARCH}
    mine = a_cluster_queue("a", *quotas, when_can_borrow=WhenCanBorrow.TRY_NEXT_FLAVOR, **given)
    pods = (runs("low", "a", 4), arrives("p", "a", 4, priority=5))
    queues = [cohort(), mine, queue("b", 4, flavor="far")]
    assert outcome(world(queues, *pods, flavors=("spot", "far", "dear"))) == (["low"], [])


def test_who_goes_is_who_was_found_without_borrowing() -> None:
    # with of-b gone a would use 8 of spot and own 4: so low goes, though others' queues go first where it may borrow
    common, mine = queue("cohort", 4, parent=""), two(4, 4, when_can_borrow=WhenCanBorrow.TRY_NEXT_FLAVOR)
    pods = (runs("low", "a", 4), runs("of-b", "b", 4, priority=-1), arrives("p", "a", 4, priority=5))
    assert outcome(world([common, mine, queue("b", 0)], *pods, flavors=("spot", "dear"))) == (["low"], [])


def test_a_refused_preemptor_takes_the_next_flavor_alone() -> None:
    cache = a_world(two(4, 8), runs("low", "a", 4), *(arrives(name, "a", 4, priority=5) for name in ("p1", "p2")))
    cache.reject("p1", "a webhook's word")
    cache.retry("p1")
    assert outcome(cache) == (["low"], ["dear"])


def test_in_a_fair_tree_it_stops_there_too() -> None:
    root = replace(cohort(), fair_sharing=USUAL)
    cache = world([root, two(4, 4)], runs("low", "a", 4), arrives("p", "a", 4, priority=5), flavors=("spot", "dear"))
    assert outcome(cache) == (["low"], [])


def test_a_mix_counts_pods_on_flavors_that_are_not_looked_at() -> None:
    # half may be on spot: of low and two on dear one is, and a second may be; so low is in the way by quota alone
    mixed = two(4, 12, mix=Mix(0, 50))
    on_dear = [runs(name, "a", 4, flavor="dear", priority=9) for name in ("d1", "d2")]
    cache = a_world(mixed, runs("low", "a", 4), *on_dear, arrives("p", "a", 4, priority=5))
    cache.set_flavor("spot", a_static_flavor("spot", cpu=99, pods=99))
    cache.set_flavor("spot", replace(cache.flavors["spot"], is_spot=True))
    assert outcome(cache) == (["low"], [])
