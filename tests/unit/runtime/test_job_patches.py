"""What is sent for Jobs that are held as a whole: a release, a suspension, and what puts the template back."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import orjson
import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink, PodSink
from controller.core.keys import ADMITTED_AT, ADMITTED_BY, ADMITTED_JOB, EVICTION
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.kube.decode import PodDecoder
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.errors import Forbidden, Invalid, NotFound, ServerError
from controller.runtime.eviction_lane import EvictionLane
from controller.runtime.job_restorer import JobRestorer
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cache, a_flavor
from tests.support.fake_client import FakeClient
from tests.support.fake_time import turns
from tests.support.job_documents import a_job_document, a_pod_of, a_released_job, edited, state_of
from tests.support.json_patch import patched
from tests.support.pod_documents import raw
from tests.support.releasing import Rig, leading, patch_answered

pytestmark = pytest.mark.usefixtures("time")

PATH = "/apis/batch/v1/namespaces/default/jobs/a"
FLAVOR = a_flavor()
JOB = a_job_document("a")
RELEASED = a_released_job(JOB, [FLAVOR])
STOPPED = {**edited(RELEASED, suspend=True), "status": {"conditions": [{"type": "Suspended", "status": "True"}]}}


async def test_a_release_is_one_patch_of_the_job() -> None:
    rig = await Rig(patch_answered(raw(RELEASED)), JOB).carry_out()
    (call,) = rig.client.calls
    assert (call.method, call.path) == ("PATCH", PATH)
    after = patched(JOB, call.body)
    assert after["spec"]["suspend"] is False
    template = after["spec"]["template"]["metadata"]["annotations"]
    assert template == {ADMITTED_AT: "2026-03-01T08:00:00Z", ADMITTED_BY: "leader", ADMITTED_JOB: "a"}
    assert (rig.state, rig.charged, rig.results) == ("released", 2000, {"released": 1})


async def test_a_release_without_an_answer_holds_all_quota() -> None:
    revoked = copy.deepcopy(JOB)
    revoked["metadata"].update(resourceVersion="8", annotations={"penstock.dev/release-attempt": "1"})
    client = patch_answered(ServerError(503, "", "away"), raw(revoked))
    rig = Rig(client, JOB)
    assert rig.charged == 2000
    await rig.carry_out()
    first, second = client.made("PATCH")
    assert first.path == second.path == PATH
    assert [one["value"] for one in second.body if one["op"] == "add"] == [
        {"penstock.dev/release-attempt": "1", "penstock.dev/revoked-by": "leader"}
    ]
    assert (rig.charged, rig.state) == (0, "PatchRejected")


async def test_a_release_whose_answer_was_lost_counts() -> None:
    client = patch_answered(ServerError(503, "", "away"), raw(RELEASED))
    rig = await Rig(client, JOB).carry_out()
    assert (rig.state, rig.charged) == ("released", 2000)
    assert len(rig.released) == 1


async def test_a_release_that_is_undone_says_so() -> None:
    rig = await Rig(patch_answered(raw(edited(JOB))), JOB).carry_out()
    assert (rig.charged, rig.state) == (0, "PatchRejected")
    (workload,) = (one for run in rig.cache.backlog.runs.values() for one in run)
    assert workload.kind.hold is not None
    assert "the Job is suspended all the same" in workload.kind.hold.text


async def test_a_job_that_changed_meanwhile_is_decided_on_again() -> None:
    wider = edited(JOB, parallelism=3, completions=3)
    client = patch_answered(Invalid(422, "Invalid", "a test failed")).will("GET", raw(wider))
    rig = await Rig(client, JOB).carry_out()
    assert (rig.charged, rig.state, rig.results) == (0, "waiting", {"conflict": 1})


def running() -> ClusterCache:
    """A cache with the Job and the two pods that it made."""
    cache = a_cache()
    JobSink(cache).upsert(state_of(RELEASED))
    for name in ("p", "q"):
        PodSink(cache).upsert(PodDecoder()(orjson.dumps(a_pod_of(RELEASED, name, node="node-1"))))
    return cache


class Lane:
    """An eviction lane over a fake client."""

    def __init__(self, client: FakeClient) -> None:
        self.client, self.cache = client, running()
        self.announced: list[Evict] = []
        self.lane = EvictionLane(
            client.as_client,
            self.cache,
            ControllerMetrics(),
            decode=AnswerDecoder(PodDecoder()),
            held=leading,
            on_evicted=self.announced.append,
            wake=lambda: None,
        )

    async def evict(self, *uids: str) -> None:
        together = "gang" if len(uids) > 1 else ""
        self.lane.submit(Evict(self.cache.pods[uid], EvictionCause.PREEMPTED, "why", together) for uid in uids)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.lane.run(), name="evictions")
            await turns(40)
            task.cancel()


@pytest.mark.parametrize("uids", [("p", "q"), ("a",), ("p",)])
async def test_all_pods_of_a_job_go_by_one_patch(uids: tuple[str, ...]) -> None:
    lane = Lane(patch_answered(raw(RELEASED), raw(STOPPED)))
    await lane.evict(*uids)
    told, suspended = lane.client.calls
    assert told.path == f"{PATH}/status"
    body: Any = told.body
    assert [one["type"] for one in body["status"]["conditions"]] == [EVICTION]
    assert suspended.path == PATH
    assert patched(RELEASED, suspended.body)["spec"]["suspend"] is True
    assert [one.pod.uid for one in lane.announced] == list(uids)
    assert lane.cache.pods["a"].is_stopping


async def test_a_suspension_that_is_refused_is_tried_again_later() -> None:
    lane = Lane(patch_answered(raw(RELEASED), Forbidden(403, "Forbidden", "no")).will("PATCH", raw(RELEASED)))
    await lane.evict("a")
    assert list(lane.cache.evictions.refused) == ["a"]
    assert not lane.announced


async def test_pods_of_a_job_that_stops_already_need_no_patch() -> None:
    lane = Lane(FakeClient())
    JobSink(lane.cache).upsert(state_of(STOPPED))
    await lane.evict("p", "q")
    assert not lane.client.calls
    assert not lane.cache.evictions.under_way


async def restored(client: FakeClient, cache: ClusterCache, rounds: int = 10) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(JobRestorer(client.as_client, cache, held=leading).run(), name="restorer")
        await turns(rounds)
        task.cancel()


def stopped() -> ClusterCache:
    cache = a_cache()
    JobSink(cache).upsert(state_of(STOPPED))
    return cache


async def test_the_template_of_a_stopped_job_is_put_back_once() -> None:
    client, cache = FakeClient(), stopped()

    def seen() -> bytes:
        back = edited(JOB)
        back["metadata"].update(generation=4, resourceVersion="10")
        JobSink(cache).upsert(state_of(back))
        return raw(back)

    await restored(client.will("GET", raw(STOPPED)).will("PATCH", seen), cache)
    (patch,) = client.made("PATCH")
    after = patched(STOPPED, patch.body)["spec"]["template"]
    assert after["spec"] == JOB["spec"]["template"]["spec"]
    assert after["metadata"] == {**JOB["spec"]["template"]["metadata"], "annotations": {}}
    assert not cache.stopped_jobs


async def test_a_job_that_is_gone_or_back_is_let_be() -> None:
    client, cache = FakeClient().will("GET", NotFound(404, "NotFound", "gone"), *[raw(JOB)] * 20), stopped()
    await restored(client, cache, rounds=100)
    assert len(client.made("GET")) > 1
    assert not client.made("PATCH")


async def test_a_patch_that_fails_is_sent_again_after_a_pause() -> None:
    client, cache = FakeClient(), stopped()
    client.will("GET", *[raw(STOPPED)] * 2, *[raw(JOB)] * 20)
    client.will("PATCH", Forbidden(403, "Forbidden", "no"), raw(JOB))
    await restored(client, cache, rounds=100)
    assert len(client.made("PATCH")) == 2
