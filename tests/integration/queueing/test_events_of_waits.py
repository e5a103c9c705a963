"""What people see on their own objects while they wait: Events of a bare pod, and of a Job for all its pods."""

from __future__ import annotations

import orjson
import pytest

from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import crash
from tests.support.team import Json, Team

pytestmark = pytest.mark.integration


async def events_on(team: Team, kind: str, name: str) -> list[Json]:
    """The Events of waiting on one object, as `kubectl describe` finds them."""
    fields = {"fieldSelector": f"involvedObject.kind={kind},involvedObject.name={name}"}
    found = orjson.loads(await team.client.get(f"/api/v1/namespaces/{team.namespace}/events", fields))
    return [one for one in found["items"] if one.get("action") == "Wait"]


async def until_told(team: Team, kind: str, name: str, *expected: tuple[str, str]) -> list[Json]:
    """Wait for these Events, (type, reason), and no others; return them in this order."""

    async def told() -> list[Json]:
        events = sorted(await events_on(team, kind, name), key=lambda one: str(one["eventTime"]))
        assert [(one["type"], one["reason"]) for one in events] == list(expected), events
        return events

    return await eventually(told, message=f"the Events of {kind} {name} do not say why it waits")


async def test_a_bare_pod_gets_an_event_as_its_reason_changes(team: Team) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("running")
    await team.until_bound("running")
    await team.pod("one", queue="absent")
    (event,) = await until_told(team, "Pod", "one", ("Warning", "QueueNotFound"))
    assert event["message"] == await team.until_waiting("one", "QueueNotFound")
    await team.local_queue("absent", stopPolicy="Hold")
    await until_told(team, "Pod", "one", ("Warning", "QueueNotFound"), ("Normal", "QueueStopped"))


async def test_a_job_gets_the_events_of_all_its_pods(team: Team, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("running")
    await team.until_bound("running")
    job = await team.job("train", parallelism=20, completions=20)
    (event,) = await until_told(team, "Job", "train", ("Normal", "QuotaExceeded"))
    assert event["involvedObject"]["uid"] == job["metadata"]["uid"]
    pods = [name for name in await team.all() if name.startswith("train-")]
    for name in pods:
        await team.until_waiting(name, "QuotaExceeded")
        assert await events_on(team, "Pod", name) == []

    controller = cluster.programs.controller
    await crash(controller, team.client)
    controller.start()
    await controller.wait_ready()
    await team.delete(pods[0])

    async def counted() -> bool:
        # the pod that the Job creates in its place begins to wait: that alone is counted, on the Event that is there
        events = await events_on(team, "Job", "train")
        assert [(one["reason"], one["count"]) for one in events] == [("QuotaExceeded", 2)], events
        return True

    await eventually(counted, message="the new pod's wait is not counted on the Event of its Job")
