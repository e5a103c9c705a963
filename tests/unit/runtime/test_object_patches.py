"""Objects of a WorkloadKind are released, suspended, told things and put back by a patch each."""

from __future__ import annotations

import asyncio
import copy

import orjson
import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.core.gate.object_release import ReleasedSet, release_object_patch
from controller.core.keys import EVICTION
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.kube.decode import PodDecoder
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.errors import NotFound, ServerError
from controller.runtime.eviction_lane import EvictionLane
from controller.runtime.job_restorer import JobRestorer
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cache, a_flavor, a_node
from tests.support.fake_client import FakeClient
from tests.support.fake_time import turns
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION, raw
from tests.support.releasing import Rig, leading, patch_answered
from tests.support.train_documents import Json, a_train, sets_of, take_in
from tests.unit.cache.test_held_objects import a_pod_of

pytestmark = pytest.mark.usefixtures("time")

PATH = "/apis/sample.example.com/v1/namespaces/default/trains/train"
FLAVOR = a_flavor()
JOINED = a_train()
RELEASED = patched(JOINED, release_object_patch([ReleasedSet(one, [FLAVOR]) for one in sets_of(JOINED)], ADMISSION))
STOPPED = copy.deepcopy(RELEASED)
STOPPED["spec"]["policy"]["suspend"] = True
ROOM: Json = {"nodes": [a_node("node-1", cpu="8")]}


def a_world(document: Json) -> ClusterCache:
    cache = a_cache(**ROOM)
    take_in(cache, document)
    return cache


def a_rig(client: FakeClient) -> Rig:
    return Rig(client, JOINED, **ROOM)


def assumed(rig: Rig) -> list[str]:
    return [uid for uid in ("train/head", "train/big") if rig.cache.assumed(uid) is not None]


async def test_a_release_is_one_patch_for_all_pod_sets() -> None:
    rig = await a_rig(patch_answered(raw(RELEASED))).carry_out()
    (call,) = rig.client.calls
    assert (call.method, call.path) == ("PATCH", PATH)
    after = patched(JOINED, call.body)
    assert after["spec"]["policy"]["suspend"] is False
    assert (rig.charged, assumed(rig)) == (5000, [])
    (told,) = rig.released
    assert {told.admit.uid, *(one.uid for one in told.others)} == {"train/head", "train/big"}


async def test_a_refused_release_gives_all_of_it_back() -> None:
    rig = await a_rig(patch_answered(raw(JOINED))).carry_out()
    assert (rig.charged, assumed(rig)) == (0, [])
    assert rig.cache.pods.keys() == {"train/head", "train/big"}


async def test_an_object_that_is_gone_is_forgotten() -> None:
    rig = await a_rig(patch_answered(NotFound(404, "", "gone"))).carry_out()
    assert (rig.charged, assumed(rig), dict(rig.cache.pods)) == (0, [], {})


async def test_a_release_without_an_answer_holds_all_of_its_quota() -> None:
    rig = a_rig(patch_answered(ServerError(503, "", "away"), raw(RELEASED)))
    assert rig.charged == 5000
    await rig.carry_out()
    assert (rig.charged, assumed(rig), len(rig.released)) == (5000, [], 1)


async def test_an_object_that_was_edited_is_decided_again() -> None:
    rig = a_rig(FakeClient())
    more = a_train()
    more["spec"]["groups"][0]["replicas"] = 1
    more["metadata"].update(generation=3, resourceVersion="9")
    take_in(rig.cache, more)
    await rig.carry_out()
    assert (rig.client.calls, rig.charged, assumed(rig)) == ([], 0, [])


async def test_all_of_an_object_goes_by_one_patch() -> None:
    cache = a_world(RELEASED)
    for uid, name in (("train/head", "p"), ("train/big", "q")):
        PodSink(cache).upsert(a_pod_of(uid, name, node="node-1"))
    client, announced = patch_answered(raw(RELEASED), raw(STOPPED)), list[Evict]()
    lane = EvictionLane(
        client.as_client,
        cache,
        ControllerMetrics(),
        decode=AnswerDecoder(PodDecoder(), cache.workload_kinds.known, cache.update_pod),
        held=leading,
        on_evicted=announced.append,
        wake=lambda: None,
    )
    lane.submit(Evict(cache.pods[uid], EvictionCause.PREEMPTED, "why", "gang") for uid in ("p", "q"))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lane.run(), name="evictions")
        await turns(40)
        task.cancel()
    told, suspended = client.calls
    assert (told.path, suspended.path) == (PATH, PATH)
    note = patched_note(told.body)
    assert (note["reason"], note["status"]) == ("Preempted", "True")
    assert patched(RELEASED, suspended.body)["spec"]["policy"]["suspend"] is True
    assert len(announced) == 2
    assert all(cache.pods[uid].is_stopping for uid in ("train/head", "train/big"))


def patched_note(body: object) -> Json:
    assert isinstance(body, dict)
    return dict(orjson.loads(body["metadata"]["annotations"][EVICTION]))


async def restored(client: FakeClient, cache: ClusterCache) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(JobRestorer(client.as_client, cache, held=leading).run(), name="restorer")
        await turns(10)
        task.cancel()


async def test_templates_are_put_back_when_the_pods_are_gone() -> None:
    cache, client = a_world(STOPPED), FakeClient()
    PodSink(cache).upsert(a_pod_of("train/big", "p", node="node-1"))
    await restored(client, cache)
    assert not client.calls
    cache.drop_pod("p")
    await restored(client.will("GET", raw(STOPPED)).will("PATCH", raw(JOINED)), cache)
    (patch,) = client.made("PATCH")
    assert patched(STOPPED, patch.body)["spec"] == JOINED["spec"]


async def test_what_is_back_already_is_let_be() -> None:
    cache, client = a_world(STOPPED), FakeClient()
    await restored(client.will("GET", raw(JOINED)), cache)
    assert not client.made("PATCH")
