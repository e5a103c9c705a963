"""Which queues have somebody admitted who holds something of several flavors: who goes there leaves it in each."""

from __future__ import annotations

from controller.cache.timers.preemptible import Preemptible
from controller.core.workloads.groups import GroupKey, Membership
from tests.support.builders import a_cluster_queue, a_released_pod

GANG = Membership(GroupKey("default", "gang"), 2)
FIRST = a_released_pod("first", flavor="spot", cluster_queue="team-a", group=GANG)
SECOND = a_released_pod("second", flavor="steady", cluster_queue="team-b", group=GANG)
BOTH = a_released_pod("both", flavor="spot", flavors=("spot", "steady"), cluster_queue="team-a")


def preemptible() -> Preemptible:
    return Preemptible({name: a_cluster_queue(name) for name in ("team-a", "team-b")})


def test_a_gang_in_two_flavors_is_of_several() -> None:
    seen = preemptible()
    seen.observe("first", FIRST)
    assert seen.of_several == frozenset()
    for _ in range(2):
        seen.observe("second", SECOND)
        assert seen.of_several == {"team-a", "team-b"}
    seen.observe("first", None)
    assert seen.of_several == frozenset()


def test_a_pod_open_to_two_flavors_is_of_several() -> None:
    seen = preemptible()
    seen.observe("both", BOTH)
    assert seen.of_several == {"team-a"}
    seen.observe("both", None)
    assert seen.of_several == frozenset()
