"""The server of the page: who looks, what they look at, and the files of the page itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from aiohttp import web
from msgspec import Struct

from controller.dashboard.answers import encoded_answer, json_answer
from controller.dashboard.feeds import Feeds
from controller.dashboard.files import Files
from controller.dashboard.live import stream
from controller.dashboard.parts import namespace_of, part
from controller.dashboard.pod_table import WrongTable
from controller.dashboard.problems import Problem, problem
from controller.dashboard.protection import add_headers, of_own_site, only_for
from controller.dashboard.viewers import WHO_AM_I, Viewer, Viewers
from controller.extension_api.paths import ROOT
from controller.extension_api.queueing.usage_reports import CLUSTER_KIND as CLUSTER_USAGE
from controller.extension_api.queueing.usage_reports import CLUSTER_PLURAL as CLUSTER_USAGE_PLURAL
from controller.extension_api.queueing.usage_reports import KIND as USAGE
from controller.extension_api.queueing.usage_reports import PLURAL as USAGE_PLURAL
from controller.extension_api.reading import within
from controller.extension_api.resources import API_VERSION
from controller.kube.errors import Forbidden, Invalid, KubeError, NotFound, Unauthorized

_CREATION_SECONDS: Final = 60.0
_MOST_PARTS: Final = 12
_BODY_BYTES: Final = 2**20


class Session(Struct, frozen=True, rename="camel"):
    """Who looks at which cluster; `namespace` is the one of the kubeconfig. `ends`: they can sign out."""

    user: str
    cluster: str
    namespace: str
    ends: bool


class Dashboard:
    """The page of one cluster, for these viewers, under hosts for whose names `is_ours` holds."""

    def __init__(
        self, viewers: Viewers, files: Files, *, cluster: str, namespace: str, is_ours: Callable[[str], bool]
    ) -> None:
        self._viewers = viewers
        self._files = files
        self._cluster = cluster
        self._namespace = namespace
        self._is_ours = is_ours

    @asynccontextmanager
    async def app(self) -> AsyncIterator[web.Application]:
        """Yield the aiohttp application, which asks the cluster as long as the block runs."""
        async with Feeds() as feeds:
            app = web.Application(client_max_size=_BODY_BYTES, middlewares=[only_for(self._is_ours), of_own_site])
            app.on_response_prepare.append(add_headers)

            async def end(_: web.Application) -> None:
                """Streams end before the server waits for its answers to be whole."""
                feeds.end()

            app.on_shutdown.append(end)
            app.router.add_routes(
                [
                    *self._viewers.routes(),
                    web.get("/api/session", self._known(self._session), allow_head=False),
                    web.get("/api/live", self._known(self._live(feeds)), allow_head=False),
                    web.post("/api/simulations", self._known(self._simulation)),
                    web.post("/api/usage", self._known(self._usage)),
                    web.route("*", "/api/{path:.*}", _no_such_path),
                    web.get("/{path:.*}", self._files.answer),
                ]
            )
            yield app

    def _known(
        self, handler: Callable[[web.Request, Viewer], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Return what asks who it is first, and answers faults as what the page shows."""

        async def handle(request: web.Request) -> web.StreamResponse:
            viewer = None
            try:
                viewer = await self._viewers.of(request)
                if viewer is not None:
                    return await handler(request, viewer)
            except WrongTable as error:
                return json_answer({"problem": Problem("wrongAddress", str(error))}, 400)
            except KubeError as error:
                is_over = isinstance(error, Unauthorized) and viewer is not None and self._viewers.forget(viewer)
                if not is_over:
                    return json_answer({"problem": problem(error)}, _status(error))
            return json_answer({"signIn": self._viewers.sign_in}, 401)

        return handle

    async def _session(self, _: web.Request, viewer: Viewer) -> web.Response:
        answer: Mapping[str, Any] = msgspec.json.decode(await viewer.client.post(*WHO_AM_I))
        user = str(answer["status"]["userInfo"].get("username", ""))
        return json_answer(Session(user, self._cluster, self._namespace, self._viewers.sign_in.kind == "token"))

    def _live(self, feeds: Feeds) -> Callable[[web.Request, Viewer], Awaitable[web.StreamResponse]]:
        async def live(request: web.Request, viewer: Viewer) -> web.StreamResponse:
            asked = request.query.getall("part", [])
            if not 0 < len(asked) <= _MOST_PARTS:
                raise WrongTable(f"part=: name one to {_MOST_PARTS} parts to look at")
            return await stream(request, feeds, viewer, [part(one) for one in asked])

        return live

    async def _simulation(self, request: web.Request, viewer: Viewer) -> web.Response:
        return await _created(request, viewer, "Simulation", within(None, "simulations"))

    async def _usage(self, request: web.Request, viewer: Viewer) -> web.Response:
        """Ask about one namespace, or, which takes another right, about all."""
        namespace = namespace_of(request.query)
        if namespace is not None:
            return await _created(request, viewer, USAGE, within(namespace, USAGE_PLURAL))
        return await _created(request, viewer, CLUSTER_USAGE, within(None, CLUSTER_USAGE_PLURAL))


async def _created(request: web.Request, viewer: Viewer, kind: str, path: str) -> web.Response:
    """Pass on what the page asks as the spec of an object; nothing of it is kept."""
    try:
        spec = msgspec.json.decode(await request.read(), type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise WrongTable(f"the body is no JSON object: {error}") from None
    body = {"apiVersion": API_VERSION, "kind": kind, "spec": spec}
    answer = await viewer.client.post(f"{ROOT}{path}", body, seconds=_CREATION_SECONDS)
    return encoded_answer(answer)


def _status(error: KubeError) -> int:
    """Pass on what the request itself is to blame for."""
    return error.status if isinstance(error, (Forbidden, Invalid, NotFound)) else 502


async def _no_such_path(request: web.Request) -> web.Response:
    return json_answer({"problem": Problem("wrongAddress", f"{request.method} {request.path} is not served")}, 404)
