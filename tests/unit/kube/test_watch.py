from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import Raw

from controller.kube import clock, watch
from controller.kube.backoff import Backoff
from controller.kube.decode import decode_metadata
from controller.kube.errors import Gone, Silent, TooManyRequests, Unreachable, UnreadableObject
from controller.kube.watch import Informer, Trouble
from controller.kube.wire import Owned
from tests.support.fake_client import EndOfScript, ScriptedCollection
from tests.support.pod_documents import raw

Json = dict[str, Any]
PATH = "/api/v1/widgets"
USUAL = watch.BACKOFF


class Remembering:
    """A sink that keeps names and writes down what happened."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.events: list[str] = []

    def replace(self, items: list[Owned]) -> None:
        self.names = {item.name for item in items}
        self.events.append(f"replace {','.join(sorted(self.names))}")

    def upsert(self, item: Owned) -> None:
        self.names.add(item.name)
        self.events.append(f"upsert {item.name}")

    def remove(self, gone: Owned) -> None:
        self.names.discard(gone.name)
        self.events.append(f"remove {gone.name}")


class InParts:
    """One that takes in a list name by name."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def replace(self, items: list[Owned]) -> Iterator[None]:
        for item in items:
            self.upsert(item)
            yield

    def upsert(self, item: Owned) -> None:
        self.names.append(item.name)

    def remove(self, item: Owned) -> None:
        self.names.remove(item.name)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BACKOFF", Backoff(first=0.0, longest=0.0))


def widget(name: str, version: str = "1", **metadata: Any) -> Json:
    return {"metadata": {"name": name, "resourceVersion": version, **metadata}}


def page(*names: str, version: str = "10", token: str = "", extra: tuple[Json, ...] = ()) -> bytes:
    items = [*map(widget, names), *extra]
    return raw({"metadata": {"resourceVersion": version, "continue": token}, "items": items})


def event(kind: str, item: Json) -> bytes:
    return raw({"type": kind, "object": item}) + b"\n"


def expired(**status: Any) -> bytes:
    return event("ERROR", {"kind": "Status", "message": "too old", **status})


async def play(
    *script: Any, selector: str | None = None, decode: Callable[[Raw], Owned] = decode_metadata
) -> tuple[Remembering, ScriptedCollection, list[Trouble]]:
    sink, server = Remembering(), ScriptedCollection(*script)
    troubles: list[Trouble] = []
    informer = Informer(
        server.as_client,
        PATH,
        decode=decode,
        sink=sink,
        report=troubles.append,
        selector=selector,
        on_rewind=lambda: sink.events.append("rewind"),
    )
    assert not informer.synced.is_set()
    with pytest.raises(EndOfScript):
        await informer.run()
    assert informer.synced.is_set() is bool(sink.events)
    return sink, server, troubles


def asked(server: ScriptedCollection) -> list[str]:
    """Each call in short: LIST with its continue token, WATCH with the version it resumes from."""
    return [
        f"LIST {call.params.get('continue', '')}".strip()
        if call.method == "LIST"
        else f"WATCH {call.params['resourceVersion']}"
        for call in server.calls
    ]


async def test_pages_are_joined_into_one_replacement() -> None:
    sink, server, troubles = await play(page("a", token="more"), page("b"), [])
    assert (sink.events, troubles) == (["replace a,b"], [])
    assert asked(server) == ["LIST", "LIST more", "WATCH 10", "WATCH 10"]
    assert server.calls[0].params["limit"] == "20"


async def seen_by_others(server: ScriptedCollection, *, calls: int | None = None) -> list[int]:
    """How many were there, turn by turn, until so many calls were made, or the first list was taken in."""
    sink, seen = InParts(), list[int]()
    informer = Informer(server.as_client, PATH, decode=decode_metadata, sink=sink, report=lambda _: None)

    async def look_on() -> None:
        while len(server.calls) < calls if calls else not informer.synced.is_set():
            seen.append(len(sink.names))
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(look_on(), name="look on")
        with pytest.raises(EndOfScript):
            await informer.run()
    return seen


async def test_others_go_on_while_a_list_is_taken_in_by_parts() -> None:
    assert await seen_by_others(ScriptedCollection(page("a", "b", "c"))) == [1, 2, 3]


async def test_others_go_on_while_a_later_list_is_taken_in() -> None:
    server = ScriptedCollection(page("a"), [expired(code=410, reason="Gone")], page("b", "c", "d", version="50"), [])
    assert {2, 3} <= set(await seen_by_others(server, calls=5))


async def test_others_go_on_while_a_page_is_read() -> None:
    server = ScriptedCollection(page(*(f"o{number}" for number in range(250))), [])
    turns_before_the_first = (await seen_by_others(server)).count(0)
    assert turns_before_the_first >= 2


async def test_the_selector_goes_into_lists_and_watches() -> None:
    _, server, _ = await play(page(), selector="a=b")
    assert [call.params["labelSelector"] for call in server.calls] == ["a=b", "a=b"]


async def test_events_are_handed_on_in_order_and_move_the_version() -> None:
    chunks = [
        event("ADDED", widget("b", "11")),
        event("MODIFIED", widget("b", "12")),
        event("DELETED", widget("a", "13")),
    ]
    sink, server, _ = await play(page("a"), chunks)
    assert sink.events == ["replace a", "upsert b", "upsert b", "remove a"]
    assert asked(server) == ["LIST", "WATCH 10", "WATCH 13"]


async def test_a_bookmark_moves_the_version_and_nothing_else() -> None:
    sink, server, _ = await play(page("a"), [event("BOOKMARK", widget("", "99"))])
    assert (sink.events, asked(server)) == (["replace a"], ["LIST", "WATCH 10", "WATCH 99"])
    assert server.calls[1].params["allowWatchBookmarks"] == "true"


async def test_lines_may_be_cut_anywhere_and_a_torn_end_is_none() -> None:
    stream = (
        event("ADDED", widget("b", "11")) + b"\n" + event("ADDED", widget("c", "12")) + event("ADDED", widget("d"))[:-9]
    )
    chunks = [stream[start : start + 7] for start in range(0, len(stream), 7)]
    sink, server, _ = await play(page("a"), chunks)
    assert sink.events == ["replace a", "upsert b", "upsert c"]
    assert asked(server)[-1] == "WATCH 12"


@pytest.mark.parametrize(
    "gone",
    [
        Gone(410, "Expired", "too old"),
        [expired(code=410, reason="Gone")],
        [expired(code=410, reason="Expired")],
        [expired(code=500, reason="Expired")],
    ],
)
async def test_after_410_all_is_listed_and_what_vanished_goes(gone: Any) -> None:
    sink, server, troubles = await play(page("a", "b"), gone, page("b", "c", version="50"))
    assert sink.names == {"b", "c"}
    assert asked(server) == ["LIST", "WATCH 10", "LIST", "WATCH 50"]
    assert [(trouble.resource, trouble.cause) for trouble in troubles] == [("widgets", "expired")]


async def test_another_error_in_the_watch_resumes_where_it_was() -> None:
    chunks = [event("ADDED", widget("b", "11")), expired(code=504, reason="Timeout")]
    sink, server, troubles = await play(page("a"), chunks)
    assert (sink.names, asked(server)[-1]) == ({"a", "b"}, "WATCH 11")
    assert [trouble.cause for trouble in troubles] == ["ServerError"]


async def test_after_three_refusals_all_is_listed_again() -> None:
    refused = [expired(code=500, reason="InternalError")]
    arrived = [event("ADDED", widget("b", "11")), *refused]
    sink, server, _ = await play(page("a"), refused, refused, arrived, refused, refused, page("c", version="50"))
    assert sink.events == ["replace a", "upsert b", "replace c"]
    assert asked(server) == ["LIST", "WATCH 10", "WATCH 10", "WATCH 10", "WATCH 11", "WATCH 11", "LIST", "WATCH 50"]


async def test_lost_connections_and_a_busy_apiserver_bring_no_list() -> None:
    busy, lost = TooManyRequests(429, "TooManyRequests", "later"), Unreachable("refused")
    _, server, _ = await play(page("a"), busy, busy, busy, lost, lost, lost)
    assert asked(server) == ["LIST", *["WATCH 10"] * 7]


async def test_a_lost_connection_resumes_where_it_was() -> None:
    chunks = [event("ADDED", widget("b", "11")), Unreachable("reset")]
    _, server, troubles = await play(page("a"), chunks, Unreachable("refused"))
    assert asked(server) == ["LIST", "WATCH 10", "WATCH 11", "WATCH 11"]
    assert [(trouble.cause, trouble.text) for trouble in troubles] == [
        ("Unreachable", "reset"),
        ("Unreachable", "refused"),
    ]


async def test_a_silent_watch_is_opened_anew_without_trouble(pauses: list[float]) -> None:
    sink, server, troubles = await play(page("a"), [Silent("")], [Silent("")], [event("ADDED", widget("b", "11"))])
    assert (sink.events, troubles) == (["replace a", "upsert b"], [])
    assert asked(server) == ["LIST", "WATCH 10", "WATCH 10", "WATCH 10", "WATCH 11"]
    assert len(pauses) == 1  # after the last: the script has no more silence to wait for


async def test_a_list_that_failed_is_begun_anew() -> None:
    sink, server, _ = await play(page("a", token="more", version="5"), Unreachable("reset"), page("b", version="7"))
    assert sink.events == ["replace b"]
    assert asked(server) == ["LIST", "LIST more", "LIST", "WATCH 7"]
    assert [call.params.get("limit") for call in server.calls] == ["20", "1000", "20", None]


async def test_a_list_slower_than_its_token_is_asked_at_once() -> None:
    offered = Gone(410, "Expired", "use the continue token in this response to retrieve the remainder of the results")
    sink, server, troubles = await play(page("a", token="more", version="5"), offered, page("b", version="7"))
    assert (sink.events, [trouble.cause for trouble in troubles]) == (["replace b"], ["expired"])
    assert asked(server) == ["LIST", "LIST more", "LIST", "WATCH 7"]
    assert [call.params.get("limit") for call in server.calls] == ["20", "1000", None, None]


async def test_nothing_is_synced_before_a_list_is_whole() -> None:
    sink, _, troubles = await play(Unreachable("refused"), b"<html>")
    assert (sink.events, [trouble.cause for trouble in troubles]) == ([], ["Unreachable", "KubeError"])
    assert troubles[1].text.startswith("/api/v1/widgets: the answer is no list")


async def test_an_unreadable_object_in_a_list_is_reported() -> None:
    sink, _, troubles = await play(page("a", extra=(widget("bad", labels={"x": 1}),)))
    assert (sink.events, [trouble.cause for trouble in troubles]) == (["replace a"], ["unreadable"])


async def test_an_unreadable_object_in_a_watch_is_passed_over() -> None:
    chunks = [event("ADDED", widget("bad", "11", labels={"x": 1})), event("ADDED", widget("b", "12"))]
    sink, server, troubles = await play(page("a"), chunks)
    assert (sink.events, asked(server)[-1]) == (["replace a", "upsert b"], "WATCH 12")
    assert [trouble.cause for trouble in troubles] == ["unreadable"]


def only_sound(item: Raw) -> Owned:
    if b"odd" in bytes(item):
        raise UnreadableObject("odd")
    return decode_metadata(item)


async def test_an_unreadable_deleted_object_goes_by_its_metadata() -> None:
    gone = {**widget("a", "13"), "status": "odd"}
    sink, server, troubles = await play(page("a", "b"), [event("DELETED", gone)], decode=only_sound)
    assert (sink.events, troubles) == (["replace a,b", "remove a"], [])
    assert asked(server)[-1] == "WATCH 13"


async def test_a_deleted_object_without_metadata_is_reported() -> None:
    sink, server, troubles = await play(page("a"), [event("DELETED", {"metadata": 5})])
    assert (sink.events, [trouble.cause for trouble in troubles]) == (["replace a"], ["unreadable"])
    assert asked(server)[-1] == "WATCH 10"


async def test_a_line_that_is_no_event_begins_the_watch_again() -> None:
    sink, server, troubles = await play(page("a"), [b"<html>\n"], [event("ADDED", widget("b", "11"))])
    assert (sink.names, asked(server)) == ({"a", "b"}, ["LIST", "WATCH 10", "WATCH 10", "WATCH 11"])
    assert "unreadable watch event" in troubles[0].text


async def test_versions_that_went_back_make_everything_known_void() -> None:
    restored = page("a", version="5")
    sink, server, troubles = await play(page("a", "b"), Gone(410, "Expired", ""), restored)
    assert sink.events == ["replace a,b", "rewind", "replace a"]
    assert [trouble.cause for trouble in troubles] == ["expired", "rewound"]
    assert asked(server)[-1] == "WATCH 5"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the informer pauses each time, without jitter; it does not really."""
    found: list[float] = []

    async def remember(seconds: float) -> None:
        found.append(round(seconds, 1))

    monkeypatch.setattr(watch, "BACKOFF", USUAL)
    monkeypatch.setattr("asyncio.sleep", remember)
    monkeypatch.setattr("random.uniform", lambda *_: 1.0)
    return found


async def test_pauses_double_and_start_again_after_something_came(pauses: list[float]) -> None:
    failures = [Unreachable("refused")] * 9
    await play(*failures, page("a"), [event("BOOKMARK", widget("", "11"))], Unreachable("reset"))
    assert pauses == [0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 0.2, 0.4]


async def test_pauses_double_where_each_watch_is_refused(pauses: list[float]) -> None:
    await play(*[page("a"), [expired(code=410)]] * 4)
    assert pauses == [0.4, 0.8, 1.6, 3.2]


async def test_a_busy_apiserver_says_how_long_to_pause(pauses: list[float]) -> None:
    def busy(seconds: float) -> TooManyRequests:
        return TooManyRequests(429, "TooManyRequests", "later", retry_after_seconds=seconds)

    await play(busy(7.0), busy(0.0), page("a"), busy(5.0), busy(3600.0))
    assert pauses == [7.0, 0.8, 5.0, 30.0]


async def staleness(monkeypatch: pytest.MonkeyPatch, *script: Any) -> list[float | None]:
    """How stale the informer is whenever it pauses: it is made at second 100 and run from 1000 on, a pause takes 10."""
    told: list[float | None] = []
    monkeypatch.setattr(clock, "monotonic", lambda: 100.0)
    informer = Informer(
        ScriptedCollection(*script).as_client,
        PATH,
        decode=decode_metadata,
        sink=Remembering(),
        report=lambda _: None,
    )
    monkeypatch.setattr(clock, "monotonic", lambda: 1000.0 + 10.0 * len(told))

    async def look(_: float) -> None:
        told.append(informer.stale_seconds)

    monkeypatch.setattr("asyncio.sleep", look)
    with pytest.raises(EndOfScript):
        await informer.run()
    return told


async def test_what_was_never_listed_is_stale_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await staleness(monkeypatch, Unreachable("refused"), Unreachable("refused")) == [0.0, 10.0]


async def test_nothing_is_stale_while_the_watch_works(monkeypatch: pytest.MonkeyPatch) -> None:
    bookmark = event("BOOKMARK", widget("", "11"))
    assert await staleness(monkeypatch, page("a"), [bookmark], [bookmark]) == [None, None]
    assert await staleness(monkeypatch, page("a"), Gone(410, "Expired", ""), page("a"), []) == [None, None]


async def test_it_is_stale_from_the_last_word_to_the_next_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await staleness(monkeypatch, page("a"), [Unreachable("reset")], Unreachable("refused"), []) == [
        0.0,
        10.0,
        None,
    ]


async def test_the_silent_is_stale_once_no_watch_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    silence = [[Silent("")], [Silent("")]]
    assert await staleness(monkeypatch, page("a"), *silence, Unreachable("refused"), []) == [0.0, None]


@pytest.mark.parametrize("status", [{"code": 500}, {"code": 410, "reason": "Expired"}])
async def test_a_watch_opened_to_be_refused_is_stale_from_the_list(
    monkeypatch: pytest.MonkeyPatch, status: Json
) -> None:
    refused = [expired(**status)]
    lists = [page("a")] if status["code"] == 410 else []
    told = await staleness(monkeypatch, page("a"), refused, *lists, refused, *lists, refused)
    assert told == ([None, 0.0, 0.0] if lists else [0.0, 10.0, 20.0])
