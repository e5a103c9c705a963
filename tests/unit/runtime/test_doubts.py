"""Release patches that got no answer: what ends the doubt, and what gives no quota back meanwhile."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from controller.core.keys import ADMITTED_AT, ADMITTED_BY, RELEASE_ATTEMPT, REVOKED_BY
from controller.core.reasons import Reason
from controller.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound, ServerError, Unreachable
from controller.runtime.release_doubts import MOST_IN_NAMESPACE
from tests.support.builders import a_cluster_queue, a_node, a_quota, decided
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime, turns, turns_until
from tests.support.json_patch import PatchFailed, patched
from tests.support.pod_documents import a_pod_document, a_released_document, decoded, raw
from tests.support.releasing import GATED, RELEASED, Rig, patch_answered

pytestmark = pytest.mark.usefixtures("time")

UNANSWERED = [
    Unreachable("reset"),
    ServerError(500, "InternalError", "etcd"),
    ServerError(503, "ServiceUnavailable", ""),
    ServerError(504, "Timeout", ""),
]
FAILED_TEST = Invalid(422, "Invalid", "the server rejected our request")


def revoked(document: dict[str, Any] = GATED, attempt: str = "1") -> dict[str, Any]:
    """The pod as the answer to a revocation shows it."""
    metadata = document["metadata"]
    notes = {**metadata.get("annotations", {}), RELEASE_ATTEMPT: attempt, REVOKED_BY: "leader"}
    return {**document, "metadata": {**metadata, "annotations": notes, "resourceVersion": "8"}}


@pytest.mark.parametrize("error", UNANSWERED)
async def test_a_patch_without_an_answer_is_revoked(error: KubeError) -> None:
    rig = await Rig(patch_answered(error, raw(revoked()))).carry_out()
    _, revocation = rig.client.calls
    after = patched(GATED, revocation.body)
    assert after["metadata"]["annotations"] == {RELEASE_ATTEMPT: "1", REVOKED_BY: "leader"}
    assert after["spec"] == GATED["spec"]
    assert (rig.state, rig.charged, rig.released, rig.results) == ("PatchRejected", 0, [], {"unknown": 1})


async def test_after_a_revocation_the_older_patch_fails_its_test() -> None:
    rig = await Rig(patch_answered(Unreachable("reset"), raw(revoked()))).carry_out()
    late, _ = rig.client.calls
    with pytest.raises(PatchFailed):
        patched(revoked(), late.body)


async def test_the_next_release_tests_the_number_that_was_written() -> None:
    document = revoked(attempt="3")
    rig = await Rig(patch_answered(Unreachable("reset"), raw(revoked(document, "4"))), document).carry_out()
    first, revocation = rig.client.calls
    patched(document, first.body)
    with pytest.raises(PatchFailed):
        patched(revoked(document, "4"), first.body)
    with pytest.raises(PatchFailed):
        patched(revoked(document, "4"), revocation.body)


@pytest.mark.parametrize("error", UNANSWERED)
async def test_a_release_that_took_effect_counts_once(error: KubeError) -> None:
    rig = await Rig(patch_answered(error, raw(revoked(RELEASED)))).carry_out()
    assert (rig.state, rig.charged, len(rig.released)) == ("released", 1000, 1)
    assert rig.results == {"unknown": 1, "released": 1}


@pytest.mark.parametrize("stamp", [ADMITTED_AT, ADMITTED_BY])
async def test_a_pod_with_stamps_of_another_release_is_not_ours(stamp: str) -> None:
    document = a_released_document(GATED)
    document["metadata"]["annotations"][stamp] = "2026-03-01T07:59:59Z"
    rig = await Rig(patch_answered(Unreachable("reset"), raw(revoked(document)))).carry_out()
    assert (rig.state, rig.charged, rig.released) == ("released", 1000, [])


@pytest.mark.parametrize("refusal", [Forbidden(403, "Forbidden", "no"), ServerError(500, "InternalError", "no")])
async def test_the_revocation_is_repeated_until_it_is_answered(time: FakeTime, refusal: KubeError) -> None:
    at: list[float] = []
    charged: list[int] = []

    def refuse() -> bytes:
        at.append(time.now)
        charged.append(rig.charged)
        raise refusal

    client = FakeClient().will("PATCH", Unreachable("reset"), *[refuse] * 6, raw(revoked()))
    rig = Rig(client)
    await rig.carry_out()
    assert charged == [1000] * 6
    assert [later - earlier for earlier, later in pairwise(at)] == [1, 2, 4, 6, 6]
    assert (rig.state, rig.charged) == ("PatchRejected", 0)


@pytest.mark.parametrize("error", [FAILED_TEST, Conflict(409, "Conflict", "")])
async def test_where_a_revocation_fails_a_read_tells(error: KubeError) -> None:
    client = patch_answered(Unreachable("reset"), error).will("GET", raw(revoked()))
    rig = await Rig(client).carry_out()
    assert (rig.state, rig.charged) == ("PatchRejected", 0)


async def test_a_read_of_a_gated_pod_decides_nothing() -> None:
    charged: list[int] = []

    def read() -> bytes:
        charged.append(rig.charged)
        return raw(GATED)

    client = patch_answered(Unreachable("reset"), *[FAILED_TEST] * 3, raw(revoked())).will("GET", *[read] * 3)
    rig = Rig(client)
    await rig.carry_out()
    assert charged == [1000] * 3
    assert (rig.state, rig.charged) == ("PatchRejected", 0)


async def test_annotations_in_between_do_not_hinder_a_revocation() -> None:
    noted = a_pod_document("a", metadata={"annotations": {"by": "jane"}, "resourceVersion": "8"})
    client = patch_answered(Unreachable("reset"), FAILED_TEST, raw(revoked(noted))).will("GET", raw(noted))
    rig = await Rig(client).carry_out()
    assert patched(noted, rig.client.calls[-1].body)["metadata"]["annotations"] == {
        "by": "jane",
        RELEASE_ATTEMPT: "1",
        REVOKED_BY: "leader",
    }
    assert (rig.state, rig.charged) == ("PatchRejected", 0)


async def test_a_pod_that_is_gone_ends_the_doubt() -> None:
    rig = await Rig(patch_answered(Unreachable("reset"), NotFound(404, "NotFound", ""))).carry_out()
    assert (rig.state, rig.charged, rig.released) == ("gone", 0, [])


async def test_a_namesake_of_another_uid_is_not_the_pod() -> None:
    namesake = a_released_document(a_pod_document("a", metadata={"uid": "another"}))
    rig = await Rig(patch_answered(Unreachable("reset"), FAILED_TEST).will("GET", raw(namesake))).carry_out()
    assert (rig.state, rig.charged, rig.released) == ("gone", 0, [])


async def test_an_edited_spec_makes_the_patch_impossible() -> None:
    edited = a_pod_document("a", metadata={"generation": 2, "resourceVersion": "8"})
    rig = await Rig(patch_answered(Unreachable("reset"), raw(revoked(edited)))).carry_out()
    assert (rig.state, rig.charged) == ("waiting", 0)


async def test_an_answer_that_is_no_pod_is_no_answer() -> None:
    rig = await Rig(patch_answered(b"<html>from a proxy</html>", raw(revoked(RELEASED)))).carry_out()
    assert (rig.state, rig.charged, rig.results) == ("released", 1000, {"unknown": 1, "released": 1})


async def test_a_webhook_that_cannot_be_called_leaves_no_doubt() -> None:
    error = ServerError(500, "InternalError", 'Internal error occurred: failed calling webhook "x": refused')
    rig = await Rig(patch_answered(error)).carry_out()
    assert (rig.state, rig.charged, len(rig.client.calls)) == ("PatchRejected", 0, 1)


@pytest.mark.parametrize("shown", ["gone", "released", "edited", "revoked"])
async def test_a_doubt_ends_by_what_the_watch_shows(shown: str) -> None:
    def refuse() -> bytes:
        match shown:
            case "gone":
                rig.cache.drop_pod("a")
            case "released":
                rig.cache.put_pod(decoded(RELEASED))
            case "revoked":
                rig.cache.put_pod(decoded(revoked()))
            case _:
                edited = a_pod_document("a", metadata={"generation": 2, "resourceVersion": "8"})
                rig.cache.put_pod(decoded(edited))
        raise Forbidden(403, "Forbidden", "no")

    rig = Rig(FakeClient().will("PATCH", Unreachable("reset"), refuse))
    await rig.carry_out()
    states = {"gone": "gone", "released": "released", "edited": "waiting", "revoked": "PatchRejected"}
    is_released = shown == "released"
    assert rig.state == states[shown]
    assert (rig.charged, len(rig.released)) == (1000 * is_released, is_released)


@pytest.mark.parametrize("change", [{"deletionTimestamp": "2026-03-01T08:00:00Z"}, {"labels": {}}])
async def test_a_gated_pod_in_doubt_stays_charged(change: dict[str, Any]) -> None:
    charged: list[int] = []

    def refuse() -> bytes:
        rig.cache.put_pod(decoded(a_pod_document("a", metadata={"resourceVersion": "8", **change})))
        charged.append(rig.charged)
        raise Forbidden(403, "Forbidden", "no")

    rig = Rig(FakeClient().will("PATCH", Unreachable("reset"), refuse, NotFound(404, "NotFound", "")))
    await rig.carry_out()
    assert (charged, rig.state, rig.charged) == ([1000], "gone", 0)


async def test_pods_whose_doubt_does_not_end_keep_no_other_waiting() -> None:
    def answer() -> bytes:
        if rig.client.calls[-1].path.endswith(("/a", "/b", "/c", "/d")):
            raise Forbidden(403, "Forbidden", "no")
        return raw(revoked(a_released_document(a_pod_document("e"))))

    rig = several("abcde", patch_answered(*[Unreachable("reset")] * 5).will("PATCH", *[answer] * 4000))
    for admit in rig.admits:
        rig.executor.submit(admit)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.executor.run(), name="executor")
        await turns(100)
        task.cancel()
    assert [name for name in "abcde" if rig.cache.assumed(name) is not None] == ["a", "b", "c", "d"]
    assert ([one.pod.uid for one in rig.released], rig.charged) == (["e"], 5000)


async def test_with_eight_doubts_a_namespace_releases_nothing_more() -> None:
    names = "abcdefghij"
    client = patch_answered(*[Unreachable("reset")] * MOST_IN_NAMESPACE).will(
        "PATCH", *[Forbidden(403, "Forbidden", "no")] * 4000
    )
    rig = several(names, client)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.executor.run(), name="executor")
        for admit in rig.admits[:MOST_IN_NAMESPACE]:
            rig.executor.submit(admit)
        await turns_until(lambda: rig.results == {"unknown": MOST_IN_NAMESPACE})
        for admit in rig.admits[MOST_IN_NAMESPACE:]:
            rig.executor.submit(admit)
        await turns_until(lambda: all(is_put_off(rig, name) for name in names[MOST_IN_NAMESPACE:]))
        task.cancel()
    assert rig.charged == 1000 * MOST_IN_NAMESPACE
    for name in names[MOST_IN_NAMESPACE:]:
        workload = rig.cache.backlog.get(name)
        assert workload is not None
        assert workload.kind.hold is not None
        assert workload.kind.hold.reason is Reason.PATCH_REJECTED
        assert "namespace default" in workload.kind.hold.text
    assert rig.results == {"unknown": MOST_IN_NAMESPACE}


def is_put_off(rig: Rig, name: str) -> bool:
    workload = rig.cache.backlog.get(name)
    return workload is not None and workload.kind.hold is not None


def several(names: str, client: FakeClient) -> Rig:
    """A rig in which all these pods were admitted."""
    rig = Rig(client, queues=[a_cluster_queue("team-a", a_quota(cpu="16"))], nodes=[a_node(cpu="16")])
    for name in names[1:]:
        rig.cache.put_pod(decoded(a_pod_document(name)))
    rig.admits = (*rig.admits, *decided(rig.cache).admits)
    return rig
