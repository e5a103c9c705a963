"""How many lines are looked at where shares decide: those that may have the turn, not all that wait."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.core.fitting.placement import Placement
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.fair_sharing_policy import USUAL
from controller.core.quota.quota_tree import UsageKey
from controller.core.snapshot import Snapshot
from controller.core.turns.fair_turns import FairTurns
from controller.core.turns.nominations import Nominee, Takes, Turn
from controller.core.workloads.workload import Workload
from tests.support.builders import a_cluster_queue, a_flavor, a_pod, a_shape, a_snapshot, a_tree_quota, a_workload

PARTS, TEAMS = 4, 5


@dataclass
class Lines:
    """One pod waits in each queue, and goes wherever it is asked unless its line is `full`."""

    world: Snapshot
    full: set[str] = field(default_factory=set)
    visited: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.world)
        self.turns = FairTurns(self.world, self.ledger, self.nominate, self.earliest)

    def workload(self, line: str) -> Workload:
        return a_workload(a_pod(line, a_shape(cpu="1"), created=float(line.removeprefix("team-"))))

    def earliest(self, line: str) -> Turn | None:
        return None if line in self.full else (False, self.workload(line).order, line)

    def nominate(self, line: str) -> Nominee | None:
        self.visited.append(line)
        turn = None if line in self.full else self.earliest(line)
        takes = Takes({("spot", "cpu"): 1000})
        return None if turn is None else Nominee(turn, self.workload(line).kind, takes, (Placement(a_flavor(), None),))

    def enter(self) -> str | None:
        """Let all take part; return whose turn it is."""
        turn, *_ = self.turns.enter([f"team-{number}" for number in range(PARTS * TEAMS)], list)
        return self.turns.line_of(turn)


def lines(*borrowing: str) -> Lines:
    """A tree of four parts with five teams each; some teams have borrowed all that anybody lends."""
    root = a_cluster_queue("org", a_tree_quota("spot", 100_000), fair_sharing=USUAL)
    parts = [a_cluster_queue(f"part-{number}", a_tree_quota("spot", 0), parent="org") for number in range(PARTS)]
    teams = [
        a_cluster_queue(f"team-{number}", a_tree_quota("spot", 1000), parent=f"part-{number % PARTS}")
        for number in range(PARTS * TEAMS)
    ]
    used: dict[UsageKey, int] = {(name, "spot", "cpu"): 9000 for name in borrowing}
    for name in borrowing:
        above = f"part-{int(name.removeprefix('team-')) % PARTS}"
        used |= {(above, "spot", "cpu"): 9000, ("org", "spot", "cpu"): 9000}
    return Lines(a_snapshot(queues=[root, *parts, *teams], usage=used))


def test_of_equal_shares_one_line_of_each_part_is_looked_at() -> None:
    found = lines()
    assert found.enter() == "team-0"
    assert sorted(found.visited) == ["team-0", "team-1", "team-2", "team-3"]


def test_a_part_whose_share_is_larger_is_not_looked_at() -> None:
    found = lines("team-0")
    assert found.enter() == "team-1"
    assert sorted(found.visited) == ["team-1", "team-2", "team-3"]


def test_a_line_behind_one_that_cannot_go_is_looked_at() -> None:
    found = lines()
    found.full.add("team-0")
    assert found.enter() == "team-1"
    assert sorted(found.visited) == ["team-0", "team-1", "team-2", "team-3", "team-4"]


def test_after_a_turn_only_affected_lines_are_looked_at() -> None:
    found = lines()
    line = found.enter()
    assert line == "team-0"
    found.visited.clear()
    found.full.add(line)
    takes = Takes({("spot", "cpu"): 1000})
    found.ledger.charge(line, a_flavor(), a_shape(cpu="1").requests)
    turn, *_ = found.turns.moved(line, takes, None)
    assert (found.turns.line_of(turn), found.visited) == ("team-1", ["team-0", "team-4"])
