"""Puts an answer together page by page, without what its viewer may not see."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from controller.extension_api.authorization import Authorizer
from controller.extension_api.encoding import Writer
from controller.extension_api.front_proxy import Viewer
from controller.extension_api.options import Form, Options, write_token
from controller.extension_api.pacing import Turns
from controller.extension_api.paths import Target
from controller.extension_api.resources import Entry, Page, Query, Resource
from controller.extension_api.statuses import Refused, not_found, not_supported

STEP: Final = 100
"""Objects that are written without a pause: about a millisecond."""


class Answerer:
    """Answers what a viewer may ask for, without what they may not see."""

    def __init__(self, authorizer: Authorizer, turns: Turns) -> None:
        self._authorizer = authorizer
        self._turns = turns

    async def answer(self, viewer: Viewer, target: Target, form: Form, options: Options, *, path: str) -> list[bytes]:
        """Return the body of the answer, in pieces. Raises Refused."""
        writer = Writer(target.resource, form, options.include)
        if not target.is_list:
            return [writer.single(await self._single(viewer, target))]
        return await self._list(viewer, target, writer, options, path)

    async def _single(self, viewer: Viewer, target: Target) -> Entry:
        get = target.resource.get
        if get is None:
            raise not_supported(target.resource, "get")
        if target.namespace and (target.resource.redact is not None or target.resource.namespaces is not None):
            await check_names(self._authorizer, viewer, frozenset({target.namespace}))
        entry = await get(Query(namespace=target.namespace, name=target.name))
        if entry is None:
            raise not_found(target.resource.path, target.name)
        (shown,) = await redacted(self._authorizer, viewer, target.resource, [entry])
        return shown

    async def _list(self, viewer: Viewer, target: Target, writer: Writer, options: Options, path: str) -> list[bytes]:
        most = options.limit
        if target.resource.most:
            most = min(most or target.resource.most, target.resource.most)
        asked = Query(
            namespace=target.namespace,
            name=target.name,
            after=options.after,
            parameters=options.parameters,
            namespaces=await self._namespaces(viewer, target),
        )
        parts: list[bytes] = []
        count = 0
        while True:
            limit = min(STEP, most - count) if most else STEP
            page = await self._page(target, replace(asked, limit=limit))
            shown = await self._shown(viewer, target, page.entries)
            async with self._turns.one():
                parts.append(writer.part(shown))
            count += len(shown)
            if not page.end or (most and count >= most):
                token = write_token(path, page.end) if page.end else ""
                return writer.whole(parts, token=token, remaining=page.remaining)
            asked = replace(asked, after=page.end)

    async def _namespaces(self, viewer: Viewer, target: Target) -> Collection[str]:
        """Return those of the resource that its viewer sees, for a list over all. Raises Refused, 403 and 503."""
        if target.resource.namespaces is None:
            return ()
        if target.namespace:
            await check_names(self._authorizer, viewer, frozenset({target.namespace}))
            return ()
        return await self._authorizer.seen(viewer, await target.resource.namespaces())

    async def _page(self, target: Target, query: Query) -> Page:
        resource = target.resource
        if resource.list is None:
            raise not_supported(resource, "list")
        page = await resource.list(query)
        if page is None:
            raise not_found(resource.plural, query.name)
        return page

    async def _shown(self, viewer: Viewer, target: Target, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return what the viewer sees: of a list over all namespaces nothing of those whose pods they may not list."""
        if target.resource.is_namespaced and not target.namespace:
            seen = await self._authorizer.seen(viewer, {one.namespace for one in entries})
            entries = [one for one in entries if one.namespace in seen]
        shown = await redacted(self._authorizer, viewer, target.resource, entries)
        # a namespace that was asked for hides nothing, and kubectl refuses objects of another
        return [replace(one, namespace=target.namespace) for one in shown] if target.namespace else shown


async def redacted(
    authorizer: Authorizer, viewer: Viewer, resource: Resource, entries: Sequence[Entry]
) -> Sequence[Entry]:
    """Return entries of a resource without the names that a viewer may not see. Raises Refused, 503."""
    named = frozenset[str]().union(*(one.names for one in entries))
    seen = await authorizer.seen(viewer, named)
    if named <= seen:
        return entries
    if resource.redact is None:
        raise AssertionError(f"{resource.path} names objects of namespaces and cannot leave them out")
    return [one if one.names <= seen else resource.redact(one, seen) for one in entries]


async def check_names(authorizer: Authorizer, viewer: Viewer, namespaces: frozenset[str]) -> None:
    """Refuse, 403, to say whether there is an object of a name in namespaces whose names the viewer may not see."""
    hidden = sorted(namespaces - await authorizer.seen(viewer, namespaces))
    if hidden:
        names = f'names of pods in the namespace "{hidden[0]}"'
        raise Refused(403, f'User "{viewer.user}" cannot see {names}; ask for the ClusterRole view there')
