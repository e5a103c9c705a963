"""What faults do to single requests: to writes, and to what opens lists and watches."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import orjson

from controller.kube import clock
from tests.faults.seeds.history import PATHS
from tests.faults.seeds.script import Fault, Script, Span
from tests.support.apiserver_proxy import ApiserverProxy, Reply, Request

_BY_PATH: Mapping[str, str] = {path: name for name, path in PATHS.items()}
_STATUSES: Mapping[Fault, tuple[int, str]] = {
    Fault.UNAUTHORIZED: (401, "Unauthorized"),
    Fault.CONFLICT: (409, "Conflict"),
    Fault.GONE_STATUS: (410, "Expired"),
    Fault.INVALID: (422, "Invalid"),
    Fault.BUSY: (429, "TooManyRequests"),
    Fault.FAILED: (500, "InternalError"),
    Fault.UNAVAILABLE: (503, "ServiceUnavailable"),
    Fault.TIMED_OUT: (504, "Timeout"),
}
_RETRY_AFTER_SECONDS = 1
_LATE_SECONDS = (1.0, 6.0)
_SLOW_SECONDS = (1.0, 5.0)


def status(code: int, reason: str) -> bytes:
    """A Status object."""
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "reason": reason,
            "message": "a fault",
            "code": code,
        }
    )


class Now:
    """Which faults there are at this moment of a script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._began = clock.monotonic()
        self._chance = random.Random(script.seed)  # noqa: S311 - repeatable, not unpredictable

    @property
    def seconds(self) -> float:
        """Since the script began."""
        return clock.monotonic() - self._began

    def hit(self, fault: Fault, resource: str) -> Span | None:
        """The span in which this fault hits this resource, by the chance that it has; empty: a write."""
        for span in self._script.spans:
            if span.fault is fault and span.resource == resource and span.begin <= self.seconds < span.end:
                return span if self._chance.random() < span.chance else None
        return None

    def between(self, limits: tuple[float, float]) -> float:
        """A number between two."""
        return self._chance.uniform(*limits)


class Requests:
    """Faults of the requests that come through a proxy."""

    def __init__(self, proxy: ApiserverProxy, now: Now, group: asyncio.TaskGroup) -> None:
        self._proxy = proxy
        self._now = now
        self._group = group
        self._late: set[asyncio.Task[Reply]] = set()
        self.attempts: dict[str, float] = {}
        """When somebody first tried to release a pod, by its uid."""
        acts: Mapping[Fault, Callable[[Request], Awaitable[Reply | None]]] = {
            Fault.REPLY_LOST: self._lose,
            Fault.NOT_SENT: self._drop,
            Fault.LATE: self._delay,
            Fault.SLOW: self._take_long,
            Fault.TRUNCATED: self._truncate,
            Fault.EVENTS_FAIL: self._drop,
            **{fault: partial(self._refuse, fault) for fault in _STATUSES},
        }
        proxy.on(self._notes, self._drop)
        for fault, act in acts.items():
            proxy.on(partial(self._hits, fault), act, times=10**9)

    async def all_arrived(self) -> None:
        """Return when what was late is there."""
        await asyncio.gather(*self._late, return_exceptions=True)

    def _notes(self, request: Request) -> bool:
        """Note attempts; none is picked."""
        if request.method == "PATCH" and b"/spec/schedulingGates/0" in request.body and "dryRun" not in request.path:
            tests = (one for one in orjson.loads(request.body) if (one["op"], one["path"]) == ("test", "/metadata/uid"))
            for test in tests:
                self.attempts.setdefault(test["value"], clock.monotonic())
        return False

    def _hits(self, fault: Fault, request: Request) -> bool:
        path = request.path.partition("?")[0]
        if fault is Fault.EVENTS_FAIL:
            return request.method != "GET" and "/events" in path and self._now.hit(fault, "") is not None
        if request.method != "GET":
            return self._now.hit(fault, "") is not None
        if request.is_watch and fault in (Fault.SLOW, Fault.TRUNCATED, Fault.TIMED_OUT):
            return False
        return path in _BY_PATH and self._now.hit(fault, _BY_PATH[path]) is not None

    async def _lose(self, request: Request) -> None:
        await self._proxy.send(request)

    async def _drop(self, _: Request) -> None:
        return None

    async def _delay(self, request: Request) -> None:
        async def later() -> Reply:
            await asyncio.sleep(self._now.between(_LATE_SECONDS))
            return await self._proxy.send(request)

        self._late.add(self._group.create_task(later(), name="late"))

    async def _take_long(self, request: Request) -> Reply:
        await asyncio.sleep(self._now.between(_SLOW_SECONDS))
        return await self._proxy.send(request)

    async def _truncate(self, request: Request) -> Reply:
        whole = await self._proxy.send(request)
        return Reply(whole.status, whole.body[: len(whole.body) // 2], whole.content_type)

    async def _refuse(self, fault: Fault, request: Request) -> Reply:
        if fault is Fault.TIMED_OUT:
            await self._proxy.send(request)
        code, reason = _STATUSES[fault]
        headers = {"Retry-After": str(_RETRY_AFTER_SECONDS)} if fault is Fault.BUSY else {}
        return Reply(code, status(code, reason), "application/json", headers)
