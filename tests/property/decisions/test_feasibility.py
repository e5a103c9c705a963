"""The test of all classes at once says what looks at one after the other say, and keeps nobody out who would fit."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.capacity.fitting_pods import FittingPods
from controller.core.capacity.node_index import NodeIndex
from controller.core.decision.admission_checks import admitting_queue
from controller.core.feasibility.class_rows import Verdict
from controller.core.feasibility.feasible import Feasible, index_of
from controller.core.fitting.placement import place
from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.kubernetes.nodes import Node
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.available_amounts import MOST, QuotaRows
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Wait
from controller.core.workloads.shapes import Constraints, Shape
from tests.oracle.agreement import begin
from tests.oracle.drawing import draw_world
from tests.property.decisions.test_quota_tree import CPU, Charges, charged_trees, leaves
from tests.property.decisions.test_room import NAMES, SPOT, amounts, clusters, requests
from tests.support.builders import a_tree_quota

THOROUGH = settings(max_examples=300)
_BATCHES, _BATCH = 5, 60
Asked = list[tuple[Requests, set[str]]]
"""What pods ask for, and on which nodes they may run."""


def a_snapshot_of(chance: Random) -> Snapshot:
    stage = begin(draw_world(chance))
    stage.cluster.cache.advance(stage.cluster.now)
    return stage.cluster.cache.snapshot()


@THOROUGH
@given(charged_trees(), st.integers(0, 6))
def test_available_everywhere_is_available_at_each_queue(
    made: tuple[dict[str, ClusterQueue], Charges], more: int
) -> None:
    queues, charges = made
    tree = QuotaTree(queues)
    usage, rows = TreeUsage(tree), QuotaRows(tree)
    for name, amount in charges:
        usage.add(name, *CPU, amount)
    later = TreeUsage(tree, usage)
    later.add(leaves(queues)[0], *CPU, more)
    used = rows.used(usage)
    for now, found in ((usage, rows.available(used)), (later, rows.available(rows.used_with(used, later.sums)))):
        everywhere = {name: int(found[rows.row_of[name, *CPU]]) for name in queues}
        assert everywhere == {name: now.available(name, CPU).amount for name in queues}


@pytest.mark.parametrize("used", [0, 5, MOST, 2**80])
@pytest.mark.parametrize("quota", [3, MOST - 1, MOST, 2**70])
def test_amounts_beyond_arrays_are_never_told_as_less(quota: int, used: int) -> None:
    queues = {
        "root": ClusterQueue(name="root", flavors=(a_tree_quota("spot", quota),)),
        "leaf": ClusterQueue(name="leaf", flavors=(a_tree_quota("spot", quota, borrow=quota),), parent="root"),
    }
    tree = QuotaTree(queues)
    usage, rows = TreeUsage(tree), QuotaRows(tree)
    usage.add("leaf", *CPU, used)
    found = rows.available(rows.used(usage))
    for name in queues:
        assert found[rows.row_of[name, *CPU]] >= min(MOST, usage.available(name, CPU).amount)


def shapes_of(asked: Asked) -> list[Shape]:
    found = []
    for needs, names in asked:
        term = Term(fields=(Requirement("metadata.name", Operator.IN, tuple(sorted(names))),))
        found.append(Shape(needs, Constraints(terms=(term,) if names else ())))
    return found


def fitting_one_by_one(nodes: NodeIndex, free: Mapping[str, Mapping[str, int]], shape: Shape) -> int:
    on_each = (
        min(max(0, free[name].get(resource, 0)) // need for resource, need in shape.requests)
        for name in nodes.allowed(SPOT, shape.constraints)
        if shape.requests
    )
    return sum(on_each)


@THOROUGH
@given(
    clusters,
    st.lists(st.tuples(requests, st.sets(st.sampled_from(NAMES))), min_size=1, max_size=8),
    st.lists(st.tuples(st.sampled_from(NAMES), amounts), max_size=8),
    st.integers(0, 8),
)
def test_so_many_pods_fit_as_on_one_node_after_the_other(
    cluster: dict[str, Node], asked: Asked, changes: list[tuple[str, dict[str, int]]], early: int
) -> None:
    nodes, shapes = NodeIndex(cluster, {"spot": SPOT}), shapes_of(asked)
    before: dict[str, Mapping[str, int]] = {name: node.allocatable for name, node in cluster.items()}
    free, after = dict(before), dict(before)
    fitting = FittingPods(nodes, free.__getitem__)
    fitting.rows(SPOT, shapes[:early])
    rows = fitting.rows(SPOT, shapes)
    fork = fitting.fork(after.__getitem__)
    for name, now in changes:
        if name in cluster:
            after[name] = {one: amount for one, amount in now.items() if one in cluster[name].allocatable}
        fork.update([name])
    expected = [[fitting_one_by_one(nodes, at, shape) for shape in shapes] for at in (before, after)]
    assert [one.counts("spot")[rows].tolist() for one in (fitting, fork)] == expected
    free.update(after)
    fitting.update(name for name, _ in changes)
    assert fitting.counts("spot")[rows].tolist() == expected[1]


@pytest.mark.parametrize("number", range(_BATCHES))
def test_who_fits_is_found_feasible(number: int) -> None:
    chance = Random(f"feasible/{number}")  # noqa: S311 - cases, not secrets
    outcomes = set[tuple[bool, bool]]()
    for _ in range(_BATCH):
        snapshot = a_snapshot_of(chance)
        feasible = Feasible(snapshot, index_of(snapshot), Ledger(snapshot)).classes
        for kind in snapshot.waiting.runs:
            queue = admitting_queue(snapshot, kind.queue)
            if isinstance(queue, Wait):
                continue
            fits = not isinstance(place(snapshot, Ledger(snapshot), queue, kind), Wait)
            outcomes.add((fits, kind in feasible))
    assert outcomes >= {(True, True), (False, False)}
    assert (True, False) not in outcomes


@pytest.mark.parametrize("number", range(_BATCHES))
def test_rows_that_come_and_go_say_what_those_made_anew_say(number: int) -> None:
    chance = Random(f"rows/{number}")  # noqa: S311
    for _ in range(_BATCH):
        snapshot = a_snapshot_of(chance)
        kept, anew, ledger = index_of(snapshot), index_of(snapshot), Ledger(snapshot)
        kinds = list(snapshot.waiting.runs)
        gone = [kind for kind in kinds if chance.random() < 0.6]
        kept.classes.drop(gone)
        kept.classes.put(kind for kind in gone if chance.random() < 0.7)
        found = kept.classes.verdicts(
            kept.amounts.available(kept.amounts.used(snapshot.usage.in_tree), ledger), kept.fitting
        )
        expected = anew.classes.verdicts(
            anew.amounts.available(anew.amounts.used(snapshot.usage.in_tree), ledger), anew.fitting
        )
        for verdict in Verdict:
            there = {kind for kind in kinds if kind in kept.classes}
            assert {*kept.classes.having(found, verdict)} == there.intersection(anew.classes.having(expected, verdict))
