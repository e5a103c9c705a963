"""Answers what a client sends: reads it, asks whether the viewer may see what it names, and has it worked out.

Nobody keeps what was sent. It is worked out elsewhere than on the event loop, and may wait for others there: it takes
no place of those who read, and no more than a few wait at a time.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiohttp import web
from msgspec import json, structs

from controller.extension_api.answers import check_names, redacted
from controller.extension_api.authorization import Authorizer
from controller.extension_api.bodies import LIMIT, Sent, read_sent
from controller.extension_api.front_proxy import Viewer
from controller.extension_api.paths import Target
from controller.extension_api.resources import API_VERSION, Creation, Question
from controller.extension_api.statuses import Refused
from controller.kube import clock

MOST: Final = 8
"""Objects that are answered, or wait for it, at a time."""
_RETRY_SECONDS: Final = 5
_JSON: Final = "application/json"

_encode = json.Encoder().encode


class Creator:
    """Answers what viewers send."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._under_way = 0

    async def answer(
        self, request: web.Request, viewer: Viewer, target: Target, creation: Creation, seconds: float
    ) -> bytes:
        """Return the object that was sent with its `status`, within so many seconds. Raises Refused."""
        resource = target.resource
        until = clock.monotonic() + seconds
        if self._under_way >= MOST:
            told = f"{MOST} {resource.plural} are worked out or wait for that; try again later"
            raise Refused(429, told, retry_seconds=_RETRY_SECONDS)
        self._under_way += 1
        try:
            async with asyncio.timeout(seconds):
                return await self._answered(request, viewer, target, creation, until)
        except TimeoutError:
            why = f"others of {resource.plural} come first"
            raise Refused(504, f"no answer within {seconds:g} s, as {why}; try again later, or ask for less") from None
        finally:
            self._under_way -= 1

    async def _answered(
        self, request: web.Request, viewer: Viewer, target: Target, creation: Creation, until: float
    ) -> bytes:
        resource = target.resource
        body = await _body(request)
        # by a thread: a large one takes longer than the event loop has
        sent = await asyncio.to_thread(read_sent, resource, creation.spec, body, target.namespace)
        of_request = frozenset({target.namespace} - {""})
        await check_names(self._authorizer, viewer, creation.names(sent.spec) | of_request)
        entry = await creation.answer(Question(sent.metadata.name, sent.spec, until, target.namespace))
        (shown,) = await redacted(self._authorizer, viewer, resource, [entry])
        return _encode(_object(target, sent, shown.row))


def _object(target: Target, sent: Sent, row: object) -> dict[str, Any]:
    head = {"kind": target.resource.kind, "apiVersion": API_VERSION}
    metadata = structs.replace(sent.metadata, namespace=target.namespace)
    return {**head, "metadata": metadata, "spec": sent.spec, "status": row}


async def _body(request: web.Request) -> bytes:
    if request.content_type != _JSON or request.headers.get("Content-Encoding", "identity") != "identity":
        raise Refused(415, f"the body is of {request.content_type}, or packed: send {_JSON} as it is")
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise Refused(413, f"Request entity too large: limit is {LIMIT}") from None
    except ConnectionError:
        raise Refused(400, "the body did not come to its end: send it again") from None
