"""A kind that not every apiserver serves: nobody waits for it where it is not, and it is found once it is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from controller.core.workloads.groups import PodGroup
from controller.kube import clock, served
from controller.kube.decode_owners import decode_pod_group
from controller.kube.errors import NotFound, Unreachable, UnreadableObject
from controller.kube.served import InformerIfServed, served_path
from controller.kube.watch import Informer, Trouble
from tests.support.eventually import eventually
from tests.support.fake_client import FakeClient

GROUP, VERSIONS = "scheduling.k8s.io", ("v1", "v1alpha2")
OTHERS = b'{"resources": [{"name": "priorityclasses"}]}'
OURS = b'{"resources": [{"name": "workloads"}, {"name": "podgroups"}]}'
ABSENT = NotFound(404, "NotFound", "the server could not find the requested resource")


class Listing:
    """An informer that lists at once and watches for ever, or tries for ever to list."""

    def __init__(self, *, is_answered: bool = True, stale_seconds: float | None = None) -> None:
        self.synced = asyncio.Event()
        self.stale_seconds = stale_seconds
        self._is_answered = is_answered

    async def run(self) -> None:
        if self._is_answered:
            self.synced.set()
        await asyncio.Event().wait()


class LastForEver(FakeClient):
    """Gives its last answer again and again."""

    async def get(self, path: str, params: Mapping[str, str] | None = None, **options: Any) -> bytes:
        left = self._answers["GET"]
        if len(left) == 1:
            left.append(left[0])
        return await super().get(path, params, **options)


@pytest.mark.parametrize(
    ("answers", "path"),
    [
        ((OTHERS, OURS), "/apis/scheduling.k8s.io/v1alpha2/podgroups"),
        ((OURS,), "/apis/scheduling.k8s.io/v1/podgroups"),
        ((OTHERS, ABSENT), None),
    ],
)
async def test_the_first_version_that_serves_the_kind_is_taken(answers: tuple[Any, ...], path: str | None) -> None:
    client = FakeClient().will("GET", *answers)
    assert await served_path(client.as_client, GROUP, VERSIONS, "podgroups") == path


async def test_an_unserved_kind_holds_nobody_up_and_is_watched_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(served, "AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(served, "FAILED_SECONDS", 0.0)
    not_yet, older, newer = (OTHERS, ABSENT), (OTHERS, OURS), (OURS,)
    client = LastForEver().will("GET", Unreachable("no route"), *not_yet, *older, *older, *newer)
    paths: list[str] = []
    forgotten: list[bool] = []
    troubles: list[Trouble] = []

    def make(path: str) -> Informer[Any]:
        paths.append(path)
        return cast("Informer[Any]", Listing())

    informer = InformerIfServed(
        client.as_client,
        GROUP,
        VERSIONS,
        "podgroups",
        make=make,
        report=troubles.append,
        forget=lambda: forgotten.append(True),
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await informer.synced.wait()
        assert (paths, forgotten) == ([], [True])
        await eventually(lambda: len(paths) == 2, seconds=5)
        task.cancel()
    assert paths == [f"/apis/scheduling.k8s.io/{version}/podgroups" for version in ("v1alpha2", "v1")]
    assert [trouble.cause for trouble in troubles] == ["Unreachable"]


async def test_a_version_gone_before_its_list_is_left_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(served, "AGAIN_SECONDS", 0.0)
    client = LastForEver().will("GET", OTHERS, OURS, OURS)
    paths: list[str] = []

    def make(path: str) -> Informer[Any]:
        paths.append(path)
        return cast("Informer[Any]", Listing(is_answered=path.endswith("/v1/podgroups")))

    informer = InformerIfServed(
        client.as_client, GROUP, VERSIONS, "podgroups", make=make, report=lambda _: None, forget=lambda: None
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await eventually(informer.synced.is_set, seconds=5)
        task.cancel()
    assert paths == [f"/apis/scheduling.k8s.io/{version}/podgroups" for version in ("v1alpha2", "v1")]


async def test_a_kind_is_stale_until_it_is_known_to_be_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient().will("GET", Unreachable("no route"), OTHERS, ABSENT, Unreachable("no route"), OURS)
    told: list[float | None] = []
    is_told = asyncio.Event()
    # a pause takes ten seconds
    monkeypatch.setattr(clock, "monotonic", lambda: 10.0 * len(told))
    informer = InformerIfServed(
        client.as_client,
        GROUP,
        VERSIONS,
        "podgroups",
        make=lambda _: cast("Informer[Any]", Listing(stale_seconds=7.5)),
        report=lambda _: None,
        forget=lambda: None,
    )

    async def look(_: float) -> None:
        told.append(informer.stale_seconds)
        if len(told) == 4:
            is_told.set()
            await asyncio.Event().wait()

    monkeypatch.setattr("asyncio.sleep", look)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await is_told.wait()
        task.cancel()
    assert told == [0.0, None, 10.0, 7.5]


@pytest.mark.parametrize(
    ("policy", "count"),
    [(b'{"gang": {"minCount": 4}}', 4), (b'{"basic": {}}', 0)],
)
def test_a_pod_group_is_read(policy: bytes, count: int) -> None:
    raw = b'{"metadata": {"name": "train", "namespace": "a"}, "spec": {"schedulingPolicy": ' + policy + b"}}"
    assert decode_pod_group(raw) == PodGroup("a", "train", count)


def test_what_is_no_pod_group_is_said_to_be_none() -> None:
    with pytest.raises(UnreadableObject, match="podgroup"):
        decode_pod_group(b'{"metadata": {"name": "train"}, "spec": {"schedulingPolicy": {"gang": {}}}}')
