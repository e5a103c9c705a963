from __future__ import annotations

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.calendar.civil import utc_text
from controller.core.calendar.windows import FOR_EVER
from controller.core.explaining.wording import describe
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.fallback import steps_of, waited
from controller.core.queueing.queues import ClusterQueue, FlavorQuota, WhenCanBorrow
from controller.core.reasons import Reason
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_released_pod,
    a_shape,
    admitted,
    decided,
    waiting,
)


def a_patient_queue(*seconds: int) -> ClusterQueue:
    """A queue of `spot` and so on, each with such a `fallback_after`."""
    names = ("spot", "on-demand", "reserved")
    quotas = (FlavorQuota(name, {"cpu": 8000}, fallback_after=one) for name, one in zip(names, seconds, strict=False))
    return a_cluster_queue("team-a", *quotas)


def a_patient_cache(*seconds: int) -> ClusterCache:
    """One cpu of `spot`, plenty of `on-demand`."""
    nodes = [a_node(cpu="1"), a_node("steady", labels={"pool": "on-demand"})]
    flavors = [a_flavor(), a_flavor("on-demand")]
    return a_cache(nodes=nodes, flavors=flavors, queues=[a_patient_queue(*seconds, 0)])


@pytest.mark.parametrize(
    ("seconds", "found"), [(-1, (0, 60)), (0, (0, 60)), (59.5, (0, 60)), (60, (60, 300)), (300, (300, None))]
)
def test_a_step_is_reached_when_the_wait_is_as_long(seconds: float, found: tuple[int, int | None]) -> None:
    assert waited((60, 300), seconds) == found


def test_the_steps_of_a_queue_are_its_different_times_in_order() -> None:
    assert steps_of(a_patient_queue(300, 60, 300)) == (60, 300)
    assert steps_of(a_patient_queue(0, 0)) == steps_of(None) == ()
    assert waited((), 1e9) == (0, None)


def test_the_next_fallback_wakes_the_loop() -> None:
    cache = a_patient_cache(600)
    assert cache.advance(0) == FOR_EVER
    for name, created in (("a", 0.0), ("b", 100.0), ("c", 50.0)):
        cache.put_pod(a_pod(name, created=created))
    assert list(admitted(decided(cache))) == ["a"]
    assert cache.advance(100) == 650
    assert admitted(decided(cache)) == {}
    assert cache.advance(650) == 700
    assert admitted(decided(cache)) == {"c": ("on-demand", "steady")}
    assert cache.advance(700) == FOR_EVER
    assert admitted(decided(cache)) == {"b": ("on-demand", "steady")}


def test_timers_of_pods_that_went_do_nothing() -> None:
    cache = a_patient_cache(600)
    cache.put_pod(a_pod("small", a_shape(cpu="2"), created=10.0))
    cache.put_pod(a_pod("gone", a_shape(cpu="2"), created=20.0))
    cache.drop_pod("gone")
    assert cache.advance(620) == FOR_EVER
    assert [kind.waited for kind in cache.backlog.runs] == [600]


def test_pods_that_were_there_before_their_queue_get_its_timer() -> None:
    cache = a_cache(a_pod("early", created=10.0), queues=[], locals_=[])
    cache.advance(30)
    cache.snapshot()
    assert cache.advance(30) == FOR_EVER
    cache.set_cluster_queue("team-a", a_patient_queue(600, 0))
    cache.set_local_queue(("default", "main"), a_local_queue())
    cache.snapshot()
    assert cache.advance(30) == 610
    cache.set_cluster_queue("team-a", a_patient_queue(20, 0))
    cache.snapshot()
    assert [kind.waited for kind in cache.backlog.runs] == [20]


def test_instants_are_written_as_kubernetes_writes_them() -> None:
    assert utc_text(0) == "1970-01-01T00:00:00Z"
    assert utc_text(1_772_440_203) == "2026-03-02T08:30:03Z"


def a_flavor_cache(*nodes: Node, when: WhenCanBorrow = WhenCanBorrow.MAY_STOP_SEARCH) -> ClusterCache:
    """A queue of `spot`, then after ten minutes `on-demand`, and a sibling that lends to it."""
    quotas = (FlavorQuota("spot", {"cpu": 0}, fallback_after=600), FlavorQuota("on-demand", {"cpu": 8000}))
    queues = [
        a_cluster_queue("team-a", *quotas, parent="org", when_can_borrow=when),
        a_cluster_queue("team-b", FlavorQuota("spot", {"cpu": 8000}), parent="org"),
        ClusterQueue(name="org"),
    ]
    return a_cache(nodes=nodes, flavors=[a_flavor(), a_flavor("on-demand")], queues=queues)


def an_on_demand_node(cpu: str = "8") -> Node:
    return a_node("steady", labels={"pool": "on-demand"}, cpu=cpu)


def test_a_flavor_that_never_fits_is_passed_at_once() -> None:
    cache = a_flavor_cache(a_node(cpu="4"), an_on_demand_node())
    cache.put_pod(a_foreign_pod("busy", a_shape(cpu="4"), node="node-1"))
    cache.put_pod(a_pod("a", a_shape(cpu="3")))
    assert waiting(decided(cache)) == {"main/3000": "NoCapacity"}
    cache.put_node(a_node(cpu="2"))
    assert admitted(decided(cache)) == {"a": ("on-demand", "steady")}


def test_freed_nodes_pass_a_flavor_that_never_fits() -> None:
    cache = a_flavor_cache(a_node(cpu="2"), an_on_demand_node())
    cache.put_pod(a_foreign_pod("busy", a_shape(cpu="8"), node="steady"))
    cache.put_pod(a_pod("a", a_shape(cpu="3")))
    assert waiting(decided(cache)) == {"main/3000": "NoCapacity"}
    cache.drop_pod("busy")
    assert admitted(decided(cache)) == {"a": ("on-demand", "steady")}


def test_trying_not_to_borrow_still_waits_for_fallback() -> None:
    cache = a_flavor_cache(a_node(cpu="4"), an_on_demand_node(), when=WhenCanBorrow.TRY_NEXT_FLAVOR)
    cache.put_pod(a_pod("a"))
    assert admitted(decided(cache)) == {"a": ("spot", "node-1")}
    cache.advance(600.0)
    cache.put_pod(a_pod("b"))
    assert admitted(decided(cache)) == {"b": ("on-demand", "steady")}


def test_short_quota_keeps_the_time_of_the_next_flavor() -> None:
    cache = a_flavor_cache(a_node(cpu="8"), an_on_demand_node())
    cache.put_pod(a_foreign_pod("busy", a_shape(cpu="8"), node="node-1"))
    cache.put_pod(a_pod("a", a_shape(cpu="3"), created=100.0))
    decided(cache)
    cache.put_pod(a_released_pod("b", a_shape(cpu="6"), node="elsewhere"))
    cache.drop_pod("busy")
    (wait,) = decided(cache).waits.values()
    assert wait.reason is Reason.PARENT_QUEUE_LIMIT
    assert describe(wait, 100.0).endswith("; flavor on-demand: tried from 1970-01-01T00:11:40Z on")


def test_room_freed_while_an_earlier_flavor_was_full_counts() -> None:
    cache = a_flavor_cache(a_node(cpu="2"), an_on_demand_node())
    cache.put_pod(a_foreign_pod("busy", a_shape(cpu="8"), node="steady"))
    cache.put_pod(a_pod("a", a_shape(cpu="3")))
    assert waiting(decided(cache)) == {"main/3000": "NoCapacity"}
    cache.drop_node("node-1")
    cache.drop_pod("busy")
    assert admitted(decided(cache)) == {}
    cache.put_node(a_node(cpu="2"))
    assert admitted(decided(cache)) == {"a": ("on-demand", "steady")}
