"""Lists that come one object at a time, and pages bounded by bytes where the apiserver serves none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.kube import watch
from controller.kube.backoff import Backoff
from controller.kube.decode import decode_metadata
from controller.kube.errors import Forbidden, Silent, TooLarge, Unreachable
from controller.kube.listing import list_all
from controller.kube.watch import Informer, Trouble
from controller.kube.wire import Owned
from tests.support.fake_client import Call, EndOfScript, FakeClient, ScriptedCollection, Streamed
from tests.support.pod_documents import raw

PATH = "/api/v1/widgets"
END = {"k8s.io/initial-events-end": "true"}


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BACKOFF", Backoff(first=0.0, longest=0.0))


class Remembering:
    """A sink that writes down what happened."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def replace(self, items: list[Owned]) -> None:
        self.events.append(f"replace {','.join(f'{item.name}@{item.resource_version}' for item in items)}")

    def upsert(self, item: Owned) -> None:
        self.events.append(f"upsert {item.name}")

    def remove(self, gone: Owned) -> None:
        self.events.append(f"remove {gone.name}")


def event(kind: str, name: str, version: str = "1", **metadata: Any) -> bytes:
    body = {"metadata": {"name": name, "resourceVersion": version, **metadata}}
    return raw({"type": kind, "object": body}) + b"\n"


def bookmark(version: str, annotations: dict[str, str] | None = None) -> bytes:
    return event("BOOKMARK", "", version, annotations=annotations)


async def play(*script: Any) -> tuple[list[str], list[str], list[Trouble]]:
    """What the sink was told, what was asked for in short, and the troubles."""
    sink, server, troubles = Remembering(), ScriptedCollection(*script), list[Trouble]()
    informer = Informer(server.as_client, PATH, decode=decode_metadata, sink=sink, report=troubles.append)
    with pytest.raises(EndOfScript):
        await informer.run()
    asked = [
        "STREAM" if "sendInitialEvents" in call.params else f"{call.method} {call.params.get('resourceVersion', '')}"
        for call in server.calls
    ]
    return sink.events, [one.strip() for one in asked], troubles


async def test_a_list_comes_one_by_one_and_the_watch_goes_on() -> None:
    chunks = [event("ADDED", "a"), event("ADDED", "b", "2"), bookmark("9", END), event("MODIFIED", "a", "10")]
    events, asked, troubles = await play(Streamed(chunks), [])
    assert (events, troubles) == (["replace a@1,b@2", "upsert a"], [])
    assert asked == ["STREAM", "WATCH 10", "WATCH 10"]


async def test_what_changes_while_the_list_comes_counts() -> None:
    chunks = [
        *(event("ADDED", name) for name in "abc"),
        event("MODIFIED", "a", "7"),
        event("DELETED", "b", "8"),
        bookmark("9", END),
    ]
    events, _, _ = await play(Streamed(chunks))
    assert events == ["replace c@1,a@7"]


async def test_a_list_that_ends_half_way_is_begun_anew() -> None:
    whole = Streamed([event("ADDED", "b"), bookmark("9", END)])
    for half in (Streamed([event("ADDED", "a")]), Streamed([event("ADDED", "a"), Unreachable("reset")])):
        events, asked, troubles = await play(half, whole, [])
        assert (events, asked) == (["replace b@1"], ["STREAM", "STREAM", "WATCH 9", "WATCH 9"])
        assert len(troubles) == 1


async def test_an_unreadable_object_of_a_streamed_list_is_passed_over() -> None:
    chunks = [event("ADDED", "bad", labels={"x": 1}), event("ADDED", "a"), bookmark("9", END)]
    events, _, troubles = await play(Streamed(chunks))
    assert (events, [trouble.cause for trouble in troubles]) == (["replace a@1"], ["unreadable"])


def page(*names: str) -> bytes:
    items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in names]
    return raw({"metadata": {"resourceVersion": "5"}, "items": items})


async def test_where_streams_are_not_served_pages_are_asked_for() -> None:
    events, asked, troubles = await play(page("a"), [])
    assert (events, asked, troubles) == (["replace a@1"], ["LIST", "WATCH 5", "WATCH 5"], [])


async def test_a_bookmark_that_ends_nothing_is_of_no_such_stream() -> None:
    events, asked, _ = await play(Streamed([event("ADDED", "a"), bookmark("9")]), page("b"), [])
    assert (events, asked) == (["replace b@1"], ["STREAM", "LIST", "WATCH 5", "WATCH 5"])


async def test_another_refusal_of_a_stream_is_no_reason_for_pages() -> None:
    refused = Streamed([Forbidden(403, "Forbidden", "no")])
    events, asked, troubles = await play(refused, Streamed([bookmark("9", END)]))
    assert (events, asked[:2], len(troubles)) == (["replace "], ["STREAM", "STREAM"], 1)


@pytest.mark.parametrize(("size", "limit"), [(2**20, "7"), (9 * 2**20, "1"), (1000, "1000"), (20_000, "418")])
async def test_pages_are_as_long_as_8_mb_of_what_came_before(size: int, limit: str) -> None:
    def of_size(token: str) -> bytes:
        items = [{"metadata": {"name": f"a{number}", "annotations": {"a": "x" * size}}} for number in range(20)]
        return raw({"metadata": {"continue": token}, "items": items})

    fake = FakeClient().will("GET", of_size("more"), of_size(""))
    assert len(await list_all(fake.as_client, PATH, decode_metadata)) == 40
    assert [call.params["limit"] for call in fake.calls] == ["20", limit]
    assert all("resourceVersion" not in call.params for call in fake.calls)


class Shelves(FakeClient):
    """A collection of objects of such sizes, which knows how long an answer may be."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self._sizes = sizes
        self.longest = 0

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, most_bytes: int | None = None, **_: Any
    ) -> bytes:
        asked = params or {}
        self.calls.append(Call("GET", path, None, dict(asked)))
        begin = int(asked.get("continue", 0))
        end = begin + int(asked["limit"])
        size = sum(self._sizes[begin:end])
        if most_bytes is not None and size > most_bytes:
            raise TooLarge("too long")
        self.longest = max(self.longest, size)
        items = [{"metadata": {"name": f"a{number}"}} for number in range(begin, min(end, len(self._sizes)))]
        return raw({"metadata": {"continue": str(end) if end < len(self._sizes) else ""}, "items": items})


async def test_large_objects_behind_small_ones_make_no_huge_page() -> None:
    shelves = Shelves([500] * 1200 + [3 * 2**20 // 2] * 300)
    assert len(await list_all(shelves.as_client, PATH, decode_metadata)) == 1500
    assert shelves.longest <= 32 * 2**20


async def test_a_single_object_is_taken_however_large_it_is() -> None:
    shelves = Shelves([500] * 5 + [100 * 2**20] + [500] * 5)
    assert len(await list_all(shelves.as_client, PATH, decode_metadata)) == 11
    assert shelves.longest == 100 * 2**20


async def test_an_empty_page_with_more_behind_it_is_no_measure() -> None:
    fake = FakeClient().will("GET", raw({"metadata": {"continue": "more"}, "items": None}), page("a"))
    await list_all(fake.as_client, PATH, decode_metadata)
    assert [call.params["limit"] for call in fake.calls] == ["20", "20"]


async def test_a_stream_that_ends_early_is_told_as_that() -> None:
    _, _, troubles = await play(Streamed([event("ADDED", "a")]), Streamed([bookmark("9", END)]))
    assert troubles[0].text == f"{PATH}: the watch ended before all that there is had come"


async def test_a_stream_silent_before_its_end_is_trouble() -> None:
    script: tuple[list[bytes | Exception], ...] = (
        Streamed([event("ADDED", "a"), Silent("")]),
        Streamed([bookmark("9", END), Silent("")]),
        [],
    )
    events, asked, troubles = await play(*script)
    assert (events, [trouble.cause for trouble in troubles]) == (["replace "], ["Silent"])
    assert asked[:3] == ["STREAM", "STREAM", "WATCH 9"]
