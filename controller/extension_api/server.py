"""The HTTP side: authenticates, authorizes, answers. Bytes out; what is answered comes from the resources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from aiohttp import web
from msgspec import json

from controller.extension_api import discovery, openapi
from controller.extension_api.answers import Answerer
from controller.extension_api.authorization import Action, Authorizer
from controller.extension_api.bodies import LIMIT
from controller.extension_api.certificates import TrustingContext
from controller.extension_api.creating import Creator
from controller.extension_api.front_proxy import FrontProxy, Viewer
from controller.extension_api.options import Form, read_creation_options, read_form, read_options
from controller.extension_api.pacing import Turns
from controller.extension_api.paths import GROUP_PATH, ROOT, Target, read_path
from controller.extension_api.resources import API_VERSION, Creation, Registry
from controller.extension_api.statuses import Refused, not_supported
from controller.kube.rights import visibility_role
from controller.telemetry import logs

_log = logs.get("visibility")

AT_ONCE: Final = 8
"""Answers that are worked out at a time: one of all pods of a large cluster holds some 20 MiB."""

Handler = Callable[[web.Request], Any]


class ExtensionApi:
    """The API of these resources, of the same names whenever `registry` is asked.

    `front_proxy` is who is believed now, `unsynced` why nothing can be answered yet.
    """

    def __init__(
        self,
        registry: Callable[[], Registry],
        authorizer: Authorizer,
        *,
        turns: Turns,
        front_proxy: Callable[[], FrontProxy],
        unsynced: Callable[[], str | None],
    ) -> None:
        self._registry = registry
        self._authorizer = authorizer
        self._front_proxy = front_proxy
        self._unsynced = unsynced
        self._answerer = Answerer(authorizer, turns)
        self._creator = Creator(authorizer)
        self._free = asyncio.Semaphore(AT_ONCE)

    def app(self) -> web.Application:
        """Return the aiohttp application."""
        registry = self._registry()
        version_3 = json.encode(openapi.version_3(registry))
        documents: Mapping[str, Any] = {
            "/apis": discovery.groups(),
            GROUP_PATH: discovery.group(),
            ROOT: discovery.resources(registry),
            "/openapi/v2": openapi.version_2(registry),
            "/openapi/v3": openapi.index(version_3),
        }
        app = web.Application(client_max_size=LIMIT, middlewares=[self._refusing])
        for path, document in documents.items():
            app.router.add_get(path, partial(self._document, json.encode(document)), allow_head=False)
        app.router.add_get(f"/openapi/v3/apis/{API_VERSION}", partial(self._document, version_3), allow_head=False)
        app.router.add_route("*", "/{path:.*}", self._resource)
        return app

    @web.middleware
    async def _refusing(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a refusal as a Status object; the top frame of a request."""
        try:
            answer: web.StreamResponse = await handler(request)
            return answer
        except Refused as error:
            refused = error
        except web.HTTPException as error:
            refused = Refused(405 if error.status == 405 else 404, f"{request.method} {request.path} is not served")
        except Exception:  # noqa: BLE001 - the top frame of a request
            _log.exception("request_failed", path=request.path)
            refused = Refused(500, "Penstock failed at this request; the log of its controller says how")
        headers = {"Retry-After": str(refused.retry_seconds)} if refused.retry_seconds else {}
        response = _json(json.encode(refused.status()), status=refused.code, headers=headers)
        if refused.code in (401, 503):
            response.force_close()  # the next request may reach another replica, or be of another authority
        return response

    async def _document(self, body: bytes, request: web.Request) -> web.Response:
        self._viewer(request)
        read_form(request.headers.get("Accept", ""))
        return _json(body)

    async def _resource(self, request: web.Request) -> web.StreamResponse:
        viewer = self._viewer(request)
        target = read_path(request.path, self._registry())
        creation = target.resource.create
        is_in_place = bool(target.namespace) == target.resource.is_namespaced and not target.name
        if request.method == "POST" and creation is not None and is_in_place:
            return await self._create(request, viewer, target, creation)
        if request.method != "GET":
            raise not_supported(target.resource, request.method)
        form = read_form(request.headers.get("Accept", ""))
        known = target.resource.parameters
        options = read_options(request.path, request.query, is_list=target.is_list, known=known)
        await self._authorize(viewer, target, target.verb)
        self._check_synced()
        try:
            async with asyncio.timeout(options.seconds), self._free:
                pieces = await self._answerer.answer(viewer, target, form, options, path=request.path)
        except TimeoutError:
            raise Refused(504, f"no answer within {options.seconds:g} s; ask for less with limit=") from None
        return await _send(request, pieces)

    async def _create(
        self, request: web.Request, viewer: Viewer, target: Target, creation: Creation
    ) -> web.StreamResponse:
        read_form(request.headers.get("Accept", ""), (Form.OBJECTS,))
        seconds = read_creation_options(request.query)
        await self._authorize(viewer, target, "create")
        self._check_synced()
        body = await self._creator.answer(request, viewer, target, creation, seconds)
        return _json(body, status=201)

    def _check_synced(self) -> None:
        if (why := self._unsynced()) is not None:
            raise Refused(503, why, retry_seconds=1)

    def _viewer(self, request: web.Request) -> Viewer:
        """Return who asks. Raises Refused, 401, also where the peer was verified for an authority of before."""
        front_proxy = self._front_proxy()
        transport = request.transport
        secured = transport.get_extra_info("ssl_object") if transport is not None else None
        context = secured.context if secured is not None else None
        if not isinstance(context, TrustingContext) or context.front_proxy.authority_pem != front_proxy.authority_pem:
            raise Refused(401, "the authority of the front proxy has changed: connect again")
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        return front_proxy.viewer(certificate or {}, list(request.headers.items()))

    async def _authorize(self, viewer: Viewer, target: Target, verb: str) -> None:
        one = target.resource
        action = Action.ours(verb, one.plural, one.subresource, target.namespace, target.name)
        if await self._authorizer.may(viewer, action):
            return
        where = f' in the namespace "{target.namespace}"' if target.namespace else " at the cluster scope"
        role = visibility_role(verb, one.plural)
        raise Refused(
            403,
            f'User "{viewer.user}" cannot {verb} resource "{one.path}" in API group "{API_VERSION}"{where}; '
            f"ask for {f'the ClusterRole {role}' if role else 'this right'}",
        )


def _json(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    kept = {"Cache-Control": "no-cache, private", **(headers or {})}
    return web.Response(body=body, status=status, content_type="application/json", headers=kept)


async def _send(request: web.Request, pieces: list[bytes]) -> web.StreamResponse:
    """Send the pieces one after the other, so that no write is long."""
    headers = {"Cache-Control": "no-cache, private", "Content-Type": "application/json"}
    response = web.StreamResponse(headers=headers)
    response.content_length = sum(map(len, pieces))
    with suppress(ConnectionError):  # who asked is gone
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        await response.write_eof()
    return response
