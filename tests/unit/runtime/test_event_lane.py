"""Events: which are published, how many, and under which names."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import orjson
import pytest

from controller.core.kubernetes.owners import Owner
from controller.core.reasons import NEEDS_A_CHANGE, Reason
from controller.core.workloads.decisions import Admit, Evict, EvictionCause
from controller.kube.errors import Conflict, Forbidden, KubeError, NotFound, Unreachable
from controller.runtime.event_lane import EventLane
from controller.runtime.executor import Released
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_pod, a_released_pod, a_workload
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime, turns

JOB = Owner("batch/v1", "Job", "train", "j")


def a_release(name: str = "a", node: str | None = "node-1") -> Released:
    pod = a_pod(name, created=1_772_351_000.0)
    return Released(pod, Admit(pod.uid, a_workload(pod), "team-a", "spot", node))


async def publish(client: FakeClient, *releases: Released) -> ControllerMetrics:
    metrics = ControllerMetrics()
    lane = EventLane(client.as_client, metrics, instance="host-1")
    for release in releases:
        lane.announce(release)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lane.run(), name="events")
        await turns(12)
        task.cancel()
    return metrics


def counts(metrics: ControllerMetrics) -> dict[str, int]:
    samples = [s for metric in metrics.side_writes.collect() for s in metric.samples if s.name.endswith("_total")]
    return {f"{s.labels['kind']} {s.labels['result']}": int(s.value) for s in samples}


@pytest.mark.usefixtures("time")
async def test_a_release_makes_one_event_named_after_the_pods_uid() -> None:
    client = FakeClient().will("POST", b"{}", b"{}")
    assert counts(await publish(client, a_release(), a_release("b", None))) == {"event written": 2}
    first, second = client.made("POST")
    assert first.path == "/api/v1/namespaces/default/events"
    assert first.body["metadata"] == {"name": "a.a", "namespace": "default"}
    assert first.body["involvedObject"]["uid"] == "a"
    message = "Admitted by ClusterQueue team-a onto flavor spot after 1000 s"
    assert (first.body["message"], second.body["message"]) == (f"{message}, room planned on node node-1", message)
    assert (first.body["reason"], first.body["eventTime"]) == ("Admitted", "2026-03-01T08:00:00.000000Z")
    assert orjson.loads(orjson.dumps(first.body)) == first.body


async def announced(lane: EventLane, client: FakeClient, count: int) -> None:
    """So many releases at once, and their Events written."""
    client.will("POST", *[b"{}"] * 200)
    for number in range(count):
        lane.announce(a_release(f"pod-{number}"))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lane.run(), name="events")
        await turns(200)
        task.cancel()


async def test_the_first_fifty_releases_have_events_then_two_a_second(time: FakeTime) -> None:
    client, metrics = FakeClient(), ControllerMetrics()
    lane = EventLane(client.as_client, metrics, instance="host-1")
    await announced(lane, client, 120)
    assert counts(metrics) == {"event written": 50, "event left_out": 70}
    time.now += 5
    await announced(lane, client, 100)
    assert counts(metrics) == {"event written": 60, "event left_out": 160}
    time.now += 3_600
    await announced(lane, client, 60)
    assert counts(metrics) == {"event written": 110, "event left_out": 170}


@pytest.mark.usefixtures("time")
async def test_an_eviction_has_its_event_after_many_releases() -> None:
    client, metrics = FakeClient(), ControllerMetrics()
    lane = EventLane(client.as_client, metrics, instance="host-1")
    await announced(lane, client, 60)
    pod = a_released_pod("gone")
    lane.announce_eviction(Evict(pod, EvictionCause.DRAINED, "of the test"))
    await announced(lane, client, 0)
    assert counts(metrics) == {"event written": 51, "event left_out": 10}
    assert client.made("POST")[-1].body["reason"] == "Evicted"


@pytest.mark.parametrize(
    ("error", "expected"),
    [(Conflict(409, "AlreadyExists", ""), {}), (NotFound(404, "", ""), {}), (Unreachable("x"), {"event failed": 1})],
)
@pytest.mark.usefixtures("time")
async def test_an_unwritten_event_is_counted_unless_it_is_there(error: KubeError, expected: dict[str, int]) -> None:
    client = FakeClient().will("POST", error, b"{}")
    assert counts(await publish(client, a_release(), a_release("b"))) == {**expected, "event written": 1}


@pytest.mark.usefixtures("time")
async def test_an_event_of_a_long_name_still_fits() -> None:
    client = FakeClient().will("POST", b"{}")
    release = a_release()
    await publish(client, replace(release, pod=replace(release.pod, name="n" * 253, uid="u" * 36)))
    assert len(client.calls[0].body["metadata"]["name"]) <= 253


WAITS = "flavor spot: needs 9 cpu, more than is free of its quota"


def a_lane(client: FakeClient) -> tuple[EventLane, ControllerMetrics]:
    metrics = ControllerMetrics()
    return EventLane(client.as_client, metrics, instance="host-1"), metrics


async def published(lane: EventLane, rounds: int = 12) -> None:
    """Let the lane publish for some turns."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lane.run(), name="events")
        await turns(rounds)
        task.cancel()


@pytest.mark.usefixtures("time")
async def test_a_bare_pod_that_waits_gets_an_event_of_its_own() -> None:
    client = FakeClient().will("POST", b"{}")
    lane, metrics = a_lane(client)
    lane.announce_wait(a_pod("a"), Reason.QUOTA_EXCEEDED, WAITS)
    await published(lane)
    body = client.made("POST")[0].body
    assert body["metadata"] == {"name": "a.a.quotaexceeded", "namespace": "default"}
    assert (body["involvedObject"]["kind"], body["involvedObject"]["name"]) == ("Pod", "a")
    assert (body["type"], body["reason"], body["message"]) == ("Normal", "QuotaExceeded", WAITS)
    assert counts(metrics) == {"event written": 1}


@pytest.mark.usefixtures("time")
async def test_a_thousand_pods_of_a_job_share_an_event_a_reason() -> None:
    client = FakeClient().will("POST", b"{}", b"{}")
    lane, metrics = a_lane(client)
    for number in range(1000):
        for reason in (Reason.QUOTA_EXCEEDED, Reason.PRIORITY):
            lane.announce_wait(a_pod(f"train-{number}", owner=JOB), reason, WAITS)
    await published(lane)
    events = [call.body for call in client.made("POST")]
    assert [one["metadata"]["name"] for one in events] == ["train.j.quotaexceeded", "train.j.priority"]
    job = {"apiVersion": "batch/v1", "kind": "Job", "namespace": "default", "name": "train", "uid": "j"}
    assert [one["involvedObject"] for one in events] == [job, job]
    assert counts(metrics) == {"event written": 2}


STANDING = orjson.dumps({"metadata": {"uid": "e"}, "count": 3})


async def test_a_reason_that_comes_back_is_counted_once_more(time: FakeTime) -> None:
    exists = Conflict(409, "AlreadyExists", "")
    client = FakeClient().will("POST", b"{}", exists).will("GET", STANDING).will("PATCH", b"{}")
    lane, metrics = a_lane(client)
    for later in (0, 299, 1):
        time.now += later
        lane.announce_wait(a_pod("train-1", owner=JOB), Reason.QUOTA_EXCEEDED, f"after {later}")
    await published(lane)
    (patch,) = client.made("PATCH")
    assert patch.path == "/api/v1/namespaces/default/events/train.j.quotaexceeded"
    told = {"count": 4, "message": "after 1", "lastTimestamp": "2026-03-01T08:05:00Z", "reportingInstance": "host-1"}
    assert patch.body == {"metadata": {"uid": "e"}, **told}
    assert counts(metrics) == {"event written": 2}


@pytest.mark.parametrize(
    ("error", "expected"), [(NotFound(404, "", ""), {}), (Forbidden(403, "", ""), {"event failed": 1})]
)
@pytest.mark.usefixtures("time")
async def test_an_event_that_expires_meanwhile_is_left(error: KubeError, expected: dict[str, int]) -> None:
    client = FakeClient().will("POST", Conflict(409, "AlreadyExists", "")).will("GET", error)
    lane, metrics = a_lane(client)
    lane.announce_wait(a_pod("a"), Reason.QUOTA_EXCEEDED, WAITS)
    await published(lane)
    assert counts(metrics) == expected


async def test_events_of_waits_are_bounded_warnings_apart(time: FakeTime) -> None:
    client = FakeClient().will("POST", *[b"{}"] * 200)
    lane, metrics = a_lane(client)
    for number in range(80):
        lane.announce_wait(a_pod(f"pod-{number}"), Reason.QUOTA_EXCEEDED, WAITS)
    lane.announce_wait(a_pod("misspelt"), Reason.QUEUE_NOT_FOUND, "LocalQueue x does not exist")
    await published(lane, 200)
    assert counts(metrics) == {"event written": 51, "event left_out": 30}
    assert client.made("POST")[-1].body["type"] == "Warning"
    time.now += 5
    for number in range(80):
        lane.announce_wait(a_pod(f"pod-{number}"), Reason.QUOTA_EXCEEDED, WAITS)
    await published(lane, 200)
    assert counts(metrics) == {"event written": 61, "event left_out": 50}


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.usefixtures("time")
async def test_what_waiting_does_not_end_is_a_warning(reason: Reason) -> None:
    client = FakeClient().will("POST", b"{}")
    lane, _ = a_lane(client)
    owner = Owner("batch/v1", "Job", "n" * 253, "u" * 36)
    lane.announce_wait(a_pod("a", owner=owner), reason, WAITS)
    await published(lane)
    body = client.made("POST")[0].body
    assert body["type"] == ("Warning" if reason in NEEDS_A_CHANGE else "Normal")
    assert len(body["metadata"]["name"]) <= 253
