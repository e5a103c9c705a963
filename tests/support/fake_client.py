"""Stand-ins for `controller.kube.client.Client`: they say what a test tells them to and write down what was asked.

They know nothing of Kubernetes: what an apiserver would answer is proved by the integration tests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from controller.kube.client import Client
from controller.kube.errors import Invalid

Outcome = bytes | Exception | Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it was made."""

    method: str
    path: str
    body: Any = None
    params: Mapping[str, str] = field(default_factory=dict)


class FakeClient:
    """Answers each method's calls in the order that the test gave; a call nobody expected fails the test."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._answers: dict[str, deque[Outcome]] = {}

    def will(self, method: str, *outcomes: Outcome) -> FakeClient:
        self._answers.setdefault(method, deque()).extend(outcomes)
        return self

    def made(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    @property
    def as_client(self) -> Client:
        return cast("Client", self)

    async def get(self, path: str, params: Mapping[str, str] | None = None, **_: Any) -> bytes:
        return self._answer(Call("GET", path, None, dict(params or {})))

    async def post(self, path: str, body: object, **options: Any) -> bytes:
        return self._answer(Call("POST", path, body, options.get("params") or {}))

    async def put(self, path: str, body: object, **_: Any) -> bytes:
        return self._answer(Call("PUT", path, body))

    async def patch(self, path: str, body: object, **options: Any) -> bytes:
        return self._answer(Call("PATCH", path, body, options.get("params") or {}))

    def _answer(self, call: Call) -> bytes:
        self.calls.append(call)
        left = self._answers.get(call.method)
        assert left, f"nobody expected {call}"
        outcome = left.popleft()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome if isinstance(outcome, bytes) else outcome()


class EndOfScript(Exception):
    """The informer asked for more than the test has; it ends there."""


async def _arriving(chunks: list[bytes | Exception]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        if isinstance(chunk, Exception):
            raise chunk
        yield chunk


class Streamed(list[bytes | Exception]):
    """What comes by a watch that begins with all there is."""


class ScriptedCollection:
    """A list and watch endpoint that plays pages and watches in the given order, then raises EndOfScript.

    It serves watches that begin with all there is only where the script has one next.
    """

    def __init__(self, *script: bytes | Exception | list[bytes | Exception]) -> None:
        self._script = deque(script)
        self.calls: list[Call] = []

    @property
    def as_client(self) -> Client:
        return cast("Client", self)

    async def get(self, path: str, params: Mapping[str, str], **_: Any) -> bytes:
        outcome = self._next(Call("LIST", path, None, dict(params)))
        assert isinstance(outcome, bytes), f"the script has a watch where a list was asked for: {outcome}"
        return outcome

    @asynccontextmanager
    async def stream(self, path: str, params: Mapping[str, str], **_: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        if "sendInitialEvents" in params and not isinstance(self._script[0] if self._script else None, Streamed):
            raise Invalid(422, "Invalid", "sendInitialEvents is forbidden for watch")
        outcome = self._next(Call("WATCH", path, None, dict(params)))
        assert isinstance(outcome, list), f"the script has a list where a watch was asked for: {outcome!r}"
        yield _arriving(outcome)

    def _next(self, call: Call) -> bytes | list[bytes | Exception]:
        self.calls.append(call)
        if not self._script:
            raise EndOfScript
        outcome = self._script.popleft()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
