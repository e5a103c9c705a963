"""What is found out about releases that got no answer, where pods cannot be read."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from controller.kube.errors import Forbidden, Unreachable
from tests.support.builders import a_cluster_queue, a_node, a_quota, decided
from tests.support.fake_time import FakeTime, turns
from tests.support.pod_documents import a_pod_document, a_released_document, decoded, raw
from tests.support.releasing import RELEASED, Rig, patch_answered

pytestmark = pytest.mark.usefixtures("time")


async def test_pods_that_cannot_be_read_keep_no_other_from_being_found_out_about() -> None:
    def read() -> bytes:
        if rig.client.calls[-1].path.endswith(("/a", "/b", "/c", "/d")):
            raise Forbidden(403, "Forbidden", "no")
        return raw(a_released_document(a_pod_document("e")))

    queue = a_cluster_queue("team-a", a_quota(cpu="8"))
    client = patch_answered(*[Unreachable("reset")] * 5).will("GET", *[read] * 400)
    rig = Rig(client, queues=[queue], nodes=[a_node(cpu="8")])
    for name in "bcde":
        rig.cache.put_pod(decoded(a_pod_document(name)))
    for admit in (*rig.admits, *decided(rig.cache).admits):
        rig.executor.submit(admit)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.executor.run(), name="executor")
        await turns(100)
        task.cancel()
    assert [name for name in "abcde" if rig.cache.assumed(name) is not None] == ["a", "b", "c", "d"]
    assert ([one.pod.uid for one in rig.released], rig.charged) == (["e"], 5000)


async def test_what_cannot_be_read_is_read_again_after_pauses_that_grow(time: FakeTime) -> None:
    at: list[float] = []

    def read() -> bytes:
        at.append(time.now)
        raise Forbidden(403, "Forbidden", "no")

    rig = Rig(patch_answered(Unreachable("reset")).will("GET", *[read] * 6, raw(RELEASED)))
    await rig.carry_out()
    assert [later - earlier for earlier, later in pairwise(at)] == [1, 2, 4, 6, 6]


@pytest.mark.parametrize("shown", ["gone", "released", "edited"])
async def test_a_doubt_ends_when_the_watch_shows_what_became_of_the_pod(shown: str) -> None:
    def read() -> bytes:
        match shown:
            case "gone":
                rig.cache.drop_pod("a")
            case "released":
                rig.cache.put_pod(decoded(RELEASED))
            case _:
                edited = a_pod_document("a", metadata={"generation": 2, "resourceVersion": "8"})
                rig.cache.put_pod(decoded(edited))
        raise Forbidden(403, "Forbidden", "no")

    rig = Rig(patch_answered(Unreachable("reset")).will("GET", read))
    await rig.carry_out()
    is_released = shown == "released"
    assert rig.state == {"gone": "gone", "released": "released", "edited": "waiting"}[shown]
    assert (rig.charged, len(rig.released)) == (1000 * is_released, is_released)
    assert rig.results == {"unknown": 1, **({"released": 1} if is_released else {})}
