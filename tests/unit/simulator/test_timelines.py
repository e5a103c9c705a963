"""What is used when: parts of equal length, of one simulation and of several."""

from __future__ import annotations

from itertools import pairwise

import pytest

from controller.core.queueing.effective import WrittenQueue
from controller.simulator.comparing import Comparison
from controller.simulator.timelines import PARTS, Timeline
from tests.support.builders import a_cluster_queue, a_node, a_pod, a_quota, a_shape
from tests.support.simulated_worlds import NOW, a_world

CPU = ("spot", "cpu")


def a_timeline() -> Timeline:
    """Parts of 10 seconds."""
    return Timeline(NOW, 10.0 * PARTS)


def test_a_time_is_shared_out_among_the_parts_it_touches() -> None:
    timeline = a_timeline()
    timeline.add_between(NOW + 5, NOW + 32, {CPU: 2}, {CPU: 4})
    assert timeline.used[CPU][:5] == [10.0, 20.0, 20.0, 4.0, 0.0]
    assert timeline.means(timeline.capacity, CPU, runs=1)[:5] == [2.0, 4.0, 4.0, 0.8, 0.0]
    assert timeline.means(timeline.used, ("none", "cpu"), runs=1) == [0.0] * PARTS


@pytest.mark.parametrize("length", [0.1, 1 / 3, 7.0, 3600.1])
def test_nothing_is_lost_between_parts(length: float) -> None:
    timeline = Timeline(NOW, 240 * length)
    steps = [NOW + 240 * length * step / 1000 for step in range(1001)]
    for since, until in pairwise(steps):
        timeline.add_between(since, until, {CPU: 1}, {})
    assert sum(timeline.used[CPU]) == pytest.approx(240 * length)
    assert timeline.used[CPU] == pytest.approx([length] * PARTS, rel=1e-3)


def test_several_simulations_come_to_their_mean() -> None:
    one, other = a_timeline(), a_timeline()
    one.add_between(NOW, NOW + 10, {CPU: 2}, {})
    other.add_between(NOW, NOW + 20, {CPU: 4}, {CPU: 8})
    one.add(other)
    assert one.means(one.used, CPU, runs=2)[:3] == [3.0, 2.0, 0.0]
    assert one.means(one.capacity, CPU, runs=2)[:3] == [4.0, 4.0, 0.0]


def test_a_comparison_keeps_it_where_it_is_asked_for() -> None:
    pod = a_pod("pod", a_shape(cpu="2"), created=NOW, expected_runtime=3600)
    queue = WrittenQueue(a_cluster_queue("team-a", a_quota(cpu="4")))
    world = a_world(pod, nodes=[a_node(cpu="8")], queues=[queue])
    for has_timeline in (False, True):
        comparison = Comparison(world, None, seconds=7200, has_timeline=has_timeline)
        for seed in ("1", "2"):
            assert list(comparison.steps(seed))
        (outcome,) = comparison.outcomes
        timeline = outcome.timeline
        assert (timeline is not None) == has_timeline
        if timeline is not None:
            used = timeline.means(timeline.used, CPU, outcome.runs)
            assert (used[0], used[-1]) == (2000.0, 0.0)
            assert timeline.means(timeline.capacity, CPU, outcome.runs) == pytest.approx([8000.0] * PARTS)
            assert sum(timeline.used[CPU]) == pytest.approx(outcome.used[CPU])
