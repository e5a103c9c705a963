"""Time passes in a simulated cluster: pods come, run and end; nodes, windows and owners do what they do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.api.time_zones import load_zone
from controller.core.calendar.cron import parse_cron
from controller.core.calendar.windows import Window
from controller.core.kubernetes.owners import Job
from controller.core.queueing.effective import Override, Variation, WrittenQueue, WrittenQuota
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import StopPolicy
from controller.core.queueing.shares import Share
from controller.simulator.simulated_cluster import SimulatedCluster
from tests.support.builders import a_cluster_queue, a_node, a_pod, a_quota, a_released_pod, a_shape, a_static_flavor
from tests.support.simulated_worlds import NOW, Diary, a_job_pod, a_world, lasting, simulated

A_JOB = Job(uid="job", namespace="default", name="train", parallelism=2, completions=3, ignores_disruption=True)


def test_who_waits_begins_when_who_runs_ends() -> None:
    world = a_world(a_pod("first", a_shape(cpu="3"), created=1.0), a_pod("second", a_shape(cpu="3"), created=2.0))
    assert simulated(world, seconds=600) == [
        "0 first began on node-1",
        "600 first succeeded",
        "600 second began on node-1",
        "1200 second succeeded",
    ]


def test_who_runs_at_the_start_ends_by_its_own_start() -> None:
    runs = a_released_pod("runs", a_shape(cpu="3"), node="node-1", started=int(NOW) - 500)
    assert simulated(a_world(runs, a_pod("next", a_shape(cpu="3")))) == [
        "100 runs succeeded",
        "100 next began on node-1",
        "700 next succeeded",
    ]


def test_a_reserved_pod_is_bound_at_once() -> None:
    lines = simulated(a_world(a_released_pod("reserved", pinned="node-1", admitted_at=NOW - 30)))
    assert lines == ["0 reserved began on node-1", "600 reserved succeeded"]


def test_pods_arrive_at_their_time() -> None:
    diary = Diary()
    cluster = SimulatedCluster(a_world(), end_of=lasting(60), observer=diary)
    cluster.arrive((NOW + at, a_pod(f"pod-{at}", created=NOW + at)) for at in (10, 20))
    for _ in cluster.steps(NOW + 1000):
        pass
    assert diary.lines[:4] == [
        "10 pod-10 arrived",
        "10 pod-10 began on node-1",
        "20 pod-20 arrived",
        "20 pod-20 began on node-1",
    ]


def test_a_job_creates_its_next_pod_when_one_succeeds() -> None:
    pods = [a_job_pod(A_JOB, name) for name in ("train-a", "train-b")]
    lines = simulated(a_world(*pods, jobs=[A_JOB]))
    assert [line for line in lines if line.endswith("arrived")] == ["600 train-simulated-1 arrived"]
    assert len([line for line in lines if line.endswith("succeeded")]) == 3


def test_a_preempted_pod_of_a_job_comes_again() -> None:
    preempting = a_cluster_queue(preemption=Preemption(within=Within.LOWER_PRIORITY))
    low = a_job_pod(A_JOB, "train-a", shape=a_shape(cpu="3"))
    diary = Diary()
    world = a_world(low, queues=[WrittenQueue(preempting)], jobs=[replace(A_JOB, completions=1, parallelism=1)])
    cluster = SimulatedCluster(world, end_of=lasting(600), observer=diary)
    cluster.arrive([(NOW + 100, a_pod("urgent", a_shape(cpu="3"), priority=10))])
    for _ in cluster.steps(NOW + 10_000):
        pass
    assert diary.lines == [
        "0 train-a began on node-1",
        "100 urgent arrived",
        "100 train-a Preempted",
        "100 train-a arrived",
        "100 urgent began on node-1",
        "700 urgent succeeded",
        "700 train-a began on node-1",
        "1300 train-a succeeded",
    ]


def test_pods_go_with_their_node_and_owners_create_them_again() -> None:
    diary = Diary()
    two = [a_job_pod(replace(A_JOB, completions=None), "owned"), a_pod("bare")]
    world = a_world(*two, nodes=[a_node("node-1")], jobs=[replace(A_JOB, completions=None)])
    cluster = SimulatedCluster(world, end_of=lasting(600), observer=diary)
    cluster.at(NOW + 60, lambda: cluster.drop_node("node-1"))
    cluster.at(NOW + 90, lambda: cluster.put_node(a_node("node-2")))
    for _ in cluster.steps(NOW + 10_000):
        pass
    assert diary.lines[2:] == [
        "60 bare lost",
        "60 owned lost",
        "60 owned arrived",
        "90 owned began on node-2",
        "690 owned succeeded",
    ]


def test_windows_open_and_shares_follow_the_nodes() -> None:
    zone, nightly = load_zone("UTC"), parse_cron("0 20 * * *")
    window = Window(name="night", start=nightly, duration=3600, zone=zone)
    queue = a_cluster_queue("team-a", a_quota("spot", cpu="0"), stop=StopPolicy.HOLD)
    shares = (WrittenQuota("spot", {"cpu": Share(5000)}),)
    varying = Variation(shares=shares, overrides=(Override(window=window, stop=StopPolicy.NONE),))
    pods = [a_pod(name, a_shape(cpu="2"), created=at) for at, name in enumerate(("one", "two"))]
    lines = simulated(a_world(*pods, queues=[WrittenQueue(queue, varying)]))
    # NOW is 2026-05-28T20:26:40Z: the window closes at 21:00; half of the node is one pod's
    assert lines[:2] == ["0 one began on node-1", "600 one succeeded"]
    assert lines[2] == "600 two began on node-1"
    later = simulated(a_world(*pods, queues=[WrittenQueue(queue, varying)]), seconds=2400)
    assert later[2] == f"{86400 - 1600} two began on node-1"


def test_a_flavor_by_sums_needs_no_nodes() -> None:
    queue = a_cluster_queue("team-a", a_quota("licence", cpu="1"))
    world = a_world(a_pod(), nodes=[], flavors=[a_static_flavor(cpu="1")], queues=[WrittenQueue(queue)])
    assert simulated(world) == ["0 pod began on licence/simulated", "600 pod succeeded"]


def test_steps_are_those_of_the_resolution() -> None:
    world = a_world(a_pod("first", a_shape(cpu="3"), created=1.0), a_pod("second", a_shape(cpu="3"), created=2.0))
    lines = simulated(world, seconds=601, resolution=60.0)
    moments = {float(line.split()[0]) + NOW for line in lines[1:]}
    assert moments
    assert all(at % 60 == 0 for at in moments)


@pytest.mark.parametrize(("seconds", "ends"), [(61, 60), (89, 60), (91, 120), (10, 60)])
def test_a_pod_ends_at_the_nearest_step_to_come(seconds: float, ends: int) -> None:
    """Rounded up, the starts of pods that wait for each other would come later with each by half a step."""
    world = replace(a_world(a_pod()), now=NOW // 60 * 60)
    diary = Diary()
    for _ in SimulatedCluster(world, end_of=lasting(seconds), observer=diary, resolution=60.0).steps(NOW + 600):
        pass
    assert diary.lines[-1] == f"{world.now + ends - NOW:g} pod succeeded"


def test_a_pod_that_is_being_deleted_is_gone_in_time() -> None:
    going = a_released_pod("going", a_shape(cpu="3"), node="node-1", is_terminating=True, gone_by=NOW + 30)
    assert simulated(a_world(going, a_pod("next", a_shape(cpu="3"))))[0] == "30 next began on node-1"
