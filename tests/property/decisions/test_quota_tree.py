"""The quota tree against a direct reading of its rules, in trees of any form."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.queueing.queues import ClusterQueue, FlavorQuota
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from tests.support.builders import a_tree_quota

THOROUGH = settings(max_examples=300)
CPU = ("spot", "cpu")
_limits = st.none() | st.integers(0, 6)
Charges = list[tuple[str, int]]


@st.composite
def trees(draw: st.DrawFn) -> dict[str, ClusterQueue]:
    """Up to seven queues; each but the first hangs on one before it, or is a root too."""
    queues: dict[str, ClusterQueue] = {}
    for number in range(draw(st.integers(1, 7))):
        parent = draw(st.sampled_from(["", *queues])) if queues else ""
        limits = {"borrow": draw(_limits), "lend": draw(_limits)} if parent else {}
        quotas: tuple[FlavorQuota, ...] = (a_tree_quota("spot", draw(st.integers(0, 8)), **limits),)
        queues[f"q{number}"] = ClusterQueue(name=f"q{number}", flavors=quotas, parent=parent)
    return queues


def leaves(queues: dict[str, ClusterQueue]) -> list[str]:
    parents = {queue.parent for queue in queues.values()}
    return [name for name in queues if name not in parents]


class Direct:
    """The rules read one by one, from the top each time: nothing is kept, nothing is shared with the core."""

    def __init__(self, queues: dict[str, ClusterQueue], used: dict[str, int]) -> None:
        self.queues, self.charged = queues, used

    def below(self, name: str) -> list[str]:
        return [one.name for one in self.queues.values() if one.parent == name]

    def quota(self, name: str) -> FlavorQuota:
        return self.queues[name].flavors[0]

    def subtree(self, name: str) -> int:
        return self.quota(name).nominal["cpu"] + sum(self.subtree(one) - self.local(one) for one in self.below(name))

    def local(self, name: str) -> int:
        lending = self.quota(name).lending.get("cpu")
        return 0 if lending is None else max(0, self.subtree(name) - lending)

    def usage(self, name: str) -> int:
        return self.charged.get(name, 0) + sum(max(0, self.usage(one) - self.local(one)) for one in self.below(name))

    def available(self, name: str) -> int:
        parent, used = self.queues[name].parent, self.usage(name)
        if not parent:
            return self.subtree(name) - used
        offered, limit = self.available(parent), self.quota(name).borrowing.get("cpu")
        if limit is not None:
            offered = min(offered, self.subtree(name) - self.local(name) - max(0, used - self.local(name)) + limit)
        return max(0, self.local(name) - used) + offered


@st.composite
def charged_trees(draw: st.DrawFn) -> tuple[dict[str, ClusterQueue], Charges]:
    queues = draw(trees())
    charges = draw(st.lists(st.tuples(st.sampled_from(leaves(queues)), st.integers(0, 5)), max_size=8))
    return queues, charges


@THOROUGH
@given(charged_trees())
def test_usage_and_room_are_those_of_the_rules_read_directly(made: tuple[dict[str, ClusterQueue], Charges]) -> None:
    queues, charges = made
    tree, totals = QuotaTree(queues), dict.fromkeys(queues, 0)
    usage = TreeUsage(tree)
    for name, amount in charges:
        usage.add(name, *CPU, amount)
        totals[name] += amount
    direct = Direct(queues, totals)
    assert tree.faults == {}
    for name in queues:
        cell = tree.cell(name, CPU)
        assert cell is not None
        assert (cell.subtree, cell.local) == (direct.subtree(name), direct.local(name))
        assert usage.used(name, *CPU) == direct.usage(name)
        assert usage.available(name, CPU).amount == direct.available(name)
        assert cell.potential == Direct(queues, {}).available(name)


@THOROUGH
@given(charged_trees(), st.randoms(use_true_random=False))
def test_adding_and_taking_away_are_inverses_in_any_order(
    made: tuple[dict[str, ClusterQueue], Charges], chance: object
) -> None:
    queues, charges = made
    usage = TreeUsage(QuotaTree(queues))
    for name, amount in charges:
        usage.add(name, *CPU, amount)
    back = list(charges)
    chance.shuffle(back)  # type: ignore[attr-defined]
    for name, amount in back:
        usage.add(name, *CPU, -amount)
    assert usage.sums == {}


@THOROUGH
@given(charged_trees(), st.data())
def test_taking_what_there_is_room_for_passes_no_quota_anywhere(
    made: tuple[dict[str, ClusterQueue], Charges], data: st.DataObject
) -> None:
    queues, charges = made
    tree = QuotaTree(queues)
    usage = TreeUsage(tree)
    for name, wanted in charges:
        usage.add(name, *CPU, min(wanted, max(0, usage.available(name, CPU).amount)))
        for one, queue in queues.items():
            cell = tree.cell(one, CPU)
            assert cell is not None
            limit = cell.borrowing_limit if queue.parent else 0
            assert limit is None or usage.used(one, *CPU) <= cell.subtree + limit


@THOROUGH
@given(charged_trees(), st.data())
def test_each_bound_falls_by_what_is_charged_below_it(
    made: tuple[dict[str, ClusterQueue], Charges], data: st.DataObject
) -> None:
    queues, charges = made
    tree = QuotaTree(queues)
    usage = TreeUsage(tree)
    for name, amount in charges:
        usage.add(name, *CPU, amount)
    queue, other = (data.draw(st.sampled_from(leaves(queues))) for _ in range(2))
    before = {bound.at: bound.amount for bound in usage.bounds(queue, CPU)}
    assert min(before.values()) == usage.available(queue, CPU).amount
    more = data.draw(st.integers(0, 9))
    usage.add(other, *CPU, more)
    for bound in usage.bounds(queue, CPU):
        assert before[bound.at] - bound.amount <= (more if bound.at in tree.path(other) else 0)
