"""Who comes while others wait: at the rate of the last hours, the busiest aside, and like those that came."""

from __future__ import annotations

from itertools import islice

from controller.core.kubernetes.owners import Owner
from controller.core.workloads.pods import Phase
from controller.simulator.arrivals import drawn, streams
from controller.simulator.world import PastRun
from tests.support.builders import MAIN, a_pod, a_shape
from tests.support.simulated_worlds import NOW, a_world

HOUR = 3600


def test_as_many_come_as_in_a_usual_hour() -> None:
    each_hour = [a_pod(f"usual-{hour}-{n}", created=NOW - 60 - HOUR * hour) for hour in range(6) for n in range(4)]
    at_once = [a_pod(f"burst-{number}", created=NOW - 90) for number in range(500)]
    (stream,) = streams(a_world(*each_hour, *at_once), [])
    assert (stream.queue, stream.rate * HOUR) == (MAIN, 4)


def test_a_batch_that_came_at_once_does_not_come_again() -> None:
    assert streams(a_world(*(a_pod(f"burst-{n}", created=NOW - 90) for n in range(500))), []) == []


def test_what_began_and_has_gone_came_as_well() -> None:
    small = a_shape(cpu="1")
    gone = [
        PastRun(MAIN, small.requests, int(NOW) - HOUR * hour - 10, f"gone-{hour}-{n}", 60)
        for hour in range(6)
        for n in range(3)
    ]
    (stream,) = streams(a_world(a_pod("large", a_shape(cpu="2"), created=NOW - 9 * HOUR)), gone)
    assert (stream.requests, stream.rate * HOUR) == (small.requests, 3)
    assert [pod.name for pod in stream.like] == ["large"]


def test_those_that_come_are_new_queued_pods_of_nobody() -> None:
    owner = Owner("batch/v1", "Job", "train", "job")
    each_hour = [a_pod(f"usual-{hour}", created=NOW - 60 - HOUR * hour, owner=owner) for hour in range(6)]
    coming = list(islice(drawn(streams(a_world(*each_hour), []), NOW, "seed"), 50))
    assert [at for at, _ in coming] == sorted(at for at, _ in coming)
    assert len({pod.uid for _, pod in coming}) == 50
    assert {(pod.phase, pod.owner, pod.created > NOW) for _, pod in coming} == {(Phase.QUEUED, None, True)}
    assert coming == list(islice(drawn(streams(a_world(*each_hour), []), NOW, "seed"), 50))
