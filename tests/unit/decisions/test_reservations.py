from __future__ import annotations

from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.timers.timers import Timers
from controller.core.calendar.durations import format_duration, parse_duration
from controller.core.calendar.windows import FOR_EVER
from controller.core.keys import ADMITTED_AT
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.pods import Pod
from controller.kube.errors import NotFound
from tests.support.builders import a_cache, a_cluster_queue, a_released_pod, a_saying
from tests.support.conditions import write
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime
from tests.support.pod_documents import a_pod_document, decoded


def test_a_timer_is_due_once_and_when_it_was_set_last() -> None:
    timers = Timers()
    for uid, at in (("a", 10), ("b", 20), ("c", 30), ("a", 40)):
        timers.set(uid, at)
    timers.set("c", None)
    assert timers.next_change() == 20
    assert list(timers.advance(39.0)) == ["b"]
    assert list(timers.advance(40.0)) == ["a"]
    assert (list(timers.advance(99.0)), timers.next_change(), timers.now) == ([], FOR_EVER, 99.0)


def test_a_timer_that_is_set_anew_when_it_is_due_comes_again() -> None:
    timers = Timers()
    timers.set("a", 1)
    came = []
    for uid in timers.advance(10.0):
        came.append(uid)
        if len(came) < 3:
            timers.set(uid, len(came) + 1)
    assert came == ["a", "a", "a"]


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (90, "1m30s"), (3600, "1h"), (3723, "1h2m3s")])
def test_durations_are_written_as_they_are_read(seconds: int, text: str) -> None:
    assert format_duration(seconds) == text
    assert parse_duration(text) == seconds


def an_impatient_queue(seconds: int | None = 600) -> ClusterQueue:
    return a_cluster_queue(reservation_timeout=seconds)


def a_reserved_pod(**fields: Any) -> Pod:
    filled = {"pinned": "node-1", "admitted_at": 100.0, "unscheduled": "no node fits", **fields}
    return a_released_pod("a", **filled)


def taken(cache: ClusterCache) -> dict[str, int]:
    """What is used on node-1 and of the queue."""
    cache.snapshot()
    return {
        "node": cache.usage.by_node.get("node-1", {}).get("cpu", 0),
        "quota": cache.usage.by_queue.get(("team-a", "spot", "cpu"), 0),
    }


def test_the_cache_wakes_the_loop_when_a_reservation_is_overdue() -> None:
    cache = a_cache(a_reserved_pod(), queues=[an_impatient_queue()])
    cache.snapshot()
    assert cache.advance(699.0) == 700
    assert taken(cache) == {"node": 1000, "quota": 1000}
    assert cache.advance(700.0) == FOR_EVER
    assert taken(cache) == {"node": 0, "quota": 1000}
    cache.put_pod(a_reserved_pod(node="node-1", resource_version="3"))
    assert (taken(cache), dict(cache.clocks.reservations.overdue)) == ({"node": 1000, "quota": 1000}, {})


def test_queues_that_change_count_from_the_admission() -> None:
    cache = a_cache(a_reserved_pod(), queues=[])
    cache.advance(1000.0)
    assert taken(cache)["node"] == 1000
    cache.set_cluster_queue("team-a", an_impatient_queue())
    assert taken(cache)["node"] == 0
    cache.set_cluster_queue("team-a", an_impatient_queue(7200))
    assert taken(cache)["node"] == 1000
    assert cache.advance(1000.0) == 7300
    cache.set_cluster_queue("team-a", an_impatient_queue(None))
    cache.snapshot()
    assert cache.advance(1000.0) == FOR_EVER


def test_a_pod_without_our_stamp_is_never_overdue() -> None:
    cache = a_cache(a_reserved_pod(admitted_at=0.0), queues=[an_impatient_queue()])
    cache.snapshot()
    assert cache.advance(1e9) == FOR_EVER


async def conditions(cache: ClusterCache) -> list[tuple[str, str, str]]:
    """What is written on released pods now."""
    calls = await write(cache, FakeClient().will("PATCH", *[NotFound(404, "NotFound", "gone")] * 100))
    written = [call.body["status"]["conditions"][0] for call in calls]
    return [(one["status"], one["reason"], one["message"]) for one in written]


async def test_the_condition_follows_the_scheduler(time: FakeTime) -> None:
    cache = a_cache(a_reserved_pod(), queues=[an_impatient_queue()])
    cache.snapshot()
    assert await conditions(cache) == []
    cache.advance(700.0)
    text = "Admitted by ClusterQueue team-a onto flavor spot, and on no node after 10m: no node fits"
    assert await conditions(cache) == [("True", "Reserved", text)]
    said = a_saying("True", "Reserved")
    cache.put_pod(a_reserved_pod(said=said, resource_version="3"))
    assert await conditions(cache) == []
    cache.put_pod(a_reserved_pod(said=said, node="node-1", resource_version="4"))
    assert [(status, reason) for status, reason, _ in await conditions(cache)] == [("True", "Admitted")]


@pytest.mark.parametrize(("stamp", "at"), [("1970-01-01T00:01:40Z", 100.0), ("soon", 0.0), ("", 0.0)])
def test_the_time_of_admission_is_read_unless_it_is_none(stamp: str, at: float) -> None:
    assert decoded(a_pod_document(metadata={"annotations": {ADMITTED_AT: stamp}})).admitted_at == at


def test_the_schedulers_message_is_read_of_reserved_pods() -> None:
    def read(reason: str, **spec: Any) -> str:
        said = {"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/1 nodes are available"}
        return decoded(a_pod_document(status={"conditions": [said]}, spec=spec)).unscheduled

    assert read("Unschedulable") == "0/1 nodes are available"
    assert read("SchedulingGated") == ""
    assert read("Unschedulable", nodeName="node-1") == ""
    assert decoded(a_pod_document()).unscheduled == ""
