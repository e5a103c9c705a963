"""Answers that take decisions, or as long: a copy of the process works them out, on the cache as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import json

from controller.cache.cluster import ClusterCache
from controller.core.snapshot import Snapshot
from controller.extension_api.statuses import Refused
from controller.forking import ForkError, Forks
from controller.kube import clock

T = TypeVar("T")

AT_ONCE: Final = 2
SECONDS: Final = 50.0
"""Less than a request may take."""
CPU_SECONDS: Final = 30


class Copies:
    """Works things out on copies of a cache, some of them at a time."""

    def __init__(self, cache: ClusterCache, forks: Forks) -> None:
        self._cache = cache
        self._forks = forks

    async def of(self, kind: type[T], work: Callable[[Snapshot], T]) -> T:
        """Return what this makes of a snapshot. Raises Refused, 500, where there is no answer in time."""

        def answer() -> bytes:
            self._cache.advance(clock.now())
            return json.encode(work(self._cache.snapshot()))

        return await self.worked_out(kind, answer)

    async def worked_out(self, kind: type[T], work: Callable[[], bytes]) -> T:
        """Return what this writes as JSON. Raises Refused, 500, where there is no answer in time."""
        try:
            answer = await self._forks.run(work, seconds=SECONDS, cpu_seconds=CPU_SECONDS)
        except ForkError as error:
            raise Refused(500, f"it could not be worked out: {error}") from None
        return json.decode(answer, type=kind)
