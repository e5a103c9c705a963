"""Server-sent events: what somebody looks at, and each change of it, until they look away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import Final

import msgspec
from aiohttp import web

from controller.dashboard.feeds import Feed, Feeds
from controller.dashboard.parts import Part
from controller.dashboard.viewers import Viewer

BEAT: Final = 15.0
"""At the latest after so many seconds something is sent, so that whoever is gone is noticed."""


class _Sent:
    """What was sent of one part."""

    def __init__(self, part: Part, feed: Feed) -> None:
        self._part = part
        self._feed = feed
        self._version = 0
        self._body = b""

    def news(self) -> bytes | None:
        """Return the event to send now; None: nothing has changed."""
        if self._version == self._feed.version:
            return None
        self._version = self._feed.version
        event, body = self._event()
        if body == self._body:
            return None
        self._body = body
        return b"event: %s\ndata: %s\n\n" % (event, body)

    def _event(self) -> tuple[bytes, bytes]:
        problem = self._feed.problem
        if problem is not None:
            return b"problem", msgspec.json.encode({"part": self._part.name, "problem": problem})
        return self._part.name.encode(), msgspec.json.encode(self._part.shown(self._feed.answer))


async def stream(request: web.Request, feeds: Feeds, viewer: Viewer, parts: Sequence[Part]) -> web.StreamResponse:
    """Send these parts, and what changes, until the connection or the server ends."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    async with AsyncExitStack() as stack:
        sent = [_Sent(one, await stack.enter_async_context(feeds.listen(viewer, one.question))) for one in parts]
        with suppress(ConnectionError):
            await response.prepare(request)
            beat = b": the page asks again for what it looks at\n\n"
            while not feeds.is_over:
                news = feeds.news
                events = b"".join(event for event in (one.news() for one in sent) if event is not None)
                if events or beat:
                    await response.write(events or beat)
                beat = await _beat(news)
    return response


async def _beat(news: asyncio.Event) -> bytes:
    """Wait for news; return what to send where there is none for too long."""
    try:
        await asyncio.wait_for(news.wait(), BEAT)
    except TimeoutError:
        return b": still here\n\n"
    return b""
