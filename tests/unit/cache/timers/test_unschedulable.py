from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.timers.unschedulable import UnschedulableFlavors
from controller.core.calendar.windows import FOR_EVER
from controller.core.kubernetes.owners import Owner
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.pods import Pod
from tests.support.builders import a_pod, a_released_pod, a_shape

WEB = Owner("apps/v1", "ReplicaSet", "web", "web-uid")
SET = Owner("apps/v1", "StatefulSet", "db", "db-uid")


def learning(moved: set[str] | None = None) -> UnschedulableFlavors:
    learnt = UnschedulableFlavors(set() if moved is None else moved)
    learnt.advance(1000.0)
    return learnt


def back_from(
    flavor: str,
    owner: Owner | None,
    name: str = "one",
    said: str = "no volume.",
    cause: str = "ReservationTimeout",
    admitted_at: float = 400.0,
) -> Evict:
    fields: dict[str, Any] = {"unscheduled": said, "queue": "main", "admitted_at": admitted_at}
    pod = a_released_pod(name, owner=owner, flavor=flavor, **fields)
    return Evict(pod, EvictionCause(cause), "")


def avoided(learnt: UnschedulableFlavors, pod: Pod) -> list[str]:
    return [one.flavor for one in learnt.applied(pod).shape.unschedulable]


def test_an_owner_pauses_a_flavor_for_ten_minutes() -> None:
    moved: set[str] = set()
    learnt = learning(moved)
    learnt.learn(back_from("spot", WEB))
    assert moved == {"default"}
    assert avoided(learnt, a_pod("two", owner=WEB)) == ["spot"]
    assert avoided(learnt, a_pod("other", owner=SET)) == avoided(learnt, a_pod("bare")) == []
    # another template
    assert avoided(learnt, a_pod("larger", a_shape(cpu="2"), owner=WEB)) == []
    moved.clear()
    assert learnt.next_change() == 1600
    learnt.advance(1600.0)
    assert (avoided(learnt, a_pod("two", owner=WEB)), moved) == ([], {"default"})


def test_each_pause_doubles_up_to_a_day() -> None:
    learnt, now = learning(), 1000.0
    pauses = []
    for _ in range(10):
        learnt.learn(back_from("spot", WEB, admitted_at=now))
        pauses.append(learnt.next_change() - now)
        now = learnt.next_change()
        learnt.advance(now)
    assert pauses == [600 * 2**number for number in range(8)] + [86_400] * 2
    learnt.advance(now + 86_400)
    assert learnt.next_change() == FOR_EVER
    learnt.learn(back_from("spot", WEB, admitted_at=now))
    assert learnt.next_change() == now + 86_400 + 600


def test_pods_sent_before_do_not_lengthen_the_pause() -> None:
    learnt = learning()
    for number in range(8):
        learnt.learn(back_from("spot", WEB, f"web-{number}", admitted_at=400.0))
    assert learnt.next_change() == 1600
    # an eviction that got no answer is sent again, and one sent earlier comes back when the pause is over
    learnt.advance(1600.0)
    learnt.learn(back_from("spot", WEB, "web-9", admitted_at=900.0))
    assert learnt.next_change() == 2200


def test_pods_of_a_stateful_set_are_told_apart_by_name() -> None:
    learnt = learning()
    learnt.learn(back_from("spot", SET, "db-0"))
    assert (avoided(learnt, a_pod("db-0", owner=SET)), avoided(learnt, a_pod("db-1", owner=SET))) == (["spot"], [])


@pytest.mark.parametrize(
    "evict",
    [
        back_from("spot", None),
        back_from("spot", WEB, said=""),
        back_from("spot", WEB, cause="Preempted"),
        back_from("spot", WEB, cause="FlavorDry"),
    ],
    ids=["nobody makes it anew", "the scheduler has not said why", "preempted", "the whole flavor is dry"],
)
def test_nothing_is_learnt_where_nothing_is_known_of_the_flavor(evict: Evict) -> None:
    moved: set[str] = set()
    learnt = learning(moved)
    learnt.learn(evict)
    assert (avoided(learnt, a_pod("two", owner=WEB)), moved, learnt.next_change()) == ([], set(), FOR_EVER)


def test_a_member_of_a_gang_that_is_on_a_node_teaches_nothing() -> None:
    learnt, evict = learning(), back_from("spot", WEB)
    learnt.learn(replace(evict, pod=replace(evict.pod, node="node-1")))
    assert avoided(learnt, a_pod("two", owner=WEB)) == []


def test_all_flavors_that_were_open_to_it_are_not_tried() -> None:
    learnt, evict = learning(), back_from("spot", WEB)
    learnt.learn(replace(evict, pod=replace(evict.pod, flavors=("other", "spot"))))
    assert avoided(learnt, a_pod("two", owner=WEB)) == ["other", "spot"]


def test_a_pod_that_gets_a_node_there_afterwards_ends_it() -> None:
    moved: set[str] = set()
    learnt = learning(moved)
    learnt.learn(back_from("spot", WEB))
    moved.clear()
    earlier = a_released_pod("earlier", owner=WEB, flavor="spot", node="node-1", admitted_at=900.0)
    learnt.observe(earlier)
    assert avoided(learnt, a_pod("two", owner=WEB)) == ["spot"]
    learnt.observe(replace(earlier, started=1700))
    assert (avoided(learnt, a_pod("two", owner=WEB)), moved, learnt.next_change()) == ([], {"default"}, FOR_EVER)
    learnt.learn(back_from("spot", WEB))
    learnt.observe(replace(earlier, admitted_at=1700.0))
    assert avoided(learnt, a_pod("two", owner=WEB)) == []
