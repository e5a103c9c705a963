"""Before and after: the same pods, arrivals and runtimes under two setups, and what that comes to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.kubernetes.owners import Job
from controller.core.queueing.effective import WrittenQueue
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.simulator.changes import parse_change
from controller.simulator.comparing import Comparison, Variant
from controller.simulator.measurements import Outcome
from controller.simulator.world import World
from tests.support.builders import a_cluster_queue, a_flavor, a_node, a_pod, a_quota, a_released_pod, a_shape
from tests.support.simulated_worlds import NOW, a_job_pod, a_world

TWO = a_shape(cpu="2")
DAY = 86_400.0


def four_waiting() -> World:
    """Four pods of 2 cpu that state an hour, where a quota of 4 cpu lets two run at a time."""
    pods = [
        a_pod(f"pod-{n}", TWO, created=NOW - 600 + n, expected_runtime=3600, user=f"user-{n % 2}") for n in range(4)
    ]
    queue = WrittenQueue(a_cluster_queue("team-a", a_quota(cpu="4")))
    return a_world(*pods, nodes=[a_node(cpu="8")], queues=[queue], flavors=[a_flavor(price={"cpu": 10**9})])


def compared(before: World, after: Variant | None, seconds: float = DAY, runs: int = 3) -> list[Outcome]:
    comparison = Comparison(before, after, seconds=seconds)
    for seed in range(runs):
        assert all(0 <= part <= 1 for part in comparison.steps(str(seed)))
    return comparison.outcomes


def median(outcome: Outcome, queue: str = "team-a") -> float:
    wait = outcome.by_queue[queue].quantile(0.5)
    assert wait is not None
    return wait


def test_more_quota_makes_waits_shorter() -> None:
    world = four_waiting()
    before, after = compared(world, Variant(parse_change("quota:team-a/spot/cpu=+4").apply(world)))
    assert (before.runs, after.runs) == (3, 3)
    assert median(after) == pytest.approx(600, abs=5)
    assert median(before) > 1200
    assert {name: len(waits.started) for name, waits in before.by_user.items()} == {"user-0": 6, "user-1": 6}


def test_the_same_setup_comes_to_the_same() -> None:
    world = four_waiting()
    before, after = compared(world, Variant(world))
    assert before == after


def test_cost_is_that_of_what_ran_and_use_that_of_what_there_is() -> None:
    """Each pod runs for at least half of its stated hour, on 2 cores that cost 1 an hour each."""
    (outcome,) = compared(four_waiting(), None, runs=1)
    assert 4 * 2 * 0.5 <= outcome.cost["team-a"] <= 4 * 2
    part = outcome.utilisation(("spot", "cpu"))
    assert part is not None
    assert part * 24 * 8 == pytest.approx(outcome.cost["team-a"], rel=0.001)
    assert outcome.ended == {"team-a": 4}


def test_who_still_waits_at_the_end_counts() -> None:
    (outcome,) = compared(four_waiting(), None, seconds=1200, runs=1)
    waits = outcome.by_queue["team-a"]
    assert (len(waits.started), len(waits.waiting)) == (2, 2)
    assert waits.quantile(0.9) == pytest.approx(1800, abs=5)


def test_preemptions_are_counted_where_they_cost() -> None:
    job = Job(uid="job", namespace="default", name="train", ignores_disruption=True)
    low = replace(a_job_pod(job, "train-a", shape=a_shape(cpu="3")), expected_runtime=3600)
    runs = replace(
        a_released_pod("train-a", a_shape(cpu="3"), node="node-1", started=int(NOW)),
        owner=low.owner,
        expected_runtime=3600,
    )
    urgent = a_pod("urgent", a_shape(cpu="3"), priority=5, expected_runtime=3600)
    queue = a_cluster_queue(preemption=Preemption(within=Within.LOWER_PRIORITY))
    (outcome,) = compared(a_world(runs, urgent, queues=[WrittenQueue(queue)], jobs=[job]), None, runs=1)
    assert (outcome.preempted, outcome.evicted) == ({"team-a": 1}, {})


def test_pods_on_a_lost_flavor_begin_again_elsewhere() -> None:
    job = Job(uid="job", namespace="default", name="train", ignores_disruption=True)
    runs = replace(
        a_released_pod("train-a", TWO, node="node-1", started=int(NOW) - 60, expected_runtime=3600),
        owner=a_job_pod(job, "train-a").owner,
    )
    flavors = [a_flavor("spot"), a_flavor("steady")]
    nodes = [a_node("node-1"), a_node("node-2", labels={"pool": "steady"})]
    queue = a_cluster_queue("team-a", a_quota("spot", cpu="4"), a_quota("steady", cpu="4"))
    world = a_world(runs, nodes=nodes, flavors=flavors, queues=[WrittenQueue(queue)], jobs=[job])
    _, after = compared(world, Variant(parse_change("lost:spot").apply(world)), runs=1)
    assert len(after.by_queue["team-a"].started) == 1
    assert ("spot", "cpu") not in after.capacity


def test_a_new_job_says_when_its_pods_start() -> None:
    job = Job(uid="new", namespace="default", name="new", parallelism=1, completions=2, created=NOW)
    pod = a_job_pod(job, "new-0", shape=TWO, created=NOW, expected_runtime=60)
    _, after = compared(four_waiting(), Variant(four_waiting(), [(job, [pod])]), runs=2)
    assert list(after.starts) == ["default/new-0"]
    assert len(after.starts["default/new-0"]) == 2
    assert after.ended == {"team-a": 12}


def test_pods_of_unknown_runtime_are_named() -> None:
    (outcome,) = compared(a_world(a_pod("lasting")), None, runs=1)
    assert list(outcome.unknown) == ["default/lasting"]
