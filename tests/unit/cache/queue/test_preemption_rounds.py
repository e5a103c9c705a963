"""In which trees decisions look for pods to preempt: in all after a change, those first in which something moved."""

from __future__ import annotations

from math import inf

from controller.cache.queue.pauses import PAUSE_SECONDS
from controller.cache.queue.preemption_rounds import PORTION, PreemptionRounds
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.quota_tree import QuotaTree
from tests.support.builders import a_cluster_queue

NOW = 1_000.0
LOWER = Preemption(Within.LOWER_PRIORITY)


class Trees:
    """So many trees of two queues each, one of which preempts; `classes` wait for each queue that does."""

    def __init__(self, count: int, *, classes: int) -> None:
        self.roots = [f"org{number}" for number in range(count)]
        self.classes = classes
        self.queues: dict[str, ClusterQueue] = {}
        for root in self.roots:
            self.queues[f"{root}-a"] = a_cluster_queue(f"{root}-a", parent=root, preemption=LOWER)
            self.queues[f"{root}-b"] = a_cluster_queue(f"{root}-b", parent=root)
            self.queues[root] = ClusterQueue(name=root)
        self.tree = QuotaTree(self.queues)
        self.rounds = PreemptionRounds()

    def look(self, now: float, *preempting: str, is_complete: bool = True) -> list[str]:
        self.rounds.advance(now, self.tree, self.queues, lambda _: self.classes, preempting)
        found = list(self.rounds.portion)
        self.rounds.looked(is_complete=is_complete)
        return found

    def come_to_rest(self) -> None:
        self.look(NOW)
        while self.rounds.next_change(NOW) < inf:
            self.look(self.rounds.next_change(NOW) + PAUSE_SECONDS)
        self.look(NOW)


def test_few_classes_are_all_looked_at_at_once() -> None:
    trees = Trees(5, classes=1)
    assert trees.rounds.next_change(NOW) == inf  # nothing is known yet
    assert trees.look(NOW) == trees.roots
    assert (trees.look(NOW), trees.rounds.next_change(NOW)) == ([], inf)
    trees.rounds.changed()
    assert trees.rounds.next_change(NOW) == NOW
    assert trees.look(NOW) == trees.roots


def test_a_round_comes_to_all_trees_a_portion_at_a_time() -> None:
    trees = Trees(5, classes=PORTION // 2)
    assert trees.look(NOW) == trees.roots[:2]
    assert trees.rounds.next_change(NOW) == NOW + PAUSE_SECONDS
    assert trees.look(NOW + PAUSE_SECONDS / 2) == []
    assert trees.look(NOW + PAUSE_SECONDS) == trees.roots[2:4]
    assert trees.look(NOW + 2 * PAUSE_SECONDS) == trees.roots[4:]
    assert trees.rounds.next_change(NOW + 1) == inf


def test_a_tree_with_more_classes_than_a_portion_has_its_turn() -> None:
    trees = Trees(2, classes=10 * PORTION)
    assert trees.look(NOW) == trees.roots[:1]
    assert trees.look(NOW + PAUSE_SECONDS) == trees.roots[1:]


def test_trees_in_which_something_moved_come_first() -> None:
    trees = Trees(6, classes=PORTION // 2)
    trees.come_to_rest()
    trees.rounds.changed()
    trees.rounds.moved(["org4-b", "unknown"])
    assert trees.look(NOW) == ["org4", "org0"]
    trees.rounds.moved(["org5-a"])
    assert trees.rounds.next_change(NOW) == NOW
    assert trees.look(NOW) == ["org5"], "a round goes on after a pause"
    assert trees.look(NOW + PAUSE_SECONDS) == ["org1", "org2"]
    assert trees.look(NOW + 2 * PAUSE_SECONDS) == ["org3"], "the others were looked at since the round began"


def test_a_round_waits_where_what_moved_is_a_whole_portion() -> None:
    trees = Trees(3, classes=PORTION)
    trees.come_to_rest()
    trees.rounds.changed()
    trees.rounds.moved(["org2-a"])
    assert trees.look(NOW) == ["org2"]
    assert trees.rounds.next_change(NOW) == NOW + PAUSE_SECONDS
    trees.rounds.moved(["org2-b"])
    assert trees.look(NOW + PAUSE_SECONDS) == ["org2", "org0"], "but no longer than for a pause"


def test_trees_that_keep_moving_leave_half_to_the_others() -> None:
    trees = Trees(8, classes=PORTION // 4)
    trees.come_to_rest()
    seen = set[str]()
    for number in range(4):
        trees.rounds.changed()
        trees.rounds.moved(["org0-a", "org1-a", "org2-a"])
        seen.update(trees.look(NOW + number * PAUSE_SECONDS))
    assert seen == set(trees.roots)


def test_trees_of_those_who_preempt_are_looked_in_each_time() -> None:
    trees = Trees(3, classes=PORTION)
    trees.come_to_rest()
    assert trees.look(NOW, "org1-a") == trees.look(NOW, "org1-a") == ["org1"]
    assert trees.rounds.next_change(NOW) == inf


def test_an_early_end_keeps_the_trees_for_the_next_decision() -> None:
    trees = Trees(2, classes=1)
    assert trees.look(NOW, is_complete=False) == trees.roots
    assert trees.look(NOW) == trees.roots


def test_trees_that_no_longer_preempt_are_forgotten() -> None:
    trees = Trees(3, classes=PORTION // 2)
    trees.rounds.moved(["org2-a"])
    assert trees.look(NOW, is_complete=False) == ["org2", "org0"]
    trees.queues = {name: one for name, one in trees.queues.items() if not name.endswith("-a")}
    trees.tree = QuotaTree(trees.queues)
    assert trees.look(NOW) == []
    assert trees.rounds.next_change(NOW) == inf


def test_a_clock_that_was_set_back_pauses_no_longer() -> None:
    trees = Trees(3, classes=PORTION)
    assert trees.look(NOW) == ["org0"]
    assert trees.look(NOW - 3_600) == ["org1"]


def test_a_round_begins_anew_at_once() -> None:
    trees = Trees(3, classes=PORTION)
    assert trees.look(NOW) == ["org0"]
    trees.rounds.begin_anew()
    assert trees.look(NOW) == ["org0"]
