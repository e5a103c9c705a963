"""The page in a cluster: everybody signs in with a token of their own, and the cluster is asked with that token.

The server has no rights and keeps no tokens: each stands in a cookie of its viewer that no script reads, or comes with
every request from a proxy that authenticates. The apiserver says whose it is.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web
from msgspec import Struct

from controller.dashboard.answers import json_answer
from controller.dashboard.problems import Problem
from controller.dashboard.viewers import WHO_AM_I, SignIn, Viewer
from controller.kube.client import Client
from controller.kube.errors import KubeError, Unauthorized, one_line

COOKIE: Final = "__Host-penstock"
"""Browsers keep a cookie of such a name for this host alone, and send it over TLS alone."""
MOST_VIEWERS: Final = 1_000
"""Of whom it is remembered that the apiserver knows them; the one is forgotten who was there longest ago."""
_MOST_TOKEN: Final = 3_800
"""Characters: browsers keep no larger cookie."""


class _Sent(Struct):
    token: str


class TokenViewers:
    """Whoever has a token that the apiserver takes. `client` has no credentials of its own."""

    sign_in = SignIn("token")

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: OrderedDict[str, Viewer] = OrderedDict()

    async def of(self, request: web.Request) -> Viewer | None:
        """Return who has sent a request, by the header of a proxy or by the cookie. Raises KubeError."""
        kind, _, header = request.headers.get("Authorization", "").partition(" ")
        token = header.strip() if kind.lower() == "bearer" else request.cookies.get(COOKIE, "")
        try:
            return await self._viewer(token) if _is_token(token) else None
        except Unauthorized:
            return None

    def forget(self, viewer: Viewer) -> bool:
        """Forget a token that has expired or was revoked."""
        self._known.pop(viewer.key, None)
        return True

    def routes(self) -> list[web.RouteDef]:
        """Return the paths by which somebody signs in and out."""
        return [web.post("/api/sign-in", self._sign_in), web.post("/api/sign-out", self._sign_out)]

    async def _sign_in(self, request: web.Request) -> web.Response:
        try:
            token = "".join(msgspec.json.decode(await request.read(), type=_Sent).token.split())
        except msgspec.MsgspecError:
            token = ""
        if not token:
            return _refused(400, "There is no token in this request.")
        if not _is_token(token):
            return _refused(400, "This is no token: it has characters that no header may have.")
        if len(token) > _MOST_TOKEN:
            return _refused(400, "This token is too long for a cookie: use a proxy that sends it with each request.")
        try:
            await self._viewer(token)
        except Unauthorized:
            return _refused(401, "The apiserver does not accept this token: it may have expired.")
        except KubeError as error:
            return _refused(502, one_line(error))
        response = web.Response(status=204)
        response.set_cookie(COOKIE, token, httponly=True, secure=True, samesite="Strict", path="/")
        return response

    async def _sign_out(self, _: web.Request) -> web.Response:
        response = web.Response(status=204)
        response.del_cookie(COOKIE, httponly=True, secure=True, samesite="Strict", path="/")
        return response

    async def _viewer(self, token: str) -> Viewer:
        """Return whose token this is; of one that was not seen before, ask the apiserver. Raises KubeError."""
        key = hashlib.sha256(token.encode()).hexdigest()
        if key not in self._known:
            viewer = Viewer(key, self._client.on_behalf(_bearer(token)))
            await viewer.client.post(*WHO_AM_I)
            self._known[key] = viewer
        self._known.move_to_end(key)
        while len(self._known) > MOST_VIEWERS:
            self._known.popitem(last=False)
        return self._known[key]


def _is_token(text: str) -> bool:
    """Whether it can be one at all, and stand in a header."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def _bearer(token: str) -> Callable[[], Awaitable[str]]:
    async def authorization() -> str:
        return f"Bearer {token}"

    return authorization


def _refused(status: int, message: str) -> web.Response:
    return json_answer({"problem": Problem("refused", message)}, status)
