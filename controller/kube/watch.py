"""List, then watch, for as long as the program runs: a kind of object kept in step with the apiserver.

The list is a watch that begins with all there is, where the apiserver serves that; else it comes by pages. Resumes
where a watch ended, lists again after 410 and where the apiserver refuses to resume, opens a silent watch anew, and
backs off with jitter on every failure, as client-go's Reflector does. What arrives is handed on as bytes; what it means
is the sink's business.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from controller.kube import clock, wire
from controller.kube.backoff import Backoff
from controller.kube.catching_up import Newness, version_now, went_back
from controller.kube.client import Client
from controller.kube.decode import decode_metadata
from controller.kube.errors import ApiError, Gone, KubeError, Silent, TooManyRequests, UnreadableObject, api_error
from controller.kube.listing import pages

T = TypeVar("T")
U = TypeVar("U")

SILENT_SECONDS: Final = 70.0
"""After so long without a word a watch is opened anew.

Bookmarks come once a minute, but none while the version of the kind has not moved since the watch was opened
(`cacheWatcher.process` of k8s.io/apiserver), which without a write only etcd's progress notifications do, every ten
minutes unless told otherwise: so silence alone is no dead connection.
"""
_WATCH_SECONDS = (300, 600)
BACKOFF = Backoff(first=0.2, longest=30.0)
_MOST_ASKED_SECONDS = 30.0
"""No longer than this is waited when the apiserver asks to (Retry-After): what is known would be too old."""
_SHORT_SECONDS = 1.0
_MOST_REFUSALS = 3
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark after which a watch tells what is new (KEP-3157)."""
_NOT_SERVED = (400, 422)
"""What an apiserver answers that does not begin a watch with all there is."""
_PART = 100
"""So many objects are decoded before others have their turn."""

_event = Decoder(wire.WatchEvent)
_status = Decoder(wire.Status)


class Sink(Protocol[T]):
    """Who keeps the objects. Calls come in order and must not block."""

    def replace(self, items: list[T]) -> Iterable[None] | None:
        """All there is now; what is not among them is gone.

        Where that takes long, it is done in parts, as what is returned is gone through: others go on in between.
        """

    def upsert(self, item: T) -> None:
        """One object is new or changed."""

    def remove(self, gone: wire.Owned) -> None:
        """One object is gone; of its last state only the metadata counts, the rest may be unreadable."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something went wrong that the informer deals with itself; for logs and metrics."""

    resource: str
    cause: str
    text: str


class Informer(Generic[T]):
    """Keeps `sink` in step with the collection at `path` (such as /api/v1/pods).

    `on_rewind` is called before a list that is older than what was seen: versions cannot be compared with it. Where
    that takes long, in parts, as what it returns is gone through.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        *,
        decode: Callable[[Raw], T],
        sink: Sink[T],
        report: Callable[[Trouble], None],
        selector: str | None = None,
        on_rewind: Callable[[], Iterable[None] | None] = lambda: None,
    ) -> None:
        self.path = path
        self.synced = asyncio.Event()
        """Set once the first list has been handed on."""
        self._client = client
        self._decode = decode
        self._sink = sink
        self._report = report
        self._params = {"labelSelector": selector} if selector else {}
        self._on_rewind = on_rewind
        self._is_streamed = True
        self._version = ""
        self._newness = Newness()
        self._arrived = False
        self._refusals = 0
        self._is_in_touch = False
        self._last_touch = clock.monotonic()

    @property
    def resource(self) -> str:
        """Plural name of the kind."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def stale_seconds(self) -> float | None:
        """For how long what the sink keeps may be out of date; None while the list and the watch work.

        Before the first list it counts from `run`. A dead connection shows after SILENT_SECONDS and the time for which
        an answer is waited for, since only then a watch in its place cannot be opened.
        """
        return None if self._is_in_touch else clock.monotonic() - self._last_touch

    async def catch_up(self) -> None:
        """Return once the sink has been handed all that was written to the collection before this was called.

        Where the kind moves, the watch soon brings a version that is new enough, and with it all before that. Where it
        does not, within the time that the latest list took, everything is listed again.
        """
        known = self._newness.version
        try:
            version = await version_now(self._client, self.path, self._params)
        except KubeError as error:
            self._trouble(type(error).__name__, error)
        else:
            # one older than what was known before it was asked for is of another history
            if not went_back(version, known) and await self._newness.has(version):
                return
        await self._newness.next_list()

    async def list_again(self) -> None:
        """Return once everything was listed, and read, anew."""
        await self._newness.next_list()

    async def run(self) -> None:
        """List and watch until cancelled."""
        # a cold standby makes its informers long before it leads
        self._last_touch = clock.monotonic()
        failures = 1
        while True:
            self._arrived = False
            began, asked = clock.monotonic(), 0.0
            if self._newness.wants_list():
                self._version = ""
            try:
                if await self._newness.until_asked(self._list_and_watch):
                    continue
            except Gone as error:
                self._trouble("expired", error)
                self._version = ""
                self._refusals += 1
                # once is usual after a watch that was away for minutes; again, right after a list, is not
                self._is_in_touch = self._is_in_touch and self._refusals == 1
            except KubeError as error:
                if isinstance(error, Silent) and self._version:
                    # a quiet kind or a dead connection: whether a watch opens now will show
                    self._refusals, failures = 0, 1
                    continue
                self._is_in_touch = False
                self._trouble(type(error).__name__, error)
                self._count_refusal(error)
                asked = error.retry_after_seconds if isinstance(error, ApiError) else 0.0
            # a watch that brought something was a good one, however it ended
            failures = 1 if self._arrived else failures + 1
            if asked or not self._arrived or clock.monotonic() - began < _SHORT_SECONDS:
                pause = BACKOFF.delay(failures) * random.uniform(0.5, 1.5)  # noqa: S311 - jitter
                await asyncio.sleep(max(pause, min(asked, _MOST_ASKED_SECONDS)))

    async def _list_and_watch(self) -> None:
        """Go on from the version that is known, if any is, until the server ends that."""
        if self._version or not await self._stream():
            if not self._version:
                await self._list()
            await self._watch()

    def _count_refusal(self, error: KubeError) -> None:
        """Have everything listed anew where the apiserver answers again and again but gives no watch from here on."""
        if isinstance(error, ApiError) and not isinstance(error, TooManyRequests):
            self._refusals += 1
            if self._refusals >= _MOST_REFUSALS:
                self._version = ""
                self._refusals = 0

    async def _list(self) -> None:
        try:
            items, version = await self._listed(at_once=False)
        except Gone as error:
            # by pages it would take too long again. The token that the answer may offer for the rest is of another
            # moment than the pages before: what moved in between would be missing.
            self._trouble("expired", error)
            items, version = await self._listed(at_once=True)
        await self._take_list(items, version)

    async def _take_list(self, items: list[T], version: str) -> None:
        newest = self._newness.version
        if went_back(version, newest):
            # etcd was restored: what we know is of a history that never was, however new its versions look
            self._trouble("rewound", KubeError(f"resourceVersion went from {newest} to {version}"))
            for _ in self._on_rewind() or ():
                await asyncio.sleep(0)
        for _ in self._sink.replace(items) or ():
            await asyncio.sleep(0)
        # only now: a list that failed half way must not be resumed from
        self._version = version
        self._newness.listed(version)
        self._touch()
        self.synced.set()

    async def _stream(self) -> bool:
        """List by a watch that begins with all there is, one object at a time, and go on with it until the server ends
        it. Say whether the apiserver serves that: however large objects are, no two of them are in memory then.
        """
        if not self._is_streamed:
            return False
        initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        params = {**self._watching(""), **initial}
        try:
            async with self._client.stream(self.path, params, silent_seconds=SILENT_SECONDS) as chunks:
                lines = _lines(chunks)
                found = await self._initial(lines)
                if found is not None:
                    await self._take_list(*found)
                    self._arrived = True
                    await self._follow(lines)
                    return True
        except ApiError as error:
            if self._version or error.status not in _NOT_SERVED:
                raise
        self._is_streamed = False
        return False

    async def _initial(self, lines: AsyncIterator[bytes]) -> tuple[list[T], str] | None:
        """Return all that can be read until the bookmark that ends it, and its version; None: this is no such stream.

        What changes meanwhile comes in between.
        """
        items: dict[tuple[str, str], T] = {}
        number = 0
        async for line in lines:
            event, number = self._decoded(line), number + 1
            if number % _PART == 0:
                await asyncio.sleep(0)
            meta = self._read(event.object, decode_metadata)
            if meta is None:
                continue
            if event.type == "BOOKMARK":
                is_end = (meta.annotations or {}).get(_INITIAL_EVENTS_END) == "true"
                return (list(items.values()), meta.resource_version) if is_end else None
            item = None if event.type == "DELETED" else self._read(event.object, self._decode)
            items.pop(meta.key, None)
            if item is not None:
                items[meta.key] = item
        raise KubeError(f"{self.path}: the watch ended before all that there is had come")

    async def _listed(self, *, at_once: bool) -> tuple[list[T], str]:
        """Return all that can be read, and the version of the whole."""
        items: list[T] = []
        version = ""
        async for page in pages(self._client, self.path, self._params, at_once=at_once):
            for number, raw in enumerate(page.items or (), start=1):
                item = self._read(raw, self._decode)
                if item is not None:
                    items.append(item)
                if number % _PART == 0:
                    await asyncio.sleep(0)
            version = page.metadata.version
        return items, version

    def _touch(self) -> None:
        self._is_in_touch, self._last_touch = True, clock.monotonic()

    async def _watch(self) -> None:
        """Watch until the server ends it."""
        async with self._client.stream(
            self.path, self._watching(self._version), silent_seconds=SILENT_SECONDS
        ) as chunks:
            await self._follow(_lines(chunks))

    def _watching(self, version: str) -> dict[str, str]:
        return {
            **self._params,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(random.randint(*_WATCH_SECONDS)),  # noqa: S311 - spreads reconnects
        }

    async def _follow(self, lines: AsyncIterator[bytes]) -> None:
        touched = self._last_touch
        self._touch()
        async for line in lines:
            try:
                self._take(self._decoded(line))
            except ApiError:
                # that the watch could be opened meant nothing
                self._last_touch = touched
                raise
            self._arrived = True
            self._refusals = 0
            self._touch()
            touched = self._last_touch

    def _decoded(self, line: bytes) -> wire.WatchEvent:
        """Return the event of a line; raise what the apiserver says where it is an error."""
        try:
            event = _event.decode(line)
            if event.type != "ERROR":
                return event
            status = _status.decode(event.object)
        except DecodeError as error:
            raise KubeError(f"{self.path}: unreadable watch event: {error}") from error
        raise api_error(410 if status.reason == "Expired" else status.code, bytes(event.object))

    def _take(self, event: wire.WatchEvent) -> None:
        if event.type == "DELETED":
            gone = self._read(event.object, decode_metadata)
            if gone is not None:
                self._sink.remove(gone)
        elif event.type != "BOOKMARK":
            item = self._read(event.object, self._decode)
            if item is not None:
                self._sink.upsert(item)
        with suppress(UnreadableObject):  # reported above; the next event or bookmark moves the version on
            self._version = decode_metadata(event.object).resource_version
            self._newness.reached(self._version)

    def _read(self, raw: Raw, decode: Callable[[Raw], U]) -> U | None:
        try:
            return decode(raw)
        except UnreadableObject as error:
            self._trouble("unreadable", error)
            return None

    def _trouble(self, cause: str, error: Exception) -> None:
        self._report(Trouble(self.resource, cause, str(error)))


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Split a stream at newlines, however it was cut; lines may be megabytes long."""
    parts: list[bytes] = []
    async for chunk in chunks:
        head, *more = chunk.split(b"\n")
        parts.append(head)
        for following in more:
            line = b"".join(parts)
            if line:
                yield line
            parts = [following]
