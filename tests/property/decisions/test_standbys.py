"""Who has a reservation is the same whether all classes are looked at, or only the first of those that are settled."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.queueing.queues import QueueingStrategy
from controller.core.workloads.decisions import Booking
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import among_all
from tests.support.builders import (
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_shape,
    decided,
)

TEAMS = 6
DOORS = [a_local_queue(f"door-{n}", f"team-{n // 2}") for n in range(2 * TEAMS)]


@dataclass
class World:
    cache: ClusterCache
    made: int = 0
    running: list[str] = field(default_factory=list)

    def come(self, door: int, cpu: str, priority: int) -> None:
        self.made += 1
        name = f"p{self.made:03}"
        pod = a_pod(name, a_shape(cpu=cpu), queue=f"door-{door}", created=float(self.made), priority=priority)
        self.cache.put_pod(replace(pod, expected_runtime=3600))

    def end(self, at: int) -> None:
        if self.running:
            self.cache.drop_pod(self.running.pop(at % len(self.running)))

    def leave(self, at: int) -> None:
        waiting = sorted(uid for uid, pod in self.cache.pods.items() if pod.gates)
        if waiting:
            self.cache.drop_pod(waiting[at % len(waiting)])

    def move(self, at: int, priority: int) -> None:
        """A pod that waits has another place: before or behind its like."""
        waiting = sorted(uid for uid, pod in self.cache.pods.items() if pod.gates)
        if waiting:
            pod = self.cache.pods[waiting[at % len(waiting)]]
            self.made += 1
            self.cache.put_pod(replace(pod, priority=priority, resource_version=str(self.made)))

    def stay(self, node: int, cpu: str) -> None:
        """A pod of somebody else, whose room never comes back: who needs it cannot be reserved for."""
        self.made += 1
        self.cache.put_pod(a_foreign_pod(f"other-{self.made}", a_shape(cpu=cpu), node=f"node-{node}"))

    def come_to_rest(self) -> set[Booking]:
        while True:
            plan = decided(self.cache)
            for admit in plan.admits:
                self._start(self.cache.pods[admit.uid], admit.cluster_queue, admit.node or "")
            if not plan.admits:
                return self._bookings()

    def is_in_order(self) -> bool:
        """Whether the first of each LocalQueue's settled classes, and of all these, is the first."""
        snapshot = self.cache.snapshot()
        settled, runs = snapshot.settled, snapshot.runs
        assert settled is not None
        firsts = list(settled.firsts(runs))
        lines = [[runs[kind][0].order for kind in settled.line(door, runs)] for _, door in firsts]
        heads = [among_all(line[0]) for line in lines]
        return all(line == sorted(line) for line in lines) and heads == sorted(heads) == [order for order, _ in firsts]

    def _start(self, pod: Pod, queue: str, node: str) -> None:
        stamps = {"cluster_queue": queue, "flavor": "spot", "node": node, "resource_version": "1000000"}
        self.cache.put_pod(replace(pod, gates=(), started=60, **stamps))  # type: ignore[arg-type]
        self.cache.settle(pod.uid)
        self.running.append(pod.uid)

    def _bookings(self) -> set[Booking]:
        found = [self.cache.reasons.of(kind).booking for kind in self.cache.backlog.runs]
        assert len(set(found) - {None}) == sum(booking is not None for booking in found)
        return {booking for booking in found if booking is not None}


def a_world(depth: int) -> World:
    """Where so few have a reservation, some queues have none, and come up when others go."""
    queues = [
        a_cluster_queue(
            f"team-{n}",
            a_quota(cpu="4"),
            strategy=QueueingStrategy.BACKFILL if n else QueueingStrategy.BEST_EFFORT_FIFO,
        )
        for n in range(TEAMS)
    ]
    nodes = [a_node("node-1", cpu="4"), a_node("node-2", cpu="3")]
    cache = a_cache(nodes=nodes, queues=queues, locals_=DOORS, backfill_depth=depth)
    cache.pass_to(60.0)
    return World(cache)


def happen(world: World, chance: Random) -> None:
    """Something: most often a pod comes."""
    cpu = chance.choice(("1", "2", "3", "9"))  # 9 fits nowhere, ever
    match chance.choice(("come",) * 11 + ("stay",) * 3 + ("end",) * 3 + ("leave",) * 3 + ("move",) * 3):
        case "come":
            world.come(chance.randrange(2 * TEAMS), cpu, chance.choice((0, 0, 5)))
        case "stay":
            world.stay(chance.choice((1, 2)), chance.choice(("1", "2")))
        case "end":
            world.end(chance.randrange(100))
        case "move":
            world.move(chance.randrange(100), chance.choice((0, 5)))
        case _:
            world.leave(chance.randrange(100))


@pytest.mark.parametrize("depth", [1, 2])
@given(st.integers(0, 2**32), st.integers(5, 60))
@settings(deadline=None, max_examples=150)
def test_settled_classes_are_reserved_for_as_if_all_were_looked_at(depth: int, seed: int, count: int) -> None:
    """By lot, for shrinking is no help: it takes many queues until one comes up for another."""
    world, chance = a_world(depth), Random(seed)  # noqa: S311 - worlds, not secrets
    for _ in range(count):
        happen(world, chance)
        assert world.is_in_order()
        booked = world.come_to_rest()
        plan = decide(replace(world.cache.snapshot(), settled=None, freed=frozenset()), limit=UNLIMITED)
        assert plan.admits == ()
        assert booked == {wait.booking for wait in plan.waits.values()} - {None}
