"""Server-sent events: what somebody looks at, and each change of it, until they look away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import msgspec
from aiohttp import web

from controller.dashboard.feeds import Feed, Feeds
from controller.dashboard.parts import Part
from controller.dashboard.problems import Problem
from controller.dashboard.viewers import Viewer
from controller.kube import clock

BEAT: Final = 15.0
"""At the latest after so many seconds something is sent, so that whoever is gone is noticed."""
LATE: Final = 5.0
"""After so many seconds without an answer, or without a next question, whoever looks is told so."""
_LOOK: Final = 1.0


class _Sent:
    """What was sent of one part: `number` is its place among those that were asked for, and the name of its events."""

    def __init__(self, number: int, part: Part, feed: Feed) -> None:
        self._number = number
        self._part = part
        self._feed = feed
        self._version = 0
        self._body = b""
        self._is_late = False

    def news(self) -> bytes:
        """Return the event to send now; empty: nothing has changed."""
        is_late = clock.monotonic() - self._feed.asked_at > LATE + self._feed.question.pause
        if self._version == self._feed.version and is_late == self._is_late:
            return b""
        self._version, self._is_late = self._feed.version, is_late
        body = msgspec.json.encode(self._told())
        if body == self._body:
            return b""
        self._body = body
        return b"event: %d\ndata: %s\n\n" % (self._number, body)

    def _told(self) -> dict[str, Any]:
        problem = self._feed.problem
        if self._is_late and problem is None:
            problem = Problem("notAnswering", f"No answer has come for {LATE:g} s.", "What you see may be out of date.")
        if problem is not None:
            return {"problem": problem}
        return {"part": self._part.shown(self._feed.answer)}


async def stream(request: web.Request, feeds: Feeds, viewer: Viewer, parts: Sequence[Part]) -> web.StreamResponse:
    """Send these parts, and what changes, until the connection or the server ends."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    async with AsyncExitStack() as stack:
        sent = [
            _Sent(number, one, await stack.enter_async_context(feeds.listen(viewer, one.question)))
            for number, one in enumerate(parts)
        ]
        with suppress(ConnectionError):
            await response.prepare(request)
            written, beat = clock.monotonic(), b": the page asks again for what it looks at\n\n"
            while not feeds.is_over and _is_there(request):
                news = feeds.news
                events = b"".join(one.news() for one in sent) or beat
                if events:
                    await response.write(events)
                    written = clock.monotonic()
                await _wait(news)
                beat = b": still here\n\n" if clock.monotonic() - written >= BEAT else b""
    return response


def _is_there(request: web.Request) -> bool:
    """Whether the connection is open: nothing else tells of one that has ended, as long as nothing is written."""
    return request.transport is not None and not request.transport.is_closing()


async def _wait(news: asyncio.Event) -> None:
    """Wait for news, but not for long: an answer that does not come is none."""
    with suppress(TimeoutError):
        await asyncio.wait_for(news.wait(), _LOOK)
