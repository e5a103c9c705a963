"""Kueue's queues and flavor assignment (pkg/cache/queue, pkg/scheduler/flavorassigner): the same results, by hand.

Where Penstock departs on purpose a test says so. In whole cpus.
"""

from __future__ import annotations

from controller.core.queueing.queues import FlavorQuota, QueueingStrategy, WhenCanBorrow
from tests.support.builders import a_cluster_queue, a_tree_quota, decided
from tests.support.cohorts import CPU, admitted_to, arrives, cohort, queue, runs, world

STRICT = QueueingStrategy.STRICT_FIFO


def flavors(*quotas: tuple[str, int]) -> tuple[FlavorQuota, ...]:
    return tuple(a_tree_quota(name, cpu * CPU) for name, cpu in quotas)


def test_priority_goes_before_age_and_age_before_the_rest() -> None:
    pods = [
        arrives("old", "a", 1, created=1),
        arrives("young", "a", 1, created=2),
        arrives("urgent", "a", 1, created=3, priority=10),
    ]
    assert admitted_to(world([cohort(), queue("a", 2)], *pods)) == ["urgent", "old"]


def test_best_effort_puts_a_head_aside_that_does_not_fit() -> None:
    # 4 - 2 = 2 are free: the head wants 3, the next 2
    pods = [runs("r", "a", 2), arrives("large", "a", 3, created=1), arrives("small", "a", 2, created=2)]
    assert admitted_to(world([cohort(), queue("a", 4)], *pods)) == ["small"]


def test_strict_fifo_waits_for_its_head() -> None:
    pods = [runs("r", "a", 2), arrives("large", "a", 3, created=1), arrives("small", "a", 2, created=2)]
    assert admitted_to(world([cohort(), queue("a", 4, strategy=STRICT)], *pods)) == []


def test_departure_all_that_fit_are_admitted_at_once() -> None:
    # there one cycle admits one workload of each ClusterQueue, and three cycles these
    pods = [arrives(f"p{number}", "a", 1, created=number) for number in range(3)]
    assert admitted_to(world([cohort(), queue("a", 3)], *pods)) == ["p0", "p1", "p2"]


def test_departure_the_order_alone_says_whose_turn_it_is() -> None:
    # 4 + 0 are free, and both want 4: there b's goes first, for it does not borrow; here the older one
    pods = [arrives("borrows", "a", 4, created=1), arrives("at-home", "b", 4, created=2)]
    assert admitted_to(world([cohort(), queue("a", 0), queue("b", 4)], *pods)) == ["borrows"]


def test_departure_a_strict_head_keeps_nothing_of_the_cohort() -> None:
    # a's head wants 6 and 5 are free: there the cohort's 5 are reserved for it, unless it can always reclaim
    pods = [runs("r", "b", 3), arrives("head", "a", 6, created=1), arrives("other", "b", 2, created=2)]
    assert admitted_to(world([cohort(), queue("a", 4, strategy=STRICT), queue("b", 4)], *pods)) == ["other"]


def test_the_first_flavor_with_quota_counts() -> None:
    queues = [cohort(), a_cluster_queue("a", *flavors(("spot", 2), ("dear", 4)), parent="cohort")]
    pods = [arrives("first", "a", 2, created=1), arrives("second", "a", 2, created=2)]
    plan = decided(world(queues, *pods, flavors=("spot", "dear")))
    assert {admit.uid: admit.flavor for admit in plan.admits} == {"first": "spot", "second": "dear"}


def test_a_workload_is_never_split_over_flavors() -> None:
    # 2 of spot and 2 of dear are free, and 3 are wanted: potentialAvailable is 2 in each, so never
    queues = [cohort(), a_cluster_queue("a", *flavors(("spot", 2), ("dear", 2)), parent="cohort")]
    plan = decided(world(queues, arrives("p", "a", 3), flavors=("spot", "dear")))
    assert [wait.reason.value for wait in plan.waits.values()] == ["NeverFits"]


def test_a_flavor_is_borrowed_before_the_next_by_default() -> None:
    # whenCanBorrow MayStopSearch: 2 of spot are a's own and 2 more b's; dear has 4
    own = flavors(("spot", 2), ("dear", 4))
    queues = [cohort(), a_cluster_queue("a", *own, parent="cohort"), queue("b", 2)]
    plan = decided(world(queues, arrives("p", "a", 4), flavors=("spot", "dear")))
    assert [admit.flavor for admit in plan.admits] == ["spot"]


def test_try_next_flavor_goes_where_nothing_has_to_be_borrowed() -> None:
    own = flavors(("spot", 2), ("dear", 4))
    picky = a_cluster_queue("a", *own, parent="cohort", when_can_borrow=WhenCanBorrow.TRY_NEXT_FLAVOR)
    cache = world([cohort(), picky, queue("b", 2)], arrives("p", "a", 4), flavors=("spot", "dear"))
    assert [admit.flavor for admit in decided(cache).admits] == ["dear"]


def test_try_next_flavor_takes_the_lowest_level_of_borrowing() -> None:
    # a has nothing: spot is borrowed of its sibling in `left` (level 1), dear across the root (level 2)
    own = flavors(("dear", 0), ("spot", 0))
    picky = a_cluster_queue("a", *own, parent="left", when_can_borrow=WhenCanBorrow.TRY_NEXT_FLAVOR)
    queues = [
        cohort("org"),
        cohort("left", parent="org"),
        picky,
        queue("b", 2, parent="left"),
        queue("c", 2, parent="org", flavor="dear"),
    ]
    plan = decided(world(queues, arrives("p", "a", 2), flavors=("dear", "spot")))
    assert [admit.flavor for admit in plan.admits] == ["spot"]


def test_what_ends_in_one_queue_opens_another_of_the_tree() -> None:
    # a borrows b's 2 once b's own workload has ended
    cache = world([cohort(), queue("a", 2), queue("b", 2)], runs("r", "b", 2), arrives("p", "a", 4))
    assert admitted_to(cache) == []
    cache.drop_pod("r")
    assert admitted_to(cache) == ["p"]
