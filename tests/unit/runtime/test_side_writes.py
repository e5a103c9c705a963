from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.keys import CONDITION
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.workloads.pods import Pod
from controller.kube.errors import Conflict, Forbidden, KubeError, NotFound, TooManyRequests, Unreachable
from controller.runtime import gauges
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_node,
    a_pod,
    a_released_pod,
    a_saying,
    a_shape,
    decided,
)
from tests.support.conditions import a_lane, answering, names, write, writing
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime, turns

NEVER = a_shape(cpu="9")
WEB = Owner("apps/v1", "ReplicaSet", "web", "web")


def a_waiting_pod(name: str, created: float, **fields: Any) -> Pod:
    return a_pod(name, NEVER, created=created, **fields)


async def test_a_condition_says_why_a_pod_waits(time: FakeTime) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60))
    decided(cache)
    (call,) = await write(cache, answering())
    assert call.path == "/api/v1/namespaces/default/pods/a/status"
    assert call.params == {"fieldManager": "penstock"}
    (condition,) = call.body["status"]["conditions"]
    assert {name: condition[name] for name in ("type", "status", "reason", "message")} == {
        "type": CONDITION,
        "status": "False",
        "reason": "NeverFits",
        "message": "flavor spot: needs 9 cpu, more than the whole quota (8)",
    }
    assert condition["lastTransitionTime"].startswith("2026-03-01T08:00:0")
    assert call.body["metadata"] == {"uid": "a"}


def alike_where_one_goes(now: float) -> ClusterCache:
    """Two pods that are alike wait, and others go for one of them."""
    lower = a_cluster_queue(preemption=Preemption(Within.LOWER_PRIORITY))
    low = a_released_pod("low", a_shape(cpu="8"), owner=WEB, node="node-1", admitted_at=1.0)
    alike = [a_pod(name, a_shape(cpu="8"), priority=5, created=now - age) for name, age in (("one", 60), ("two", 50))]
    cache = a_cache(low, *alike, nodes=[a_node("node-1", cpu="8")], queues=[lower])
    cache.advance(now)
    return cache


async def test_only_preemptors_say_that_others_go_for_them(time: FakeTime) -> None:
    cache = alike_where_one_goes(time.now)
    assert list(decided(cache).preemptors) == ["one"]
    conditions = [call.body["status"]["conditions"][0] for call in await write(cache, answering())]
    assert [(one["reason"], one["message"].split(";")[0]) for one in conditions] == [
        ("Preempting", "flavor spot: waits for 1 preempted pod to go"),
        ("QuotaExceeded", "flavor spot: needs 8 cpu, more than is free of its quota"),
    ]


async def test_a_restart_reads_from_pods_for_whom_others_go(
    time: FakeTime,
) -> None:
    cache = alike_where_one_goes(time.now)
    decided(cache)
    await write(cache, answering())
    started = a_cache(*cache.pods.values(), nodes=cache.nodes.values(), queues=cache.cluster_queues.values())
    assert list(started.snapshot().waiting.preemptors) == ["one"]


def test_the_gauge_counts_those_alone_for_whom_others_go() -> None:
    cache, metrics = alike_where_one_goes(100.0), ControllerMetrics()
    decided(cache)
    list(gauges.refresh(cache, metrics))
    found = {one.labels["reason"]: one.value for one in next(iter(metrics.pending.collect())).samples}
    assert found == {"Preempting": 1.0, "QuotaExceeded": 1.0}


async def test_the_oldest_is_first_and_none_before_3_seconds(time: FakeTime) -> None:
    pods = [
        a_waiting_pod("mid", time.now - 30),
        a_waiting_pod("new", time.now + 30),
        a_waiting_pod("old", time.now - 60),
    ]
    cache = a_cache(*pods)
    decided(cache)
    assert names(await write(cache, answering())) == ["old", "mid"]


async def test_a_pod_is_written_once_it_has_waited_3_seconds(time: FakeTime) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 2.98))
    decided(cache)
    assert names(await write(cache, answering())) == ["a"]


async def test_released_pods_come_before_new_ones(time: FakeTime) -> None:
    released = a_released_pod("r", created=time.now - 10, said=a_saying())
    cache = a_cache(a_waiting_pod("old", time.now - 60), released)
    decided(cache)
    calls = await write(cache, answering())
    assert names(calls) == ["r", "old"]
    (condition,) = calls[0].body["status"]["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "True",
        "Admitted",
        "Admitted by ClusterQueue team-a onto flavor spot",
    )


@pytest.mark.parametrize(
    "pod",
    [
        a_released_pod("r"),
        a_released_pod("r", said=a_saying("True", "Admitted")),
        a_released_pod("r", said=a_saying(), is_finished=True),
        a_released_pod("r", said=a_saying(), is_terminating=True),
    ],
)
@pytest.mark.usefixtures("time")
async def test_a_released_pod_that_says_nothing_wrong_is_left_alone(pod: Pod) -> None:
    assert await write(a_cache(pod), FakeClient()) == []


async def test_the_same_reason_is_not_written_again(time: FakeTime) -> None:
    cache = a_cache(
        a_waiting_pod("told", time.now - 60, said=a_saying("False", "NeverFits")),
        a_waiting_pod("other", time.now - 50, said=a_saying()),
    )
    for _ in range(3):
        decided(cache)
        cache.reopen_all()
    assert names(await write(cache, answering(), rounds=9)) == ["other"]


async def test_another_reason_is_written_a_minute_after_the_last_one(time: FakeTime) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60))
    client = answering()
    decided(cache)
    await write(cache, client)
    cache.set_local_queue(("default", "main"), None)
    decided(cache)
    assert len(await write(cache, client)) == 1
    time.now += 61
    calls = await write(cache, client)
    assert [call.body["status"]["conditions"][0]["reason"] for call in calls] == ["NeverFits", "QueueNotFound"]


async def test_a_pod_nobody_has_looked_at_yet_says_nothing(time: FakeTime) -> None:
    assert await write(a_cache(a_waiting_pod("a", time.now - 60)), FakeClient()) == []


async def test_a_long_message_is_cut(time: FakeTime) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60, gates=(*a_pod().gates, "x" * 5000)))
    decided(cache)
    (call,) = await write(cache, answering())
    assert len(call.body["status"]["conditions"][0]["message"]) == 1024


async def test_a_failed_write_is_retried_and_given_up_in_the_end(
    time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    later: list[tuple[float, Callable[..., None], str]] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda *call: later.append(call))
    cache = a_cache(a_waiting_pod("a", time.now - 60), a_released_pod("r", said=a_saying()))
    decided(cache)
    client = FakeClient().will("PATCH", *[Forbidden(403, "", "no")] * 6)
    lane = a_lane(cache, client)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lane.run(), name="conditions")
        pauses = []
        for _ in range(4):
            await turns(8)
            pauses.append([pause for pause, _, _ in later])
            for _, put_back, uid in later:
                put_back(uid)
            later.clear()
        task.cancel()
    assert names(client.made("PATCH")) == ["r", "a", "r", "a", "r", "a"]
    assert pauses == [[30.0, 30.0], [60.0, 60.0], [], []]


@pytest.mark.parametrize("error", [NotFound(404, "", ""), Conflict(409, "", "")])
async def test_a_condition_of_a_pod_that_is_gone_is_not_retried(time: FakeTime, error: KubeError) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60))
    decided(cache)
    assert names(await write(cache, FakeClient().will("PATCH", error), rounds=9)) == ["a"]


async def test_an_apiserver_in_trouble_is_left_alone_for_a_second(time: FakeTime) -> None:
    cache = a_cache(*(a_waiting_pod(name, time.now - 60) for name in "ab"))
    decided(cache)
    client = FakeClient().will("PATCH", Unreachable("x"), TooManyRequests(429, "", ""))
    assert names(await write(cache, client, rounds=9)) == ["a", "b"]
    assert time.slept.count(1.0) == 2


async def test_a_pod_that_somebody_else_released_says_so(time: FakeTime) -> None:
    cache = a_cache(a_released_pod("r", cluster_queue=None, flavor=None, said=a_saying()))
    (call,) = await write(cache, answering())
    (condition,) = call.body["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "ReleasedOutsidePenstock")


async def test_the_time_of_transition_stays_while_the_status_does(time: FakeTime) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 900, said=a_saying(at=time.now - 300)))
    decided(cache)
    (call,) = await write(cache, answering())
    (condition,) = call.body["status"]["conditions"]
    assert ("lastTransitionTime" in condition, "lastProbeTime" in condition) == (False, True)


async def test_other_words_for_a_reason_are_written_unless_figures(time: FakeTime) -> None:
    old = a_saying("False", "NeverFits", at=time.now - 300, message="other numbers")
    gone = a_saying("False", "QueueNotFound", at=time.now - 300, message="LocalQueue x does not exist")
    pods = [a_waiting_pod("sums", time.now - 900, said=old), a_waiting_pod("words", time.now, queue="y", said=gone)]
    cache = a_cache(*pods)
    decided(cache)
    assert names(await write(cache, answering())) == ["words"]


Told = list[tuple[str, str, str]]


async def told(cache: ClusterCache, client: FakeClient, *, rounds: int = 5) -> Told:
    """Of which pods the lane says that they wait, why and in which words."""
    told: Told = []
    lane = a_lane(cache, client, on_wait=lambda pod, reason, message: told.append((pod.name, reason, message)))
    await writing(lane, rounds)
    return told


async def test_who_begins_to_wait_is_told_of(time: FakeTime) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60), a_released_pod("r", said=a_saying()))
    decided(cache)
    message = "flavor spot: needs 9 cpu, more than the whole quota (8)"
    assert await told(cache, answering()) == [("a", "NeverFits", message)]


async def test_another_reason_is_told_of_and_other_words_are_not(time: FakeTime) -> None:
    old = a_saying(at=time.now - 300)
    gone = a_saying("False", "QueueNotFound", at=time.now - 300, message="LocalQueue x does not exist")
    pods = [a_waiting_pod("other", time.now - 900, said=old), a_waiting_pod("words", time.now, queue="y", said=gone)]
    cache = a_cache(*pods)
    decided(cache)
    assert [name for name, _, _ in await told(cache, answering())] == ["other"]


@pytest.mark.parametrize("error", [NotFound(404, "", ""), Forbidden(403, "", "no")])
async def test_nobody_is_told_of_whose_condition_is_unwritten(time: FakeTime, error: KubeError) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60))
    decided(cache)
    assert await told(cache, FakeClient().will("PATCH", error)) == []
