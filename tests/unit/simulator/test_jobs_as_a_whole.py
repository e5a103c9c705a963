"""Jobs that are held as a whole, in virtual time: all pods that a Job keeps alive start and end together."""

from __future__ import annotations

from dataclasses import replace

from controller.core.workloads.pods import Pod
from controller.kube.decode_jobs import JobState
from controller.simulator.world import World
from tests.support.builders import a_pod, a_released_pod, a_shape
from tests.support.job_documents import a_job_document, state_of
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


def test_pods_of_an_admitted_job_go_on_as_they_are() -> None:
    job = state_of(a_job_document(spec={"suspend": False, "completions": 1}, cpu="1"))
    assert job.pods is not None
    runs = a_released_pod("train-a", a_shape(cpu="1"), node="node-1", owner=job.pods.owner, admitted_with=job.pods.uid)
    assert simulated(with_job(job, runs), seconds=600) == ["600 train-a succeeded"]
