"""Answers of the server as JSON, which no browser keeps."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

_NOT_KEPT: Final = {"Cache-Control": "no-store"}


def json_answer(body: object, status: int = 200) -> web.Response:
    """Return an answer."""
    return encoded_answer(msgspec.json.encode(body), status)


def encoded_answer(body: bytes, status: int = 200) -> web.Response:
    """Return an answer of JSON that is written already."""
    return web.Response(body=body, status=status, content_type="application/json", headers=_NOT_KEPT)
