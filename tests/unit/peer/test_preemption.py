"""Kueue's classical preemption (pkg/scheduler/preemption/classical): who goes for whom, each case worked out by hand.

In whole cpus; `runs` are admitted, `arrives` waits. Where Penstock departs on purpose a test says so.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue
from tests.support.builders import decided
from tests.support.cohorts import admitted_to, arrives, cohort, preempted, queue, runs, world

LOWER = Preemption(Within.LOWER_PRIORITY)
EQUAL = Preemption(Within.LOWER_OR_NEWER_EQUAL_PRIORITY)
RECLAIM = Preemption(reclaim=Reclaim.ANY)
RECLAIM_LOWER = Preemption(reclaim=Reclaim.LOWER_PRIORITY)


def lender(name: str = "b", cpu: int = 4, **fields: Any) -> ClusterQueue:
    return queue(name, cpu, **fields)


# -- within the queue


def test_never_preempts_nobody() -> None:
    cache = world([cohort(), queue("a", 4)], runs("low", "a", 4), arrives("high", "a", 4, priority=9))
    assert preempted(cache) == []


def test_lower_priority_takes_those_below_and_no_equal() -> None:
    pods = [runs("low", "a", 2, priority=1), runs("same", "a", 2, priority=5)]
    queues = [cohort(), queue("a", 4, preemption=LOWER)]
    assert preempted(world(queues, *pods, arrives("p", "a", 2, priority=5))) == ["low"]
    assert preempted(world(queues, *pods, arrives("p", "a", 4, priority=5))) == []


def test_newer_equal_priority_takes_those_whose_work_is_younger() -> None:
    pods = [runs("older", "a", 2, created=50, admitted=60), runs("younger", "a", 2, created=200, admitted=210)]
    queues = [cohort(), queue("a", 4, preemption=EQUAL)]
    assert preempted(world(queues, *pods, arrives("p", "a", 2, created=100))) == ["younger"]


def test_the_lowest_priority_goes_first_and_the_latest_of_it() -> None:
    # 2 are wanted: of priority 1, admitted at 20 and at 30, the one of 30
    pods = [
        runs("two", "a", 2, priority=2, admitted=40),
        runs("early", "a", 2, priority=1, admitted=20),
        runs("late", "a", 2, priority=1, admitted=30),
    ]
    queues = [cohort(), queue("a", 6, preemption=LOWER)]
    assert preempted(world(queues, *pods, arrives("p", "a", 2, priority=9))) == ["late"]


def test_fill_back_restores_whom_the_last_one_makes_needless() -> None:
    # 4 are wanted, 0 free. In order: low 1 (1 of 4), mid 1 (2), large 4 (6): fits. Back, from the last but one:
    # mid back leaves 5, still fits; low back leaves 4, still fits. Only large goes.
    pods = [runs("low", "a", 1, priority=1), runs("mid", "a", 1, priority=2), runs("large", "a", 4, priority=3)]
    queues = [cohort(), queue("a", 6, preemption=LOWER)]
    assert preempted(world(queues, *pods, arrives("p", "a", 4, priority=9))) == ["large"]


def test_fill_back_keeps_the_needed_and_is_no_minimum() -> None:
    # 5 are wanted, 0 free: low 2, mid 2 (4), large 3 (7). mid back: 5, fits without it. low back: 3, does not.
    pods = [runs("low", "a", 2, priority=1), runs("mid", "a", 2, priority=2), runs("large", "a", 3, priority=3)]
    queues = [cohort(), queue("a", 7, preemption=LOWER)]
    assert preempted(world(queues, *pods, arrives("p", "a", 5, priority=9))) == ["large", "low"]


def test_nobody_goes_where_all_together_are_not_enough() -> None:
    pods = [runs("low", "a", 1, priority=1), runs("high", "a", 5, priority=9)]
    queues = [cohort(), queue("a", 6, preemption=LOWER)]
    assert preempted(world(queues, *pods, arrives("p", "a", 4, priority=5))) == []


# -- from who borrows


def test_a_queue_within_its_quota_reclaims_from_who_borrows() -> None:
    # 8 in all; b uses 6 of its 4, so it borrows 2. a wants 3 of its own 4, 2 are free: one of b's 2 goes.
    pods = [runs("b1", "b", 2, admitted=10), runs("b2", "b", 2, admitted=20), runs("b3", "b", 2, admitted=30)]
    queues = [cohort(), queue("a", 4, preemption=RECLAIM), lender()]
    assert preempted(world(queues, *pods, arrives("p", "a", 3))) == ["b3"]


def test_who_stays_within_nominal_is_never_reclaimed_from() -> None:
    # c borrows 4 of a's, b uses just its own 4: though b's is of lower priority, c's go
    pods = [runs("of-b", "b", 4, priority=0), runs("of-c", "c", 4, priority=9)]
    queues = [cohort(), queue("a", 4, preemption=RECLAIM), lender(), lender("c", 0)]
    assert preempted(world(queues, *pods, arrives("p", "a", 4))) == ["of-c"]


def test_a_queue_within_its_quota_by_now_is_passed_over() -> None:
    # b uses 6 of 4, c 2 of 0; nothing is free, a wants all its 4. In order (all of priority 0, latest first):
    # b3 goes (b: 4, no longer over), b2 and b1 are passed, c1 goes: 2 + 2 = 4.
    pods = [
        runs("b1", "b", 2, admitted=28),
        runs("b2", "b", 2, admitted=29),
        runs("b3", "b", 2, admitted=30),
        runs("c1", "c", 2, admitted=10),
    ]
    queues = [cohort(), queue("a", 4, preemption=RECLAIM), lender(), lender("c", 0)]
    assert preempted(world(queues, *pods, arrives("p", "a", 4))) == ["b3", "c1"]


@pytest.mark.parametrize(("theirs", "expected"), [(0, ["of-b"]), (5, [])])
def test_reclaiming_from_lower_priority_spares_the_others(theirs: int, expected: list[str]) -> None:
    queues = [cohort(), queue("a", 4, preemption=RECLAIM_LOWER), lender(cpu=0)]
    cache = world(queues, runs("of-b", "b", 4, priority=theirs), arrives("p", "a", 4, priority=5))
    assert preempted(cache) == expected


def test_other_queues_go_before_the_own() -> None:
    # 2 are wanted: of b's loan rather than of a's own, whose priority is lower
    pods = [runs("mine", "a", 2, priority=-5), runs("of-b", "b", 2)]
    both = Preemption(Within.LOWER_PRIORITY, Reclaim.ANY)
    queues = [cohort(), queue("a", 4, preemption=both), lender(cpu=0)]
    assert preempted(world(queues, *pods, arrives("p", "a", 2, priority=1))) == ["of-b"]


def test_who_would_borrow_reclaims_nothing_without_the_rule() -> None:
    # a owns 2 and wants 3: it would borrow 1
    queues = [cohort(), queue("a", 2, preemption=RECLAIM), lender(cpu=2)]
    cache = world(queues, runs("of-b", "b", 4, priority=-9), arrives("p", "a", 3, priority=9))
    assert preempted(cache) == []


def test_ones_own_may_go_so_that_the_rest_is_within_nominal() -> None:
    # a owns 4, uses 2 and wants 4: with its own 2 gone it stays within 4, and b has to give its 2 back
    pods = [runs("mine", "a", 2, priority=-1), runs("of-b", "b", 2)]
    both = Preemption(Within.LOWER_PRIORITY, Reclaim.ANY)
    queues = [cohort(), queue("a", 4, preemption=both), lender(cpu=0)]
    assert preempted(world(queues, *pods, arrives("p", "a", 4))) == ["mine", "of-b"]


# -- while borrowing


def borrows(threshold: int | None = None) -> Preemption:
    return Preemption(reclaim=Reclaim.ANY, borrows=True, threshold=threshold)


@pytest.mark.parametrize(
    ("theirs", "threshold", "expected"),
    [
        (0, None, ["of-b"]),
        (8, None, ["of-b"]),
        (9, None, []),  # not below the preemptor's 9
        (5, 5, ["of-b"]),
        (6, 5, []),  # above maxPriorityThreshold
    ],
)
def test_borrow_within_cohort_takes_up_to_the_threshold(
    theirs: int, threshold: int | None, expected: list[str]
) -> None:
    # a owns 2 and wants 4; b borrows 2 of the cohort's own 2
    queues = [cohort(cpu=2), queue("a", 2, preemption=borrows(threshold)), lender(cpu=0)]
    cache = world(queues, runs("of-b", "b", 2, priority=theirs), arrives("p", "a", 4, priority=9))
    assert preempted(cache) == expected


def test_above_the_threshold_they_go_for_who_does_not_borrow() -> None:
    # the same, but a wants only its own 2: the threshold is for those who borrow
    queues = [cohort(), queue("a", 2, preemption=borrows(0)), lender(cpu=0)]
    cache = world(queues, runs("of-b", "b", 2, priority=8), arrives("p", "a", 2, priority=0))
    assert preempted(cache) == ["of-b"]


# -- at several levels


def hierarchy(preemption: Preemption) -> list[ClusterQueue]:
    """org over left (a 2, b 2) and right (c 0)."""
    return [
        cohort("org"),
        cohort("left", parent="org"),
        queue("a", 2, parent="left", preemption=preemption),
        queue("b", 2, parent="left"),
        cohort("right", parent="org"),
        queue("c", 0, parent="right"),
    ]


def test_a_subtree_within_its_quota_reclaims_from_another() -> None:
    # a wants 4: 2 of its own, 2 of b's, which left holds together; c has borrowed all 4 of left's
    cache = world(hierarchy(RECLAIM), runs("of-c", "c", 4, priority=9), arrives("p", "a", 4))
    assert preempted(cache) == ["of-c"]


def test_within_the_subtree_who_borrows_reclaims_nothing() -> None:
    # b uses 4, 2 of them a's; a wants 4, for which left has quota but a has not: b's are nearer than left's advantage
    cache = world(hierarchy(RECLAIM), runs("of-b", "b", 4), arrives("p", "a", 4))
    assert preempted(cache) == []


def test_a_subtree_that_would_have_to_borrow_reclaims_nothing() -> None:
    # left holds 4 and a wants 5
    queues = [*hierarchy(RECLAIM), queue("d", 2, parent="org")]
    cache = world(queues, runs("of-c", "c", 6), arrives("p", "a", 5))
    assert preempted(cache) == []


def test_a_subtree_of_a_cohort_within_quota_is_not_reclaimed() -> None:
    # c uses 2 of 0, but right owns 2: it is within its quota, and only d, which borrows at the root, goes
    queues = [
        cohort("org"),
        queue("a", 4, parent="org", preemption=RECLAIM),
        cohort("right", cpu=2, parent="org"),
        queue("c", 0, parent="right"),
        queue("d", 0, parent="org"),
    ]
    pods = [runs("of-c", "c", 2, admitted=50), runs("of-d", "d", 2, admitted=10)]
    assert preempted(world(queues, *pods, arrives("p", "a", 4))) == ["of-d"]


# -- afterwards


def test_who_goes_already_is_not_asked_again() -> None:
    queues = [cohort(), queue("a", 4, preemption=RECLAIM), lender(cpu=0)]
    cache = world(queues, runs("of-b", "b", 4), arrives("p", "a", 4, created=100), arrives("late", "b", 4, created=1))
    (evict,) = decided(cache).evicts
    assert evict.pod.uid == "of-b"
    cache.evictions.begin(evict)
    assert preempted(cache) == []
    cache.drop_pod("of-b")
    # b's own is older, and there sticky heads of a queue alone go first; here the preemptor, before all queues
    assert admitted_to(cache) == ["p"]


def test_departure_only_pods_that_are_recreated_for_free_go() -> None:
    # there a pod without an owner is deleted, and gone
    queues = [cohort(), queue("a", 4, preemption=RECLAIM), lender(cpu=0)]
    assert preempted(world(queues, runs("bare", "b", 4, owner=None), arrives("p", "a", 4))) == []
