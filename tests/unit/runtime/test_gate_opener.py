"""What `penstock release` sends, and what it makes of the answers; without a cluster."""

from __future__ import annotations

import asyncio
import time

import orjson
import pytest

from controller.core.gate.opening import HeldJob, opening_patch
from controller.core.keys import GATE, QUEUE_NAME
from controller.kube.decode import decode_gated
from controller.kube.decode_jobs import decode_held
from controller.kube.decode_workload_objects import decode_held_object
from controller.kube.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    TooManyRequests,
    Unreachable,
    UnreadableObject,
)
from controller.runtime import gate_opener
from controller.runtime.gate_opener import GateOpener, Tally, waiting
from tests.support.api_objects import workload_kind
from tests.support.fake_client import FakeClient
from tests.support.gated_pods import PROTECTED, Json, Slow, a_pod, gated, webhook_failed
from tests.support.job_documents import a_job_document
from tests.support.json_patch import PatchFailed, patched
from tests.support.train_documents import TRAIN, a_train

EDITED = Invalid(422, "Invalid", "the server rejected our request due to an error in our request")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_opener, "PAUSE_SECONDS", 0.0)


async def opened(fake: FakeClient, *pods: Json) -> Tally:
    opener = GateOpener(fake.as_client, on_progress=lambda _: None)
    return await opener.open([gated(pod) for pod in pods])


def test_our_gate_goes_and_nothing_else_changes() -> None:
    before = a_pod(gates=["a.com/x", GATE, "b.com/y"])
    after = patched(before, opening_patch(gated(before)))
    assert after == a_pod(gates=["a.com/x", "b.com/y"])


@pytest.mark.parametrize(
    "now",
    [
        a_pod(uid="another"),
        a_pod(generation=2),
        a_pod(gates=["a.com/x", GATE]),
        a_pod(gates=[]),
    ],
)
def test_a_pod_that_changed_is_not_patched(now: Json) -> None:
    with pytest.raises(PatchFailed):
        patched(now, opening_patch(gated(a_pod())))


def test_a_pod_without_a_generation_is_known_by_its_version() -> None:
    old = a_pod(generation=0)
    assert patched(old, opening_patch(gated(old)))["spec"]["schedulingGates"] == []
    with pytest.raises(PatchFailed):
        patched(a_pod(generation=0, resourceVersion="6"), opening_patch(gated(old)))


def test_bytes_that_are_no_pod_are_said_so() -> None:
    with pytest.raises(UnreadableObject, match="pod: "):
        decode_gated(b'{"metadata": 3}')


def a_job(name: str = "train", *, suspend: bool = True, status: Json | None = None, **labels: str) -> Json:
    metadata = {"namespace": "team-a", "labels": {QUEUE_NAME: "main", **labels}}
    return a_job_document(name, spec={"suspend": suspend}, metadata=metadata, status=status)


def held(document: Json) -> HeldJob:
    job = decode_held(orjson.dumps(document))
    assert job is not None
    return job


async def test_what_waits_is_found_by_name() -> None:
    pods = [a_pod("two"), a_pod("none", []), a_pod("theirs", ["a.com/x"]), a_pod("one")]
    ended = a_job("ended", status={"conditions": [{"type": "Failed", "status": "True"}]})
    jobs = [a_job("train"), a_job("runs", suspend=False), ended, a_job("eval")]
    trains = [a_train(), a_train(suspend=False, metadata={"name": "runs"})]
    lists = (pods, jobs, [workload_kind(suspend=".spec.policy.suspend"), workload_kind(suspend="odd")], trains)
    fake = FakeClient().will("GET", *(orjson.dumps({"metadata": {}, "items": items}) for items in lists))
    found = await waiting(fake.as_client, "team-a")
    jobs_first = ["Job team-a/eval", "Job team-a/train", "Train default/train"]
    assert [one.key for one in found] == ["team-a/one", "team-a/two", *jobs_first]
    assert fake.calls[3].path == "/apis/sample.example.com/v1/namespaces/team-a/trains"
    assert fake.calls[0].path == "/api/v1/namespaces/team-a/pods"
    assert fake.calls[1].path == "/apis/batch/v1/namespaces/team-a/jobs"


async def test_an_object_of_a_kind_begins_where_its_kind_says() -> None:
    held_object = decode_held_object(TRAIN, orjson.dumps(a_train()))
    assert held_object is not None
    fake = FakeClient().will("PATCH", b"{}")
    tally = await GateOpener(fake.as_client, on_progress=lambda _: None).open([held_object])
    assert (tally.opened, fake.calls[0].path) == (1, TRAIN.path("default", "train"))
    after = patched(a_train(), fake.calls[0].body)
    assert after == a_train(suspend=False)


@pytest.mark.parametrize("train", [a_train(suspend=False), a_train(metadata={"labels": {}})])
def test_an_object_that_is_not_held_is_left_out(train: Json) -> None:
    assert decode_held_object(TRAIN, orjson.dumps(train)) is None


def test_a_held_job_begins_and_nothing_else_changes() -> None:
    before = a_job()
    after = patched(before, opening_patch(held(before)))
    assert after == a_job(suspend=False)
    with pytest.raises(PatchFailed):
        patched(after, opening_patch(held(before)))


async def test_a_job_that_began_meanwhile_needs_nothing() -> None:
    fake = FakeClient().will("PATCH", EDITED).will("GET", orjson.dumps(a_job(suspend=False)))
    opener = GateOpener(fake.as_client, on_progress=lambda _: None)
    tally = await opener.open([held(a_job())])
    assert (tally.needless, tally.refused) == (1, [])
    assert {call.path for call in fake.calls} == {"/apis/batch/v1/namespaces/team-a/jobs/train"}


async def test_an_edited_pod_is_read_again_for_its_gates_place() -> None:
    now = a_pod(gates=["a.com/x", GATE], generation=2)
    fake = FakeClient().will("PATCH", EDITED, b"{}").will("GET", orjson.dumps(now))
    tally = await opened(fake, a_pod())
    assert (tally.opened, tally.refused) == (1, [])
    assert fake.made("PATCH")[1].body == opening_patch(gated(now))


@pytest.mark.parametrize(
    "found", [orjson.dumps(a_pod(gates=[])), orjson.dumps(a_pod(uid="another")), NotFound(404, "NotFound", "no")]
)
async def test_a_pod_that_is_open_or_gone_needs_nothing(found: bytes | Exception) -> None:
    fake = FakeClient().will("PATCH", Conflict(409, "Conflict", "changed")).will("GET", found)
    tally = await opened(fake, a_pod())
    assert (tally.opened, tally.needless, tally.refused) == (0, 1, [])


async def test_a_refusal_of_an_unchanged_pod_is_not_tried_again() -> None:
    fake = FakeClient().will("PATCH", EDITED).will("GET", orjson.dumps(a_pod()))
    tally = await opened(fake, a_pod())
    assert [error for _, error in tally.refused] == [EDITED]


async def test_one_refusal_does_not_keep_the_next_pod() -> None:
    forbidden = Forbidden(403, "Forbidden", "no")
    fake = FakeClient().will("PATCH", forbidden, b"{}")
    tally = await opened(fake, a_pod("one"), a_pod("two"))
    assert (tally.opened, tally.done) == (1, 2)


async def test_a_lost_answer_is_found_out_by_a_read() -> None:
    fake = FakeClient().will("PATCH", Unreachable("no answer")).will("GET", orjson.dumps(a_pod(gates=[])))
    assert (await opened(fake, a_pod())).needless == 1


async def test_an_absent_apiserver_is_not_asked_for_every_pod() -> None:
    away = [Unreachable("refused")] * 200
    fake = FakeClient().will("PATCH", *away).will("GET", *away)
    tally = await opened(fake, *(a_pod(f"pod-{number}") for number in range(100)))
    assert tally.opened == 0
    assert tally.done == 8


async def test_a_webhook_that_is_away_is_not_asked_again() -> None:
    fake = FakeClient().will("PATCH", webhook_failed("example.com"))
    assert len((await opened(fake, a_pod())).refused) == 1
    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    "error", [PROTECTED, webhook_failed("updates.penstock.dev"), webhook_failed("pod-policies.penstock.dev")]
)
async def test_a_refusal_for_all_is_met_once_by_each_worker(error: KubeError) -> None:
    fake = Slow().will("PATCH", *[error] * 100)
    tally = await opened(fake, *(a_pod(f"pod-{number}") for number in range(100)))
    assert len(fake.calls) == len(tally.refused) == 8


@pytest.mark.parametrize(
    "error",
    [
        Forbidden(403, "Forbidden", 'pods "one" is forbidden: User "jane" cannot patch resource "pods"'),
        webhook_failed("pods.example.com"),
        webhook_failed("updates.notpenstock.dev"),
    ],
)
async def test_a_refusal_that_may_be_of_one_pod_keeps_no_other(error: KubeError) -> None:
    fake = Slow().will("PATCH", *[error] * 99, b"{}")
    tally = await opened(fake, *(a_pod(f"pod-{number}") for number in range(100)))
    assert (tally.opened, len(tally.refused)) == (1, 99)


async def test_a_long_wait_that_the_apiserver_asks_for_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gate_opener.LONGEST_PAUSE_SECONDS == 30
    monkeypatch.setattr(gate_opener, "LONGEST_PAUSE_SECONDS", 0.01)
    busy = TooManyRequests(429, "TooManyRequests", "slow down", retry_after_seconds=3600)
    fake = FakeClient().will("PATCH", busy, b"{}").will("GET", orjson.dumps(a_pod()))
    assert (await asyncio.wait_for(opened(fake, a_pod()), 5)).opened == 1


async def test_a_wait_that_the_apiserver_asks_for_is_kept() -> None:
    busy = TooManyRequests(429, "TooManyRequests", "slow down", retry_after_seconds=0.2)
    fake = FakeClient().will("PATCH", busy, b"{}").will("GET", orjson.dumps(a_pod()))
    before = time.monotonic()
    await opened(fake, a_pod())
    assert time.monotonic() - before >= 0.19


@pytest.mark.parametrize(("now", "needless", "refused"), [(a_pod(), 0, 1), (a_pod(gates=[]), 1, 0)])
async def test_a_stop_ends_a_wait_and_the_pod_is_counted(now: Json, needless: int, refused: int) -> None:
    busy = TooManyRequests(429, "TooManyRequests", "slow down", retry_after_seconds=3600)
    fake = FakeClient().will("PATCH", busy).will("GET", orjson.dumps(now))
    opener = GateOpener(fake.as_client, on_progress=lambda _: None)
    asyncio.get_running_loop().call_later(0.05, opener.stop)
    tally = await asyncio.wait_for(opener.open([gated(a_pod())]), 5)
    assert (tally.opened, tally.needless, len(tally.refused)) == (0, needless, refused)


async def test_an_edited_pod_that_is_under_way_at_a_stop_is_finished() -> None:
    def stop() -> bytes:
        opener.stop()
        raise EDITED

    fake = FakeClient().will("PATCH", stop, b"{}").will("GET", orjson.dumps(a_pod(generation=2)))
    opener = GateOpener(fake.as_client, on_progress=lambda _: None)
    assert (await opener.open([gated(a_pod())])).opened == 1


async def test_after_a_stop_no_pod_is_begun() -> None:
    opener = GateOpener(FakeClient().as_client, on_progress=lambda _: None)
    opener.stop()
    assert (await opener.open([gated(a_pod())])).done == 0
