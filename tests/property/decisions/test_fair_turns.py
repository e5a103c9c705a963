"""Trees that share fairly: what was found blocked before changes nothing, and the tournament is what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.decision.decide import decide
from controller.core.queueing.fair_sharing_policy import Share
from controller.core.queueing.queues import FlavorQuota
from controller.core.quota.fair_sharing import FairShares
from controller.core.quota.tree_usage import TreeUsage
from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import Workload, among_all
from tests.support.builders import (
    UNLIMITED,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_pod,
    a_shape,
    a_snapshot,
    a_tree_quota,
)
from tests.support.seeds import examples
from tests.support.snapshots import changed
from tests.support.strategies import DOORS, FLAVORS, WEIGHTS, cluster_queues, nodes, parent_queues, waiting_pods

THOROUGH = settings(max_examples=examples(200))
TEAMS = ("team-a", "team-b", "team-c", "team-d")


@st.composite
def fair_worlds(draw: st.DrawFn) -> Snapshot:
    """Any two queues of one tree that shares fairly."""
    pods = [draw(waiting_pods(f"p{number}")) for number in range(draw(st.integers(0, 12)))]
    teams = [draw(cluster_queues(name, parents=("org",))) for name in ("team-a", "team-b")]
    return a_snapshot(
        *pods,
        nodes=[draw(nodes(f"node-{number}")) for number in range(draw(st.integers(0, 4)))],
        flavors=FLAVORS,
        queues=[replace(draw(parent_queues()), fair_sharing=WEIGHTS[0]), *teams],
        locals_=DOORS,
    )


@THOROUGH
@given(fair_worlds(), st.sampled_from((1, 2, UNLIMITED)))
def test_who_is_not_looked_at_changes_nobodys_turn(world: Snapshot, limit: int) -> None:
    assert decide(changed(world, asked=()), limit=limit).admits == decide(world, limit=limit).admits


@st.composite
def roomy_worlds(draw: st.DrawFn) -> Snapshot:
    """Four queues on two levels, all pods alike but for their place, and quota that ends before the pods do."""

    def quota() -> FlavorQuota:
        return a_tree_quota("spot", draw(st.sampled_from((0, 1000, 2000))))

    parts = [
        a_cluster_queue(name, quota(), parent="org", fair_sharing=draw(st.sampled_from(WEIGHTS))) for name in PARTS
    ]
    teams = [
        a_cluster_queue(name, quota(), parent=draw(st.sampled_from(PARTS)), fair_sharing=draw(st.sampled_from(WEIGHTS)))
        for name in TEAMS
    ]
    root = a_cluster_queue("org", a_tree_quota("spot", draw(st.sampled_from((0, 4000)))), fair_sharing=WEIGHTS[0])
    pods = [
        a_pod(
            f"p{n}", a_shape(cpu="1"), queue=draw(st.sampled_from(TEAMS)), priority=draw(st.integers(0, 1)), created=n
        )
        for n in range(draw(st.integers(0, 14)))
    ]
    return a_snapshot(
        *pods,
        nodes=[a_node(cpu="64")],
        queues=[root, *parts, *teams],
        locals_=[a_local_queue(name, name) for name in TEAMS],
    )


PARTS = ("part-1", "part-2")


def tournament(world: Snapshot, usage: TreeUsage, waiting: list[Workload]) -> Workload | None:
    """Kueue's, as its documentation tells it, over whoever fits: descend from the root into the child that wins."""
    tree, shares = world.queues.tree, FairShares(world.queues.tree, usage)

    def heads(name: str) -> Iterator[Workload]:
        below = [one for one in waiting if one.kind.queue[1] == name]
        if below and usage.available(name, ("spot", "cpu")).amount >= 1000:
            yield min(below, key=lambda one: one.order)
        for child in tree.children(name):
            winner = best(child)
            if winner is not None:
                yield winner

    def key(name: str, head: Workload) -> tuple[bool, Share, object]:
        usage.add(head.kind.queue[1], "spot", "cpu", 1000)
        at = next(one for one in reversed(tree.path(head.kind.queue[1])[:-1]) if name in tree.path(one)[1:])
        cell = tree.cell(at, ("spot", "cpu"))
        assert cell is not None
        found = (usage.used(at, "spot", "cpu") > cell.subtree, shares.of(at), among_all(head.order))
        usage.add(head.kind.queue[1], "spot", "cpu", -1000)
        return found

    def best(name: str) -> Workload | None:
        found = list(heads(name))
        if not tree.children(name):
            return found[0] if found else None
        return min(found, key=lambda head: key(name, head), default=None)

    return best("org")


@THOROUGH
@given(roomy_worlds())
def test_workloads_go_in_as_the_tournament_says(world: Snapshot) -> None:
    usage, waiting = TreeUsage(world.queues.tree), [one for run in world.waiting.runs.values() for one in run]
    expected = []
    while (winner := tournament(world, usage, waiting)) is not None:
        waiting.remove(winner)
        usage.add(winner.kind.queue[1], "spot", "cpu", 1000)
        expected.append(winner.uid)
    assert [admit.uid for admit in decide(world, limit=UNLIMITED).admits] == expected
