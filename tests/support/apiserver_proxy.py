"""A way to the apiserver that a test can make slow, lossy or deaf, request by request: HTTP on loopback, bearer tokens.

It hands everything on as it is, watches too, but for the requests that a rule picks, and the watches that an edit does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import ClientConnectionResetError, web

_MOST_BYTES = 2**26
_OF_THE_CONNECTION = {"host", "connection", "content-length", "transfer-encoding", "keep-alive"}


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it was sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def is_watch(self) -> bool:
        """Whether it opens a watch."""
        return self.method == "GET" and "watch=" in self.path.partition("?")[2]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the apiserver answered."""

    status: int
    body: bytes
    content_type: str
    headers: dict[str, str] = field(default_factory=dict)


Matches = Callable[[Request], bool]
Act = Callable[[Request], Awaitable[Reply | None]]
"""What is done with a request: return the answer for who sent it; None: it gets none, and its connection ends."""
Lines = AsyncIterator[bytes]
"""The lines of a watch, each with its newline."""
Edit = Callable[[Request, Lines], Lines]
"""What is done with a watch: yield what who opened it gets, and raise Cut to break its connection off."""


class Cut(Exception):
    """The connection ends here, as a broken one does."""


@dataclass(slots=True)
class Held:
    """A request that is kept back; whoever sent it has no answer before it is let go."""

    request: Request
    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    reply: asyncio.Future[Reply] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def let_go(self) -> int:
        """Send it to the apiserver now, however late; return the status code of its answer."""
        self.may_go.set()
        return (await self.reply).status


@dataclass(slots=True)
class _Rule:
    matches: Matches
    act: Act
    left: int


class ApiserverProxy:
    """Of the rules that match a request the first counts, as often as it may."""

    def __init__(self, original: Path) -> None:
        """`original`: a kubeconfig, whose apiserver this leads to."""
        self._content = yaml.safe_load(original.read_text())
        self._target = str(self._content["clusters"][0]["cluster"]["server"])
        self._rules: list[_Rule] = []
        self._counted: list[tuple[Matches, list[Request]]] = []
        self._edit: Edit | None = None
        self._at_work: set[asyncio.Task[Any]] = set()
        self._session: aiohttp.ClientSession | None = None
        self._url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[ApiserverProxy]:
        application = web.Application(client_max_size=_MOST_BYTES)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self._url = "http://{}:{}".format(*runner.addresses[0][:2])
        try:
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, ssl=False)) as self._session:
                try:
                    yield self
                finally:
                    # before the session: what they read ends with it
                    for task in self._at_work:
                        task.cancel()
                    await asyncio.gather(*self._at_work, return_exceptions=True)
        finally:
            await runner.cleanup()

    def kubeconfig(self, folder: Path) -> Path:
        """A copy of the kubeconfig that leads through here."""
        for cluster in self._content["clusters"]:
            cluster["cluster"] = {"server": self._url}
        path = folder / "kubeconfig"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(self._content))
        return path

    def on(self, matches: Matches, act: Act, *, times: int = 1_000) -> None:
        """Do something else with requests that match."""
        self._rules.append(_Rule(matches, act, times))

    def edit_watches(self, edit: Edit) -> None:
        """Have this done with every watch."""
        self._edit = edit

    def hold(self, matches: Matches, *, times: int = 1_000) -> list[Held]:
        """Keep back requests that match; what is returned fills as they come."""
        found: list[Held] = []

        async def keep(request: Request) -> Reply:
            held = Held(request)
            found.append(held)
            await held.may_go.wait()
            held.reply.set_result(await self.send(request))
            return held.reply.result()

        self.on(matches, keep, times=times)
        return found

    def count(self, matches: Matches) -> list[Request]:
        """Note requests that match, whatever is done with them; what is returned fills as they come."""
        found: list[Request] = []
        self._counted.append((matches, found))
        return found

    def lose_replies(self, matches: Matches, *, times: int = 1_000) -> None:
        """Hand requests that match on, and end their connections in place of the answer."""

        async def lose(request: Request) -> None:
            await self.send(request)

        self.on(matches, lose, times=times)

    async def send(self, request: Request) -> Reply:
        """Hand a request on and read its answer."""
        assert self._session is not None
        async with self._session.request(
            request.method, self._target + request.path, headers=request.headers, data=request.body or None
        ) as answer:
            return Reply(answer.status, await answer.read(), answer.content_type)

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        try:
            return await self._answer(incoming)
        except (ClientConnectionResetError, ConnectionError):
            return web.Response()  # who asked has gone
        finally:
            self._at_work.remove(task)

    async def _answer(self, incoming: web.Request) -> web.StreamResponse:
        headers = {key: value for key, value in incoming.headers.items() if key.lower() not in _OF_THE_CONNECTION}
        request = Request(incoming.method, incoming.raw_path, headers, await incoming.read())
        for matches, found in self._counted:
            if matches(request):
                found.append(request)
        for rule in self._rules:
            if rule.left and rule.matches(request):
                rule.left -= 1
                reply = await rule.act(request)
                if reply is None:
                    assert incoming.transport is not None
                    incoming.transport.abort()
                    return web.Response()
                kind = {"Content-Type": reply.content_type}
                return web.Response(status=reply.status, body=reply.body, headers={**kind, **reply.headers})
        return await self._pass_on(incoming, request)

    async def _pass_on(self, incoming: web.Request, request: Request) -> web.StreamResponse:
        assert self._session is not None
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.request(
            request.method,
            self._target + request.path,
            headers=request.headers,
            data=request.body or None,
            timeout=timeout,
        ) as answer:
            response = web.StreamResponse(
                status=answer.status, headers={"Content-Type": answer.headers["Content-Type"]}
            )
            await response.prepare(incoming)
            try:
                async for chunk in self._content_of(request, answer):
                    await response.write(chunk)
            except Cut:
                assert incoming.transport is not None
                incoming.transport.abort()
                return response
            await response.write_eof()
            return response

    def _content_of(self, request: Request, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        if self._edit is None or not request.is_watch or answer.status != HTTPStatus.OK:
            return answer.content.iter_any()
        return self._edit(request, lines_of(answer.content.iter_any()))


async def lines_of(chunks: AsyncIterator[bytes]) -> Lines:
    """The lines of a watch that arrives in any pieces."""
    begun = bytearray()
    async for chunk in chunks:
        begun += chunk
        while end := begun.find(b"\n") + 1:
            yield bytes(begun[:end])
            del begun[:end]
