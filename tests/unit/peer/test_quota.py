"""Kueue's quota arithmetic (pkg/cache/scheduler/resource_node.go), each expected number worked out by hand.

In whole cpus of one flavor. S: subtree quota, L: local quota (what lendingLimit keeps back), U: usage.
"""

from __future__ import annotations

import pytest

from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from tests.support.builders import decided
from tests.support.cohorts import CPU, arrives, cohort, queue, runs, world

COLUMN = ("spot", "cpu")


def tree(*queues: ClusterQueue) -> QuotaTree:
    return QuotaTree({one.name: one for one in queues})


def using(planted: QuotaTree, **cpus: int) -> TreeUsage:
    usage = TreeUsage(planted)
    for name, amount in cpus.items():
        usage.add(name, *COLUMN, amount * CPU)
    return usage


def subtree(planted: QuotaTree, name: str) -> int:
    cell = planted.cell(name, COLUMN)
    return 0 if cell is None else cell.subtree // CPU


def local(planted: QuotaTree, name: str) -> int:
    cell = planted.cell(name, COLUMN)
    return 0 if cell is None else cell.local // CPU


def potential(planted: QuotaTree, name: str) -> int:
    cell = planted.cell(name, COLUMN)
    return 0 if cell is None else cell.potential // CPU


def available(usage: TreeUsage, name: str) -> int:
    return usage.available(name, COLUMN).amount // CPU


def used(usage: TreeUsage, name: str) -> int:
    return usage.used(name, *COLUMN) // CPU


THREE_LEVELS = tree(
    cohort("org", 6),
    cohort("left", 4, parent="org", lend=10),
    queue("a", 10, parent="left", lend=3),
    queue("b", 5, parent="left", borrow=4),
    queue("c", 8, parent="org"),
)
"""org(6) over left(4, lends 10) over a(10, lends 3) and b(5, borrows 4); and over c(8)."""


def test_the_subtree_quota_is_own_and_what_children_lend() -> None:
    # a: S 10, L = 10 - 3 = 7; b: S 5, L 0
    assert (subtree(THREE_LEVELS, "a"), local(THREE_LEVELS, "a")) == (10, 7)
    assert (subtree(THREE_LEVELS, "b"), local(THREE_LEVELS, "b")) == (5, 0)
    # left: 4 + (10 - 7) + (5 - 0) = 12, of which it keeps 12 - 10 = 2
    assert (subtree(THREE_LEVELS, "left"), local(THREE_LEVELS, "left")) == (12, 2)
    # org has 6, of left's 12 the 10 that it does not keep, and all 8 of c
    assert (subtree(THREE_LEVELS, "org"), local(THREE_LEVELS, "org")) == (24, 0)


def test_a_lending_limit_above_the_quota_keeps_nothing_back() -> None:
    assert local(tree(cohort(), queue("a", 4, lend=9)), "a") == 0


def test_a_lending_limit_of_nothing_keeps_all() -> None:
    planted = tree(cohort(), queue("a", 4, lend=0), queue("b", 1))
    assert (local(planted, "a"), subtree(planted, "cohort")) == (4, 1)
    # b has its own 1 and nothing of a's; a could have its 4 and b's 1
    assert (potential(planted, "b"), potential(planted, "a")) == (1, 5)


def test_potential_available_is_what_fits_into_an_empty_tree() -> None:
    # org 24; left: 2 + min(24, no limit) = 26; c: 0 + 24
    assert (potential(THREE_LEVELS, "org"), potential(THREE_LEVELS, "left")) == (24, 26)
    assert potential(THREE_LEVELS, "c") == 24
    # a: 7 + 26 = 33; b: 0 + min(26, its 5 and 4 borrowed) = 9
    assert (potential(THREE_LEVELS, "a"), potential(THREE_LEVELS, "b")) == (33, 9)


def test_usage_goes_up_only_beyond_what_is_kept_locally() -> None:
    # a uses 9: 7 stay local, 2 go to left, which keeps 2 of its own: none goes to org
    usage = using(THREE_LEVELS, a=9)
    assert [used(usage, name) for name in ("a", "left", "org")] == [9, 2, 0]
    # b uses 5: all go to left (2 + 5 = 7), of which 2 stay: 5 at org
    usage = using(THREE_LEVELS, a=9, b=5)
    assert [used(usage, name) for name in ("b", "left", "org")] == [5, 7, 5]


def test_taking_usage_away_first_takes_what_had_gone_up() -> None:
    usage = using(THREE_LEVELS, a=9, b=5)
    # 4 less of a: min(4, 9 - 7) = 2 leave left, and of those min(2, 7 - 2) = 2 leave org
    usage.add("a", *COLUMN, -4 * CPU)
    assert [used(usage, name) for name in ("a", "left", "org")] == [5, 5, 3]
    usage.add("b", *COLUMN, -5 * CPU)
    assert [used(usage, name) for name in ("b", "left", "org")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("cpus", "name", "expected"),
    [
        # at the root S - U, with nothing used
        ({}, "org", 24),
        # c keeps nothing: what org has available
        ({}, "c", 24),
        # left: (2 - 0) + min(24, no limit)
        ({}, "left", 26),
        # a has its 7 and left's 26
        ({}, "a", 33),
        # b: 0 + min(26, cap), cap = (5 - 0) - 0 + 4
        ({}, "b", 9),
        # org's U is 20: 4 left there; left has 2 + 4, a 7 + 6, b min(6, 9)
        ({"c": 20}, "left", 6),
        ({"c": 20}, "a", 13),
        ({"c": 20}, "b", 6),
        # a's own 7 are untouched by what others take
        ({"c": 24}, "a", 9),
        # b has used 6: cap = 5 - 6 + 4 = 3
        ({"b": 6}, "b", 3),
        # a within its local quota is nobody's business: c sees 24
        ({"a": 7}, "c", 24),
        # a with 10: 3 go to left, 1 of these to org
        ({"a": 10}, "c", 23),
        ({"a": 10}, "b", 9),
    ],
)
def test_available_is_the_local_rest_and_what_may_be_borrowed(cpus: dict[str, int], name: str, expected: int) -> None:
    assert available(using(THREE_LEVELS, **cpus), name) == expected


def test_over_admission_makes_the_root_negative() -> None:
    # a's quota was lowered while its 12 were running
    planted = tree(cohort(), queue("a", 5), queue("b", 5, lend=2))
    usage = using(planted, a=12)
    # of a 5 and of b the 2 that it lends are 7, and all 12 have gone up
    assert available(usage, "cohort") == -5
    # b has its local 3 and the parent's -5
    assert available(usage, "b") == -2


def test_a_queue_borrows_above_its_subtree_quota() -> None:
    planted = tree(cohort(), queue("a", 5), queue("b", 5))
    for amount, level in ((5, 0), (6, 1)):
        assert using(planted).borrowing_level("a", COLUMN, amount * CPU) == level
    assert using(planted, a=5).borrowing_level("a", COLUMN, CPU) == 1


def test_the_borrowing_level_is_the_lowest_subtree_that_holds() -> None:
    usage = using(THREE_LEVELS)
    # b: 5 at height 0; left holds 12 at height 1; org holds the rest at height 2
    assert [usage.borrowing_level("b", COLUMN, cpus * CPU) for cpus in (5, 6, 12, 13)] == [0, 1, 1, 2]


def test_quantities_of_any_size_are_exact() -> None:
    # there Unlimited is the largest int64, and sums stop at it; here they go on
    huge = 2**63 // CPU
    planted = tree(cohort(), queue("a", huge), queue("b", huge))
    assert potential(planted, "a") == 2 * huge


def test_a_queue_has_to_declare_what_it_borrows() -> None:
    # b declares spot with nothing of its own, c declares another flavor
    queues = [cohort(), queue("a", 4), queue("b", 0), queue("c", 1, flavor="dear")]
    cache = world(queues, arrives("of-b", "b", 3), arrives("of-c", "c", 3), flavors=("spot", "dear"))
    plan = decided(cache)
    assert [admit.uid for admit in plan.admits] == ["of-b"]
    # ExceedsMaxQuota there, NeverFits here: potentialAvailable of dear is 1
    assert {wait.reason.value for wait in plan.waits.values()} == {"NeverFits"}


def test_more_than_ever_available_is_told_from_more_than_now() -> None:
    # potentialAvailable of a is 4 + 2, so 7 never fits; 6 does, but not while b's 3 leave 5 of the cohort's 8
    queues = [cohort(), queue("a", 4, borrow=2), queue("b", 4)]
    plan = decided(world(queues, runs("of-b", "b", 3), arrives("never", "a", 7), arrives("later", "a", 6)))
    found = {dict(kind.requests)["cpu"] // CPU: wait.reason.value for kind, wait in plan.waits.items()}
    assert found == {7: "NeverFits", 6: "ParentQueueLimit"}
