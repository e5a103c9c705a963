"""What faults do to the lines of watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import aiohttp
import orjson

from controller.kube import clock
from tests.faults.seeds.history import PATHS, Event, History
from tests.faults.seeds.requests import Now, status
from tests.faults.seeds.script import RESOURCES, Fault, Span
from tests.support.apiserver_proxy import Cut, Lines, Request
from tests.support.eventually import eventually

_LARGE = b" " * (5 * 2**20)
_PIECE = 7
_MOST_PIECES = 200
_HOLD_SECONDS = (0.5, 4.0)
_BOOKMARK_SECONDS = 0.3
_STALE_SECONDS = (1.0, 6.0)
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_REWOUND = 20
_BY_PATH = {PATHS[name]: name for name in RESOURCES}
_ORDER = (
    Fault.HALF_OPEN,
    Fault.MISSED,
    Fault.BOOKMARKS,
    Fault.DELAYED,
    Fault.RESET,
    Fault.CUT_LINE,
    Fault.ENDED,
    Fault.GONE_EVENT,
    Fault.ERROR_EVENT,
    Fault.GARBAGE,
    Fault.TWICE,
    Fault.LARGE,
    Fault.BYTES,
)


class Streams:
    """Faults of the watches that come through a proxy; `history` is what really happened."""

    def __init__(self, now: Now, history: History, group: asyncio.TaskGroup) -> None:
        self._now = now
        self._history = history
        self._group = group

    async def edit(self, request: Request, lines: Lines) -> Lines:
        """The lines as who opened the watch gets them."""
        path, _, query = request.path.partition("?")
        name = _BY_PATH.get(path, "") if "labelSelector" not in query else ""
        if "sendInitialEvents" in query and name and self._now.hit(Fault.STALE_LIST, name):
            lines = self._stale(name, lines)
        elif "sendInitialEvents" not in query and name and self._now.hit(Fault.REWOUND, name):
            lines = self._rewound(name, lines)
        watch = _Watch(self._now, name)
        pump = self._group.create_task(watch.read(lines), name="watch")
        try:
            async for part in watch.parts():
                yield part
        finally:
            pump.cancel()

    async def _stale(self, name: str, lines: Lines) -> Lines:
        then, since = self._history.as_of(name, clock.monotonic() - self._now.between(_STALE_SECONDS))
        oldest = since[0].version - 1 if since else self._history.newest(name)
        for event in then.values():
            yield _line("ADDED", event.line)
        yield _bookmark(name, max(oldest, 1), {_INITIAL_EVENTS_END: "true"})
        newest = 0
        async for line in lines:
            meta = orjson.loads(line)["object"]["metadata"]
            if _INITIAL_EVENTS_END in (meta.get("annotations") or {}):
                break
            newest = max(newest, int(meta["resourceVersion"]))
        await eventually(lambda: self._history.newest(name) >= newest, message="the history lags")
        told = oldest
        for event in self._since(name, oldest):
            told = event.version
            yield event.line
        async for line in lines:
            if int(orjson.loads(line)["object"]["metadata"]["resourceVersion"]) > told:
                yield line

    def _since(self, name: str, version: int) -> list[Event]:
        return [event for event in self._history.events[name] if event.version > version]

    async def _rewound(self, name: str, lines: Lines) -> Lines:
        for event in self._history.events[name][-_REWOUND:]:
            yield event.line
        async for line in lines:
            yield line


class _Watch:
    """One watch while it is disturbed."""

    def __init__(self, now: Now, name: str) -> None:
        self._now = now
        self._name = name
        self._held_until = 0.0
        self._last = 1
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def read(self, lines: Lines) -> None:
        """Take in what the apiserver sends, as it comes."""
        try:
            with suppress(aiohttp.ClientError):
                async for line in lines:
                    self._queue.put_nowait(line)
        finally:
            self._queue.put_nowait(None)

    async def parts(self) -> AsyncIterator[bytes]:
        acts: dict[Fault, Callable[[bytes, Span], AsyncIterator[bytes]]] = {
            Fault.HALF_OPEN: self._half_open,
            Fault.MISSED: self._miss,
            Fault.BOOKMARKS: self._bookmarks,
            Fault.DELAYED: self._hold,
            Fault.RESET: self._reset,
            Fault.TWICE: self._twice,
            Fault.LARGE: self._large,
            Fault.BYTES: self._bytes,
        }
        while (line := await self._queue.get()) is not None:
            fault, span = self._fault()
            if span is None:
                yield line
            elif fault in acts:
                async for part in acts[fault](line, span):
                    yield part
                if fault is Fault.MISSED:
                    return
            else:
                yield _last_line(fault, line)
                return
            self._last = int(orjson.loads(line)["object"]["metadata"].get("resourceVersion", self._last))

    def _fault(self) -> tuple[Fault, Span | None]:
        for fault in _ORDER:
            if span := self._now.hit(fault, self._name):
                return fault, span
        return Fault.ENDED, None

    async def _half_open(self, _: bytes, span: Span) -> AsyncIterator[bytes]:
        await self._until(span.end)
        raise Cut
        yield b""

    async def _miss(self, _: bytes, span: Span) -> AsyncIterator[bytes]:
        await self._until(span.end)
        yield _error(410, "Expired")

    async def _until(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds - self._now.seconds))

    async def _hold(self, line: bytes, _: Span) -> AsyncIterator[bytes]:
        await self._until(self._until_when())
        yield line

    async def _bookmarks(self, line: bytes, _: Span) -> AsyncIterator[bytes]:
        until = self._until_when()
        while self._now.seconds < until and self._last > 1:
            yield _bookmark(self._name, self._last, {})
            await asyncio.sleep(_BOOKMARK_SECONDS)
        yield line

    def _until_when(self) -> float:
        if self._now.seconds > self._held_until:
            self._held_until = self._now.seconds + self._now.between(_HOLD_SECONDS)
        return self._held_until

    async def _reset(self, line: bytes, _: Span) -> AsyncIterator[bytes]:
        yield line[: len(line) // 2]
        raise Cut

    async def _twice(self, line: bytes, _: Span) -> AsyncIterator[bytes]:
        yield line
        yield line

    async def _large(self, line: bytes, _: Span) -> AsyncIterator[bytes]:
        yield line[:1] + _LARGE + line[1:]

    async def _bytes(self, line: bytes, _: Span) -> AsyncIterator[bytes]:
        size = max(_PIECE, len(line) // _MOST_PIECES)
        for begin in range(0, len(line), size):
            yield line[begin : begin + size]
            await asyncio.sleep(0)


def _last_line(fault: Fault, line: bytes) -> bytes:
    """What a watch ends with, where it ends properly."""
    return {
        Fault.CUT_LINE: line[: len(line) // 2],
        Fault.ENDED: line,
        Fault.GONE_EVENT: _error(410, "Expired"),
        Fault.ERROR_EVENT: _error(500, "InternalError"),
        Fault.GARBAGE: b'{"type": no JSON\n',
    }[fault]


def _error(code: int, reason: str) -> bytes:
    return _line("ERROR", b'{"object":' + status(code, reason) + b"}")


def _line(kind: str, told: bytes) -> bytes:
    return orjson.dumps({"type": kind, "object": orjson.loads(told)["object"]}) + b"\n"


def _bookmark(name: str, version: int, annotations: dict[str, str]) -> bytes:
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    kind = {"pods": "Pod", "jobs": "Job", "nodes": "Node"}.get(name, "ClusterQueue")
    return (
        orjson.dumps({"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": "v1", "metadata": metadata}}) + b"\n"
    )
