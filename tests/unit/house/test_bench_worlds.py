"""The worlds of `make bench-decide` are what their recipes say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf

import pytest

from controller.core.decision.decide import decide
from controller.core.workloads.pods import Phase
from tests.bench.measuring import measure
from tests.bench.rules import RULES
from tests.bench.worlds import Recipe, draw, load
from tests.support.builders import UNLIMITED
from tests.support.constraints import allows

SMALL = Recipe(shapes=20, scale=0.01)


def test_a_recipe_draws_one_world_and_a_seed_another() -> None:
    assert draw(SMALL) == draw(SMALL)
    assert draw(SMALL) != draw(replace(SMALL, seed=2))


def test_a_world_has_as_many_of_everything_as_its_recipe_says() -> None:
    world = draw(SMALL)
    assert (len(world.queued), len(world.bound), len(world.queues), len(world.nodes)) == (500, 500, 10 + 60, 50)
    assert len({pod.shape for pod in world.queued}) == SMALL.shapes
    assert len({pod.uid for pod in (*world.queued, *world.bound)}) == 1_000


def test_every_node_runs_a_hundred_pods_within_its_capacity() -> None:
    world, taken = draw(SMALL), Counter[tuple[str, str]]()
    for pod in world.bound:
        taken.update({(pod.node or "", resource): amount for resource, amount in pod.shape.requests})
    for node in world.nodes:
        assert taken[(node.name, "pods")] == 100
        for resource, amount in node.allocatable.items():
            assert taken[(node.name, resource)] <= amount


def test_pods_run_where_they_may_within_their_quota() -> None:
    world = draw(SMALL)
    cache, labels = load(world), {node.name: node.labels for node in world.nodes}
    ours = [pod for pod in world.bound if pod.phase is Phase.RUNNING]
    assert ours
    for pod in ours:
        assert pod.node is not None
        assert allows(pod.shape.constraints, pod.node, labels[pod.node])
        assert cache.index.flavor_of[pod.node] == pod.flavor
    for queue in world.queues:
        for quota in queue.flavors:
            for resource, nominal in quota.nominal.items():
                assert cache.usage.by_queue.get((queue.name, quota.flavor, resource), 0) <= nominal


def test_an_empty_world_runs_nothing_and_takes_nearly_all() -> None:
    world = draw(replace(SMALL, quota=5.0, room=inf))
    assert world.bound == []
    assert len(decide(load(world).snapshot(), limit=UNLIMITED).admits) > 300


@pytest.mark.parametrize("rules", [(), *((name,) for name in RULES), tuple(RULES)])
def test_a_small_world_is_measured_to_the_end(rules: tuple[str, ...]) -> None:
    said: list[str] = []
    figures = measure(SMALL, rules, depth=2, endings=3, is_batched=True, say=said.append)
    assert (figures.pods, figures.admitted > 0, figures.ended_p50 > 0) == (1_000, True, True)
    assert said[0] == "drawing"
