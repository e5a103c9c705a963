"""Whom a decision does not look at, and what is kept for it, changes nothing: it says what a look at everybody would.

That is held for each decision after each event, in trees whose queues preempt from one another by policies that
contradict each other. And nothing that is admitted passes a quota or limit anywhere on the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, inf
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.feasibility.feasible import Feasible, index_of
from controller.core.keys import GATE
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import Flavor, StopPolicy
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Phase, Pod
from tests.support.builders import a_cache, a_flavor, a_local_queue, a_node, a_static_flavor, too_much
from tests.support.contested_worlds import (
    CLOUD,
    FLAVORS,
    NOW,
    Contested,
    Happening,
    apart,
    apart_fair,
    backfilling,
    deep,
    deep_gangs,
    fair,
    fair_backfilling,
    gangs,
    mingled,
    mingled_fair,
    trees,
)
from tests.support.seeds import seeds
from tests.support.snapshots import changed, without_memory

_SKY = a_node("sky", labels={"pool": CLOUD}, cpu=1000)
_GRACE = (30, 1800, 0)
"""Grace periods in seconds: who is evicted slowly is waited for, in some of these worlds longer than others are."""
_DECISIONS = 100
"""More in a row than any of these worlds takes to come to rest."""
_TREES = (trees, gangs, fair, mingled, mingled_fair, deep, deep_gangs, apart, apart_fair)
_KINDS = (*_TREES, backfilling, fair_backfilling)


class World:
    """A cache, and an apiserver, a scheduler and owners that do at once what they are asked for."""

    def __init__(self, drawn: Contested) -> None:
        self.drawn = drawn
        self.now = NOW
        self.version = 2
        self.made: dict[str, int] = {}
        self.cache: ClusterCache = a_cache(
            *drawn.pods,
            nodes=drawn.nodes if drawn.cloud is None else (*drawn.nodes, _SKY),
            flavors=[*map(a_flavor, FLAVORS), *([] if drawn.cloud is None else [_cloud(drawn.cloud)])],
            queues=drawn.queues,
            locals_=[a_local_queue(one.name, one.name) for one in drawn.queues],
        )
        self.cache.advance(self.now)
        self.decisions = 0

    def put(self, pod: Pod, **changes: Any) -> None:
        self.version += 1
        self.cache.put_pod(replace(pod, resource_version=str(self.version), **changes))

    # -- what happens ----------------------------------------------------------------------------------------------

    def happen(self, happening: Happening) -> None:
        what, one = happening
        match what:
            case "ends":
                self._end(one)
            case "comes":
                self.put(one, created=float(self.now))
            case "foreign":
                self.put(one)
            case "supply":
                self.cache.set_flavor(CLOUD, _cloud(one))
            case "node":
                self.cache.put_node(one)
            case "node gone":
                self.cache.drop_node(one)
            case "cordoned":
                node = self.cache.nodes.get(one)
                if node is not None:
                    self.cache.put_node(replace(node, is_cordoned=not node.is_cordoned))
            case "held" | "opened":
                stop = StopPolicy.HOLD if what == "held" else StopPolicy.NONE
                self.cache.set_cluster_queue(one, replace(self.cache.cluster_queues[one], stop=stop))
            case _:
                self.now += one
                self.cache.advance(self.now)

    def _end(self, name: str) -> None:
        """Let a pod end that runs, be deleted where it waits, and be gone where it was evicted."""
        pod = next((one for one in self.cache.pods.values() if one.name.partition("/")[0] == name), None)
        if pod is not None and pod.is_terminating:
            self._make_again(pod)
        elif pod is not None and pod.phase is Phase.RUNNING:
            self.put(pod, is_finished=True, has_succeeded=True)
            self.cache.drop_pod(pod.uid)
        elif pod is not None:
            self.cache.drop_pod(pod.uid)

    def _make_again(self, pod: Pod) -> None:
        name = pod.name.partition("/")[0]
        self.made[name] = self.made.get(name, 0) + 1
        self.cache.drop_pod(pod.uid)
        again = f"{name}/{self.made[name]}"
        plain = replace(pod, name=again, uid=again, gates=(GATE,), generation=1, preemptions=0)
        plain = replace(plain, is_terminating=False, gone_by=0.0, grace=0)
        anew = replace(plain, cluster_queue=None, flavor=None, node=None, admitted_at=0.0, started=0)
        self.put(anew, created=float(self.now))

    # -- decisions -------------------------------------------------------------------------------------------------

    def rest(self) -> str:
        """Decide until nobody moves, and who preempts holds what it did; say what differs from full decisions."""
        for number in range(_DECISIONS):
            snapshot = self._seen()
            full = decide(without_memory(snapshot), limit=self.drawn.limit)
            plan = decide(snapshot, index=self.cache.feasibility, limit=self.drawn.limit)
            self.decisions += 1
            waits = {kind: wait for kind, wait in full.waits.items() if kind in plan.waits}
            if plan != replace(full, waits=waits):
                return f"decision {number}: {_said(plan)}\n{'in full':>10}: {_said(full)}"
            is_moved = (plan.preemptors, plan.held) != (snapshot.waiting.preemptors, snapshot.waiting.held)
            self.cache.absorb(plan)
            before = too_much(self.cache)
            self._carry_out(plan)
            more = {where: used for where, used in too_much(self.cache).items() if used > before.get(where, 0)}
            if more:
                return f"decision {number}: {_said(plan)}\nmore is used than may be: {more}"
            if plan.is_complete and not plan.admits and not plan.evicts and not is_moved:
                return ""
        return f"{_DECISIONS} decisions in a row moved somebody"

    def _seen(self) -> Snapshot:
        snapshot = changed(self.cache.snapshot(), asked=(), preempts_in=None)
        return changed(snapshot, leaving=replace(snapshot.running.leaving, evictions_left=self.drawn.at_once))

    def _carry_out(self, plan: Plan) -> None:
        for admit in plan.admits:
            stamps: dict[str, Any] = {
                "cluster_queue": admit.cluster_queue,
                "flavor": admit.flavor,
                "node": admit.node or _SKY.name,
            }
            stamps |= {"preemptions": admit.preemptions, "admitted_at": float(self.now), "started": self.now}
            self.put(self.cache.pods[admit.uid], gates=(), generation=2, **stamps)
            self.cache.settle(admit.uid)
        for evict in plan.evicts:
            self.cache.evictions.begin(evict)
            if self.drawn.is_slow:
                grace = _GRACE[len(self.made) % len(_GRACE)]
                self.put(
                    self.cache.pods[evict.pod.uid], is_terminating=True, gone_by=float(self.now + grace), grace=grace
                )
            else:
                self._make_again(self.cache.pods[evict.pod.uid])

    def rest_in_portions(self) -> str:
        """Decide as the controller does, until nothing is due; say what a look at everybody would still find then."""
        for _ in range(10 * _DECISIONS):
            snapshot = self.cache.snapshot()
            plan = decide(snapshot, index=self.cache.feasibility, limit=self.drawn.limit)
            is_moved = (plan.preemptors, plan.held) != (snapshot.waiting.preemptors, snapshot.waiting.held)
            self.cache.absorb(plan)
            self._carry_out(plan)
            if plan.admits or plan.evicts or is_moved or not plan.is_complete:
                continue
            due = self.cache.next_portion()
            if due == inf:
                found = decide(without_memory(self.cache.snapshot()), limit=self.drawn.limit)
                return "" if not found.admits and not found.evicts else f"at rest, {_said(found)} is forgotten"
            self.now = max(self.now, ceil(due))
            self.cache.advance(due)
        return f"{10 * _DECISIONS} decisions in a row did not come to all"


def _cloud(cpu: int) -> Flavor:
    return a_static_flavor(CLOUD, labels={"pool": CLOUD}, cpu=cpu, memory="9G", pods=50)


def _said(plan: Plan) -> tuple[list[str], list[str]]:
    """Who is admitted, and where; who is evicted."""
    return (
        [f"{one.uid} on {one.flavor} {one.node}" for one in plan.admits],
        [f"{one.pod.uid} evicted" for one in plan.evicts],
    )


def difference(drawn: Contested) -> tuple[str, int]:
    """Return what differs after which event, and how many decisions were held to full ones."""
    world = World(drawn)
    said = world.rest()
    if said:
        return f"before anything happened: {said}", world.decisions
    for number, happening in enumerate(drawn.happenings):
        world.happen(happening)
        said = world.rest()
        if said:
            return f"event {number}, {happening}: {said}", world.decisions
    return "", world.decisions


_RARE = {
    "trees(98)": trees(98),
    "trees(255)": trees(255),
    "trees(12333), slow": replace(trees(12333), is_slow=True),
    "fair(201)": fair(201),
    "gangs(277), slow, two evictions at a time": replace(gangs(277), at_once=2, is_slow=True),
    "mingled_fair(2432), slow": replace(mingled_fair(2432), is_slow=True),
    "fair(379), slow": replace(fair(379), is_slow=True),
    "deep(188), slow": replace(deep(188), is_slow=True),
    "backfilling(539)": backfilling(539),
    "backfilling(2682), one eviction at a time": replace(backfilling(2682), at_once=1),
    "fair(10548), one eviction at a time": replace(fair(10548), at_once=1),
    "mingled_fair(21142), two evictions at a time": replace(mingled_fair(21142), at_once=2),
    "mingled_fair(3034), slow": replace(mingled_fair(3034), is_slow=True),
    "fair(3057), slow": replace(fair(3057), is_slow=True),
    "backfilling(7078)": backfilling(7078),
    "deep_gangs(288)": deep_gangs(288),
    "backfilling(7112), slow": replace(backfilling(7112), is_slow=True),
}


@pytest.mark.parametrize("name", _RARE)
def test_worlds_that_alone_saw_a_fault_see_it_still(name: str) -> None:
    said, _ = difference(_RARE[name])
    assert not said, f"{name}: {said}"


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", seeds(15))
def test_who_is_not_looked_at_changes_no_decision(kind: Callable[[int], Contested], seed: int) -> None:
    said, _ = difference(kind(seed))
    assert not said, f"{kind.__name__}({seed}): {said}"


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", seeds(5))
def test_who_is_put_off_is_not_forgotten(kind: Callable[[int], Contested], seed: int) -> None:
    said, _ = difference(replace(kind(seed), at_once=1))
    assert not said, f"{kind.__name__}({seed}), one eviction at a time: {said}"


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", seeds(8))
def test_in_portions_nobody_is_forgotten(
    kind: Callable[[int], Contested], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where each portion is one tree, and one class is told why it waits."""
    monkeypatch.setattr("controller.cache.queue.preemption_rounds.PORTION", 1)
    monkeypatch.setattr("controller.cache.queue.asked.PORTION", 1)
    world = World(kind(seed))
    found = [world.rest_in_portions()]
    for happening in world.drawn.happenings:
        world.happen(happening)
        found.append(world.rest_in_portions())
    assert not any(found), f"{kind.__name__}({seed}): {found}"


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", seeds(3))
def test_rows_kept_up_are_those_built_anew(kind: Callable[[int], Contested], seed: int) -> None:
    world = World(kind(seed))
    seen = 0
    for happening in (None, *world.drawn.happenings):
        if happening is not None:
            world.happen(happening)
        snapshot = world.cache.snapshot()
        kept, built = world.cache.feasibility, index_of(snapshot)
        assert kept is not None
        found = [set(Feasible(snapshot, one, Ledger(snapshot)).classes) for one in (kept, built)]
        assert found[0] == found[1]
        assert dict(kept.lines) == built.lines
        assert kept.may_hear_more == built.may_hear_more
        seen += len(built.lines)
        assert not world.rest()
    assert seen
