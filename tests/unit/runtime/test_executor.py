from __future__ import annotations

import asyncio

import pytest

from controller.core.gate.release_patch import release_patch
from controller.core.keys import ADMITTED_AT, ADMITTED_BY
from controller.core.queueing.queues import FlavorMode
from controller.core.reasons import Reason
from controller.kube import clock
from controller.kube.client import JSON_PATCH
from controller.kube.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from tests.support.builders import a_cluster_queue, a_flavor, a_node, a_pod, a_quota, a_shape, decided
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime, turns_until
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION, CREATED, a_pod_document, a_released_document, decoded, raw
from tests.support.releasing import GATED, RELEASED, Rig, patch_answered

pytestmark = pytest.mark.usefixtures("time")

PATH = "/api/v1/namespaces/default/pods/a"
REFUSED = Invalid(422, "Invalid", "the server rejected our request")


async def test_a_release_is_one_patch_on_the_pod_with_a_time_limit() -> None:
    rig = await Rig(patch_answered(raw(RELEASED))).carry_out()
    (call,) = rig.client.calls
    assert (call.method, call.path) == ("PATCH", PATH)
    assert call.params == {"timeout": "5s", "fieldManager": "penstock"}
    after = patched(GATED, call.body)
    assert after["spec"]["schedulingGates"] == []
    assert after["metadata"]["annotations"] == {ADMITTED_AT: "2026-03-01T08:00:00Z", ADMITTED_BY: "leader"}
    assert JSON_PATCH == "application/json-patch+json"


async def test_a_clock_that_is_behind_admits_nobody_before_creation(time: FakeTime) -> None:
    rig = Rig(patch_answered(raw(RELEASED)))
    time.now = clock.epoch(CREATED) - 300
    await rig.carry_out()
    assert patched(GATED, rig.client.calls[0].body)["metadata"]["annotations"][ADMITTED_AT] == CREATED


async def test_a_released_pod_is_charged_announced_and_counted_once() -> None:
    rig = await Rig(patch_answered(raw(RELEASED))).carry_out()
    assert (rig.state, rig.charged, rig.results) == ("released", 1000, {"released": 1})
    assert [(one.pod.uid, one.admit.flavor) for one in rig.released] == [("a", "spot")]


async def test_the_time_from_the_decision_to_the_release_is_told(time: FakeTime) -> None:
    def late() -> bytes:
        time.now += 0.5
        return raw(RELEASED)

    rig = Rig(FakeClient().will("PATCH", late))
    rig.executor.submit(rig.admits[0])
    time.now += 0.25  # within the second that the answer shows
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.executor.run(), name="executor")
        await turns_until(lambda: bool(rig.released))
        task.cancel()
    samples = {one.name: one.value for metric in rig.metrics.release_seconds.collect() for one in metric.samples}
    assert (samples["penstock_release_seconds_count"], samples["penstock_release_seconds_sum"]) == (1, 0.75)


async def test_an_admission_that_is_handed_over_twice_makes_one_patch() -> None:
    rig = Rig(patch_answered(raw(RELEASED)))
    await rig.carry_out(*rig.admits, *rig.admits)
    assert (len(rig.client.calls), len(rig.released), rig.charged) == (1, 1, 1000)


@pytest.mark.parametrize("change", ["gone", "flavor gone", "ungated", "terminating", "reshaped", "requeued"])
async def test_what_changed_since_the_decision_is_not_released(change: str) -> None:
    rig = Rig(FakeClient())
    match change:
        case "gone":
            rig.cache.drop_pod("a")
        case "flavor gone":
            rig.cache.set_flavor("spot", None)
        case "ungated":
            rig.cache.put_pod(a_pod("a", gates=(), queue=None, resource_version="9"))
        case "terminating":
            rig.cache.put_pod(a_pod("a", is_terminating=True, resource_version="9"))
        case "reshaped":
            rig.cache.put_pod(a_pod("a", a_shape(cpu="2"), resource_version="9"))
        case _:
            rig.cache.put_pod(a_pod("a", queue="other", resource_version="9"))
    await rig.carry_out()
    assert (rig.client.calls, rig.released, rig.charged, rig.cache.assumed("a")) == ([], [], 0, None)


async def test_a_flavor_that_changed_is_decided_on_again() -> None:
    rig = Rig(FakeClient())
    rig.cache.set_flavor("spot", a_flavor("spot", labels={"pool": "other"}))
    await rig.executor.release((rig.admits[0], (a_flavor("spot"),)))
    assert (rig.client.calls, rig.state, rig.charged) == ([], "waiting", 0)


async def test_a_pod_that_is_gone_gives_its_quota_back() -> None:
    rig = await Rig(patch_answered(NotFound(404, "NotFound", "no"))).carry_out()
    assert (rig.state, rig.charged, rig.results, rig.released) == ("gone", 0, {"gone": 1}, [])


@pytest.mark.parametrize("error", [Conflict(409, "Conflict", "changed"), REFUSED])
async def test_a_pod_that_changed_is_decided_again_at_once(error: KubeError) -> None:
    edited = a_pod_document("a", metadata={"generation": 2, "resourceVersion": "8"}, cpu="2")
    rig = await Rig(patch_answered(error).will("GET", raw(edited))).carry_out()
    assert (rig.state, rig.charged, rig.results) == ("waiting", 0, {"conflict": 1})
    assert rig.cache.pods["a"].shape == a_shape(cpu="2")


@pytest.mark.parametrize("annotations", [{}, {"a": "1"}])
async def test_an_annotation_that_came_in_between_is_a_change_as_well(annotations: dict[str, str]) -> None:
    edited = a_pod_document("a", metadata={"annotations": annotations, "resourceVersion": "8"})
    rig = await Rig(patch_answered(REFUSED).will("GET", raw(edited))).carry_out()
    assert (rig.state, rig.charged) == ("waiting", 0)


async def test_without_generations_a_resource_version_is_a_change() -> None:
    before = a_pod_document("a", metadata={"generation": 0})
    after = a_pod_document("a", metadata={"generation": 0, "resourceVersion": "8"})
    rig = await Rig(patch_answered(REFUSED).will("GET", raw(after)), before).carry_out()
    assert (rig.state, rig.results) == ("waiting", {"conflict": 1})


@pytest.mark.parametrize("error", [Conflict(409, "Conflict", "changed"), REFUSED])
async def test_a_refusal_is_told_and_the_quota_given_back(error: KubeError) -> None:
    rig = await Rig(patch_answered(error).will("GET", raw(GATED))).carry_out()
    assert (rig.state, rig.charged, rig.results) == ("PatchRejected", 0, {"rejected": 1})


@pytest.mark.parametrize("found", [Unreachable("reset"), ServerError(500, "", "no")])
async def test_a_refusal_that_cannot_be_read_up_on_is_a_refusal(found: KubeError) -> None:
    rig = await Rig(patch_answered(REFUSED).will("GET", found)).carry_out()
    assert (rig.state, rig.charged) == ("PatchRejected", 0)


async def test_a_forbidden_release_is_a_refusal_and_the_pod_says_why() -> None:
    rig = await Rig(patch_answered(Forbidden(403, "Forbidden", "policy says no"))).carry_out()
    workload = rig.cache.backlog.get("a")
    assert workload is not None
    assert workload.kind.hold is not None
    assert (workload.kind.hold.reason, workload.kind.hold.text) == (
        Reason.PATCH_REJECTED,
        "403 Forbidden: policy says no",
    )
    assert (rig.charged, [call.method for call in rig.client.calls]) == (0, ["PATCH"])


async def test_a_release_that_admission_undid_is_told_as_refused() -> None:
    put_back = a_pod_document("a", metadata={"resourceVersion": "8"})
    rig = await Rig(patch_answered(raw(put_back))).carry_out()
    assert (rig.state, rig.charged, rig.results, rig.released) == ("PatchRejected", 0, {"rejected": 1}, [])
    workload = rig.cache.backlog.get("a")
    assert workload is not None
    assert workload.kind.hold is not None
    assert "mutatingwebhookconfigurations" in workload.kind.hold.text
    assert "spec.schedulingGates" in workload.kind.hold.text
    assert decided(rig.cache).admits == ()
    rig.cache.retry("a")
    assert [admit.uid for admit in decided(rig.cache).admits] == ["a"]


async def test_an_answer_without_our_stamps_is_not_announced() -> None:
    stripped = a_released_document(GATED)
    del stripped["metadata"]["labels"]["penstock.dev/cluster-queue"]
    rig = await Rig(patch_answered(raw(stripped))).carry_out()
    assert (rig.state, rig.charged, rig.released, rig.results) == ("released", 1000, [], {"conflict": 1})


async def test_a_refused_pod_is_tried_again_after_pauses_that_double(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    refusal = Forbidden(403, "Forbidden", "no")
    rig = Rig(patch_answered(*[refusal] * 8, raw(RELEASED)))
    for _ in range(8):
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", lambda pause, *_: pauses.append(pause))
        await rig.carry_out()
        rig.cache.retry("a")
        rig.admits = decided(rig.cache).admits
    await rig.carry_out()
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert (rig.state, rig.charged, len(rig.released)) == ("released", 1000, 1)


@pytest.mark.parametrize(("retry_after", "pause"), [(0.0, 1.0), (7.0, 7.0), (9000.0, 60.0)])
async def test_too_many_requests_are_tried_when_the_apiserver_says(
    monkeypatch: pytest.MonkeyPatch, retry_after: float, pause: float
) -> None:
    pauses: list[float] = []
    error = TooManyRequests(429, "TooManyRequests", "slow down", retry_after_seconds=retry_after)
    rig = Rig(patch_answered(error))
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda seconds, *_: pauses.append(seconds))
    await rig.carry_out()
    assert (rig.state, rig.charged, pauses, rig.results) == ("PatchRejected", 0, [pause], {})


@pytest.mark.parametrize("stamped", [("spot", "steady"), ("steady", "spot"), ("spot",)])
async def test_an_unanswered_release_of_several_flavors_is_known(stamped: tuple[str, ...]) -> None:
    flavors = {name: a_flavor(name) for name in ("spot", "steady")}
    queue = a_cluster_queue("team-a", *map(a_quota, flavors), flavor_mode=FlavorMode.ANY)
    nodes = [a_node(name, labels={"pool": name}) for name in flavors]
    patch = release_patch(decoded(GATED), [flavors[name] for name in stamped], ADMISSION, node=None)
    client = patch_answered(Unreachable("reset"), raw(patched(GATED, patch)))
    rig = await Rig(client, flavors=flavors.values(), queues=[queue], nodes=nodes).carry_out()
    assert (rig.state, rig.charged) == ("released", 1000)
    is_ours = stamped == ("spot", "steady")
    assert [one.admit.onto for one in rig.released] == (["one of the flavors spot, steady"] if is_ours else [])


@pytest.mark.parametrize("error", [REFUSED, Conflict(409, "Conflict", "changed")])
async def test_a_namesake_of_another_uid_is_not_the_pod(error: KubeError) -> None:
    namesake = a_released_document(a_pod_document("a", metadata={"uid": "another"}))
    rig = await Rig(patch_answered(error).will("GET", raw(namesake))).carry_out()
    assert (rig.state, rig.charged, rig.released) == ("gone", 0, [])


@pytest.mark.parametrize("error", [REFUSED, Conflict(409, "Conflict", "changed")])
async def test_a_pod_found_gone_gives_its_quota_back(error: KubeError) -> None:
    rig = await Rig(patch_answered(error).will("GET", NotFound(404, "NotFound", ""))).carry_out()
    assert (rig.state, rig.charged, rig.released) == ("gone", 0, [])


async def test_a_pod_that_another_released_is_charged_unannounced() -> None:
    stranger = a_released_document(GATED)
    del stranger["metadata"]["labels"]["penstock.dev/cluster-queue"]
    rig = await Rig(patch_answered(REFUSED).will("GET", raw(stranger))).carry_out()
    assert (rig.state, rig.charged, rig.released, rig.results) == ("released", 1000, [], {"conflict": 1})


async def test_a_watch_event_that_overtakes_the_reply_does_no_harm() -> None:
    def reply() -> bytes:
        rig.cache.put_pod(decoded(RELEASED))
        return raw(RELEASED)

    rig = Rig(FakeClient().will("PATCH", reply))
    await rig.carry_out()
    assert (rig.state, rig.charged, len(rig.released)) == ("released", 1000, 1)


async def test_what_is_not_begun_is_given_back_when_the_program_stops() -> None:
    rig = Rig(FakeClient())
    for admit in rig.admits:
        rig.executor.submit(admit)
    await rig.executor.drain()
    assert (rig.state, rig.charged, rig.client.calls) == ("waiting", 0, [])


async def test_room_is_for_a_few_rounds_and_closes_until_half_is_done() -> None:
    rig = Rig(FakeClient())
    rooms = [rig.executor.room()]
    for _ in range(4):
        rig.executor.submit(rig.admits[0])
        rooms.append(rig.executor.room())
    assert rooms == [6, 5, 4, 0, 0]


async def test_room_is_announced_when_it_opens() -> None:
    rig = Rig(FakeClient())
    rig.cache.drop_pod("a")
    await rig.carry_out(*rig.admits * 6)
    assert rig.woken == 1
