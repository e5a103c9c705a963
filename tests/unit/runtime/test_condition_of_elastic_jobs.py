"""What the condition of an admitted Job says of the pods that it is to get in addition."""

from __future__ import annotations

from typing import Any

import orjson

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink
from controller.core.keys import CONDITION, WANTED_PARALLELISM
from tests.support.builders import a_cache, a_cluster_queue, a_flavor, a_node, a_quota, decided
from tests.support.conditions import a_lane, write, writing
from tests.support.fake_client import Call, FakeClient
from tests.support.fake_time import FakeTime, turns
from tests.support.job_documents import Json, a_job_document, a_released_job, edited, state_of

FULL = {
    "type": CONDITION,
    "status": "True",
    "reason": "AdmittedInPart",
    "message": (
        "Admitted by ClusterQueue team-a onto flavor spot with 2 of 5 pods; 3 more wait (QuotaExceeded): flavor spot: "
        "needs 1 cpu, more than is free of its quota"
    ),
}

MANY = {"parallelism": 2, "completions": 50}
OLD = {"creationTimestamp": "2026-03-01T06:00:00Z"}


def a_job(*, wanted: str | None, condition: Json | None = None) -> Json:
    job = a_released_job(a_job_document("a", spec=MANY, metadata=OLD), [a_flavor()])
    if wanted is not None:
        job["metadata"]["annotations"][WANTED_PARALLELISM] = wanted
    return {**job, "status": {"conditions": [] if condition is None else [condition]}}


def knowing(job: Json, cpu: int = 2) -> ClusterCache:
    """A cache in which the Job was looked at, with so much quota."""
    queue = a_cluster_queue("team-a", a_quota("spot", cpu=cpu))
    cache = a_cache(nodes=[a_node("node-1", cpu="8")], queues=[queue])
    JobSink(cache).upsert(state_of(job))
    decided(cache)
    return cache


def answered(job: Json) -> FakeClient:
    """What is written is on the Job that the answer shows."""
    client = FakeClient()
    return client.will("PATCH", lambda: orjson.dumps({**edited(job), "status": client.calls[-1].body["status"]}))


async def test_a_job_says_of_how_many_pods_it_has_how_many(time: FakeTime) -> None:
    job = a_job(wanted="5")
    (call,) = await write(knowing(job), answered(job))
    assert call.path == "/apis/batch/v1/namespaces/default/jobs/a/status"
    assert call.body["metadata"] == {"uid": "a"}
    (condition,) = call.body["status"]["conditions"]
    assert {key: condition[key] for key in FULL} == FULL


async def test_what_a_job_says_already_is_not_written_again(time: FakeTime) -> None:
    said = {**FULL, "lastProbeTime": "2026-03-01T07:00:00Z", "lastTransitionTime": "2026-03-01T07:00:00Z"}
    assert await write(knowing(a_job(wanted="5", condition=said)), FakeClient()) == []


async def test_a_job_that_wants_no_more_is_admitted_as_others_are(time: FakeTime) -> None:
    said = {**FULL, "lastProbeTime": "2026-03-01T07:00:00Z", "lastTransitionTime": "2026-03-01T07:00:00Z"}
    job = a_job(wanted=None, condition=said)
    (call,) = await write(knowing(job), answered(job))
    (condition,) = call.body["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "Admitted")


async def test_people_hear_once_that_more_pods_wait(time: FakeTime) -> None:
    job = a_job(wanted="5")
    heard: list[tuple[str, str]] = []
    lane = a_lane(knowing(job), answered(job), on_wait=lambda pod, reason, text: heard.append((pod.uid, reason)))
    await writing(lane, 5)
    assert heard == [("a", "AdmittedInPart")]


class SlowJobs(FakeClient):
    """Each answer takes a while; `most` is how many were asked for at a time."""

    def __init__(self, job: Json) -> None:
        super().__init__()
        self._job = job
        self._asked = self.most = 0

    async def patch(self, path: str, body: object, **options: Any) -> bytes:
        self._asked += 1
        self.most = max(self.most, self._asked)
        await turns(3)
        self._asked -= 1
        self.calls.append(Call("PATCH", path, body))
        self._job = {**edited(self._job), "status": self.calls[-1].body["status"]}
        return orjson.dumps(self._job)


async def test_one_condition_of_a_job_is_written_at_a_time(time: FakeTime) -> None:
    said = {**FULL, "reason": "Reserved", "lastProbeTime": "2026-03-01T07:00:00Z"}
    job = a_job(wanted="5", condition=said)
    cache, client = knowing(job), SlowJobs(job)
    await writing(a_lane(cache, client), 200)
    assert client.most == 1
    assert [call.body["status"]["conditions"][0]["reason"] for call in client.calls] == ["Admitted", "AdmittedInPart"]
