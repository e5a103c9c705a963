"""Jobs that are held as a whole, in virtual time: all pods that a Job keeps alive start and end together."""

from __future__ import annotations

from dataclasses import replace

from controller.core.keys import MAX_RUN_TIME, MIN_PARALLELISM, WANTED_PARALLELISM
from controller.core.workloads.pods import Pod
from controller.kube.decode_jobs import JobState
from controller.simulator.world import World
from tests.support.builders import a_flavor, a_pod, a_released_pod, a_shape
from tests.support.job_documents import a_job_document, a_released_job, state_of
from tests.support.simulated_worlds import a_world, simulated


def with_job(state: JobState, *pods: Pod) -> World:
    assert state.pods is not None
    world = a_world(replace(state.pods, created=0.5), *pods)
    return replace(world, jobs={state.uid: replace(state.job, created=0.5)})


def test_a_job_takes_the_room_of_all_its_pods() -> None:
    job = state_of(a_job_document(spec={"parallelism": 2, "completions": 4}, cpu="2"))
    assert simulated(with_job(job, a_pod("next", a_shape(cpu="1"), created=9.0)), seconds=600) == [
        "0 train began on spot/simulated",
        "600 train succeeded",
        "600 train arrived",
        "600 train began on spot/simulated",
        "1200 train succeeded",
        "1200 next began on node-1",
        "1800 next succeeded",
    ]


def test_a_limit_ends_jobs_and_pods() -> None:
    job = state_of(a_job_document(metadata={"annotations": {MAX_RUN_TIME: "5m"}}))
    short = a_pod("short", a_shape(cpu="1"), created=9.0, priority_class="c")
    world = replace(with_job(job, short), priority_classes={"c": 1}, class_run_times={"c": 120})
    assert simulated(world, seconds=600) == [
        "0 short began on node-1",
        "0 train began on spot/simulated",
        "120 short succeeded",
        "300 train succeeded",
    ]


def test_pods_of_an_admitted_job_go_on_as_they_are() -> None:
    job = state_of(a_job_document(spec={"suspend": False, "completions": 1}, cpu="1"))
    assert job.pods is not None
    runs = a_released_pod("train-a", a_shape(cpu="1"), node="node-1", owner=job.pods.owner, admitted_with=job.pods.uid)
    assert simulated(with_job(job, runs), seconds=600) == ["600 train-a succeeded"]


def test_a_job_that_begins_with_fewer_has_the_rest_next() -> None:
    note = {"annotations": {MIN_PARALLELISM: "1"}}
    document = a_job_document(spec={"parallelism": 3, "completions": 3}, metadata=note, cpu="2")
    assert simulated(with_job(state_of(document)), seconds=600) == [
        "0 train began on spot/simulated",
        "600 train succeeded",
        "600 train arrived",
        "600 train began on spot/simulated",
        "1200 train succeeded",
    ]


def test_what_a_job_gets_in_addition_has_no_successor() -> None:
    document = a_released_job(a_job_document(spec={"parallelism": 1, "completions": 4}, cpu="1"), [a_flavor()])
    document["metadata"]["annotations"][WANTED_PARALLELISM] = "3"
    happened = simulated(with_job(state_of(document)), seconds=600)
    assert happened.count("0 train began on spot/simulated") == 2
    assert [line for line in happened if "arrived" in line] == ["600 train arrived"]
