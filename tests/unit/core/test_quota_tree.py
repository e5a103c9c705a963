"""The arithmetic of the quota tree, with each result worked out by hand."""

from __future__ import annotations

import pytest

from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import Available, TreeUsage
from tests.support.builders import a_cluster_queue, a_quota, a_tree_quota

CPU = ("spot", "cpu")


def a_queue(
    name: str, nominal: int, *, parent: str = "org", borrow: int | None = None, lend: int | None = None
) -> ClusterQueue:
    return a_cluster_queue(name, a_tree_quota("spot", nominal, borrow=borrow, lend=lend), parent=parent)


def a_root(nominal: int | None = None) -> ClusterQueue:
    quotas = () if nominal is None else (a_tree_quota("spot", nominal),)
    return ClusterQueue(name="org", flavors=quotas)


def a_tree(*queues: ClusterQueue) -> QuotaTree:
    return QuotaTree({queue.name: queue for queue in queues})


def used(tree: QuotaTree, **amounts: int) -> TreeUsage:
    usage = TreeUsage(tree)
    for queue, amount in amounts.items():
        usage.add(queue, *CPU, amount)
    return usage


def room(tree: QuotaTree, queue: str, **amounts: int) -> tuple[int, str]:
    found = used(tree, **amounts).available(queue, CPU)
    return found.amount, found.at


def test_a_queue_without_a_parent_has_what_it_owns() -> None:
    tree = a_tree(a_queue("a", 10, parent=""))
    assert room(tree, "a", a=4) == (6, "a")
    assert room(tree, "a", a=12) == (-2, "a")


def test_siblings_borrow_what_the_others_leave_free() -> None:
    tree = a_tree(a_root(), a_queue("a", 10), a_queue("b", 10))
    assert room(tree, "a") == (20, "org")
    assert room(tree, "a", b=4) == (16, "org")
    assert room(tree, "b", a=15) == (5, "org")
    assert room(tree, "b", a=20) == (0, "org")


def test_a_parent_owns_beside_its_children() -> None:
    tree = a_tree(a_root(6), a_queue("a", 10), a_queue("b", 0))
    assert room(tree, "b") == (16, "org")
    assert room(tree, "b", a=10) == (6, "org")


def test_a_borrowing_limit_holds_however_much_is_free() -> None:
    tree = a_tree(a_root(), a_queue("a", 10, borrow=3), a_queue("b", 10))
    assert room(tree, "a") == (13, "a")
    assert room(tree, "a", a=12) == (1, "a")
    assert room(tree, "a", b=9) == (11, "org")  # 10 of its own, 1 that b leaves


def test_a_lending_limit_keeps_the_rest_for_the_queue_itself() -> None:
    tree = a_tree(a_root(), a_queue("a", 10), a_queue("b", 10, lend=4))
    assert room(tree, "a") == (14, "org")
    # a has taken all that b lends; the 6 that b keeps are its own
    assert room(tree, "b", a=14) == (6, "org")
    # what b uses of its own 6 is nobody else's business
    assert room(tree, "a", b=6) == (14, "org")
    assert room(tree, "a", b=7) == (13, "org")


def test_borrowing_goes_up_as_many_levels_as_it_has_to() -> None:
    queues = [
        a_root(),
        a_queue("left", 0),
        a_queue("right", 0),
        a_queue("a", 4, parent="left"),
        a_queue("b", 4, parent="left"),
        a_queue("c", 8, parent="right"),
    ]
    tree = a_tree(*queues)
    assert [tree.height(name) for name in ("a", "left", "org")] == [0, 1, 2]
    usage = used(tree, a=3)
    assert [usage.borrowing_level("a", CPU, more) for more in (1, 2, 5, 6, 13)] == [0, 1, 1, 2, 2]
    assert room(tree, "a", c=8) == (8, "org")


def test_a_limit_within_the_tree_holds_for_all_below_it() -> None:
    tree = a_tree(
        a_root(),
        a_queue("left", 0, borrow=2, lend=1),
        a_queue("a", 4, parent="left"),
        a_queue("b", 4, parent="left"),
        a_queue("c", 100),
    )
    # left: subtree 8, of which it lends 1 and borrows at most 2
    assert room(tree, "a") == (10, "left")
    assert room(tree, "c") == (101, "org")
    assert room(tree, "c", a=5, b=2) == (101, "org")
    assert room(tree, "c", a=5, b=3) == (100, "org")


@pytest.mark.parametrize(
    ("queue", "potential"), [("a", 13), ("b", 10 + 10), ("org", 20)], ids=["borrowing limit", "no limit", "root"]
)
def test_potential_is_what_an_idle_tree_would_give(queue: str, potential: int) -> None:
    cell = a_tree(a_root(), a_queue("a", 10, borrow=3), a_queue("b", 10)).cell(queue, CPU)
    assert cell is not None
    assert cell.potential == potential


def test_limits_count_every_flavor_of_a_queue_and_below() -> None:
    quotas = (a_quota("spot", cpu="8"), a_quota("dear", cpu="8"))
    tree = a_tree(
        ClusterQueue(name="org", limits={"cpu": 9_000}), a_cluster_queue("a", *quotas, parent="org", limits={"pods": 2})
    )
    usage = TreeUsage(tree)
    usage.add("a", "spot", "cpu", 3_000)
    usage.add("a", "dear", "cpu", 2_000)
    usage.add("a", "dear", "pods", 1)
    assert [usage.used("org", "", "cpu"), usage.used("a", "", "cpu"), usage.used("a", "", "pods")] == [5_000, 0, 1]


def test_pods_count_above_a_queue_where_it_has_quota_for_them() -> None:
    counting = a_cluster_queue("a", a_quota("spot", cpu="8", pods=4), parent="org")
    tree = a_tree(ClusterQueue(name="org"), counting, a_cluster_queue("b", a_quota("spot", cpu="8"), parent="org"))
    usage = TreeUsage(tree)
    for queue in ("a", "b"):
        usage.add(queue, "spot", "pods", 3)
    assert [usage.used(name, "spot", "pods") for name in ("a", "b", "org")] == [3, 3, 3]
    usage.add("b", "spot", "pods", -3)
    assert usage.available("a", ("spot", "pods")) == Available(1, "org")


def test_what_breaks_a_tree_stops_its_part_and_says_so() -> None:
    tree = a_tree(
        a_root(),
        a_queue("fine", 1),
        a_queue("lost", 1, parent="nowhere"),
        a_queue("below-lost", 1, parent="lost"),
        a_queue("x", 1, parent="y"),
        a_queue("y", 1, parent="x"),
        a_queue("below-y", 1, parent="y"),
        a_queue("own-parent", 1, parent="own-parent"),
    )
    absent = "ClusterQueue nowhere does not exist; create it, or name another"
    assert tree.faults == {
        "below-lost": f"spec.parent of ClusterQueue lost: {absent}",
        "below-y": "spec.parent of ClusterQueue x: y → x → y is a circle; make one of them a root",
        "lost": f"spec.parent: {absent}",
        "own-parent": "spec.parent: own-parent → own-parent is a circle; make one of them a root",
        "x": "spec.parent of ClusterQueue y: x → y → x is a circle; make one of them a root",
        "y": "spec.parent of ClusterQueue x: y → x → y is a circle; make one of them a root",
    }
    assert (tree.path("fine"), tree.path("below-y"), tree.children("y")) == (("fine", "org"), ("below-y",), [])


def test_a_parent_that_cannot_be_read_is_told_with_its_fault() -> None:
    tree = QuotaTree({"a": a_queue("a", 1)}, {"org": "spec.flavors: bad"})
    assert tree.faults == {"a": "spec.parent: ClusterQueue org cannot be used as written: spec.flavors: bad"}


def test_a_queue_that_is_not_there_is_a_path_of_its_own() -> None:
    usage = used(a_tree(), gone=3)
    assert (usage.used("gone", *CPU), usage.available("gone", CPU)) == (3, Available(0, "gone"))
