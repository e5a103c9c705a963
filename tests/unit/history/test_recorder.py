"""What is written of pods: each change once, what was seen of their ends and waits, and no more than is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.pods import Pod
from controller.history import recorder
from controller.history.recorder import Change, Recorder
from controller.history.runs import Outcome
from controller.history.used import Used
from tests.support.builders import a_pod, a_released_pod, a_saying

PRICES = {"spot": {"cpu": 5}}


class World:
    """Pods as a cache has them, and who looks on."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.recorder = Recorder(self.pods, lambda flavor: PRICES.get(flavor, {}), "me")

    def put(self, pod: Pod, now: float = 0.0) -> None:
        before, self.pods[pod.uid] = self.pods.get(pod.uid), pod
        self.recorder.changed(before, pod, now)

    def drop(self, uid: str, now: float) -> None:
        self.recorder.gone(self.pods.pop(uid), now)

    def take(self) -> dict[str, Change]:
        return {one.run.uid: one for one in self.recorder.take(1000)}


def waiting(reason: str, at: float) -> Pod:
    return replace(a_pod("a", created=10.0), said=a_saying(reason=reason, at=at))


def test_the_first_forecast_stays() -> None:
    world = World()
    world.put(waiting("Pending", 20.0))
    world.take()
    world.recorder.planned({"a": 100, "other": 70})
    assert world.take()["a"].run.planned == 100
    world.recorder.planned({"a": 200})
    assert world.take() == {}, "nothing that is written has changed"
    world.put(a_released_pod("a", node="node-1", started=70))
    assert world.take()["a"].run.planned == 100
    world.drop("a", 90.0)
    assert world.take()["a"].run.planned == 100


def test_samples_are_written_with_what_changes_and_now_and_then() -> None:
    world = World()
    world.put(a_released_pod("a", node="node-1", started=70))
    assert world.take()["a"].used is None
    for number in range(9):
        world.recorder.sampled("a", {"cpu": number, "memory": 100 - number})
        assert world.take() == {}
    world.recorder.sampled("a", {"cpu": 4})
    change = world.take()["a"]
    expected = Used(10, {"cpu": 40, "memory": 864}, {"cpu": 8, "memory": 100})
    assert (change.used, change.observer) == (expected, "me")
    world.recorder.sampled("a", {"cpu": 50})
    assert change.used == expected, "what was taken stays as it was"
    world.recorder.settle()
    used = world.take()["a"].used
    assert used is not None
    assert (used.samples, used.peaks["cpu"]) == (11, 50)
    world.drop("a", 90.0)
    assert world.take()["a"].used == used
    world.recorder.settle()
    assert world.take() == {}


def test_each_change_is_taken_once() -> None:
    world = World()
    world.put(a_pod("a"))
    world.put(a_pod("b"))
    assert set(world.take()) == {"a", "b"}
    assert world.take() == {}
    world.put(replace(a_pod("a"), resource_version="7"))
    assert world.take() == {}, "nothing that is written has changed"
    world.put(a_released_pod("a", node="node-1", started=70))
    run = world.take()["a"].run
    assert (run.started, run.node, run.charged_to.cluster_queue) == (70, "node-1", "team-a")
    assert run.charged_to.price == (("cpu", 5),)


def test_pods_without_a_queue_are_nobodys_business() -> None:
    world = World()
    world.put(replace(a_pod("a"), queue=None, gates=()))
    assert len(world.recorder) == 0
    world.drop("a", 9.0)
    assert world.take() == {}


def test_the_time_in_which_a_pod_is_bound_is_seen() -> None:
    world = World()
    world.put(a_released_pod("a", node=None), 5.0)
    world.put(a_released_pod("a", node="node-1"), 8.0)
    world.put(a_released_pod("b", node="node-1"), 9.0)
    found = world.take()
    assert (found["a"].run.bound, found["b"].run.bound) == (8, 0)


def test_waits_are_counted_by_reason() -> None:
    world = World()
    world.put(waiting("QuotaExceeded", 20.0), 21.0)
    assert world.take()["a"].run.reason == "QuotaExceeded"
    world.put(waiting("NoCapacity", 50.0), 50.0)
    world.put(waiting("QuotaExceeded", 60.0), 60.0)
    world.put(a_released_pod("a", node=None), 65.0)
    change = world.take()["a"]
    assert (change.waited, change.run.reason) == ({"QuotaExceeded": 35, "NoCapacity": 10}, "")


@pytest.mark.parametrize("is_evicted", [False, True])
def test_a_pod_that_is_gone_has_ended(is_evicted: bool) -> None:
    world = World()
    pod = a_released_pod("a", node="node-1", started=70)
    world.put(pod)
    if is_evicted:
        world.recorder.evicted(Evict(pod, EvictionCause.PREEMPTED, "for b"))
        assert (world.take()["a"].run.reason, len(world.recorder)) == ("Preempted", 0)
    world.drop("a", 99.0)
    run = world.take()["a"].run
    assert (run.ended, run.outcome) == (99, Outcome.EVICTED if is_evicted else Outcome.DELETED)


def test_an_end_that_was_seen_before_stays() -> None:
    world = World()
    world.put(replace(a_released_pod("a", started=70), is_finished=True, has_succeeded=True, ended=80))
    world.drop("a", 99.0)
    run = world.take()["a"].run
    assert (run.ended, run.outcome) == (80, Outcome.SUCCEEDED)


def test_an_end_of_which_no_node_says_when_is_when_it_was_seen() -> None:
    world = World()
    world.put(a_released_pod("a", started=70), 75.0)
    ended = replace(a_released_pod("a", started=70), is_finished=True, has_succeeded=True)
    world.put(ended, 80.0)
    assert world.take()["a"].run.ended == 80
    world.put(replace(ended, node="node-1"), 90.0)
    assert world.take()["a"].run.ended == 80
    world.drop("a", 99.0)
    assert world.take()["a"].run.ended == 80


def test_what_could_not_be_written_is_taken_again() -> None:
    world = World()
    for uid in "abc":
        world.put(a_pod(uid))
    world.drop("b", 9.0)
    taken = world.recorder.take(1000)
    assert [one.run.uid for one in taken] == ["b", "a", "c"]
    world.recorder.put_back(taken)
    world.put(a_released_pod("a", started=70))
    again = world.take()
    assert set(again) == {"a", "b", "c"}
    assert again["a"].run.started == 70, "as it is now"


def test_no_more_is_kept_than_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST", 3)
    world = World()
    for number in range(5):
        world.put(a_pod(f"pod-{number}"))
    assert (len(world.recorder), world.recorder.lost) == (3, 2)
    assert set(world.take()) == {"pod-2", "pod-3", "pod-4"}
