"""Tells users that an admitted Job is about to be ended, since its queue, class or own limit lets it run no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from controller.cache.cluster import ClusterCache
from controller.cache.parts import in_parts
from controller.core.gate.run_time import warned_at
from controller.core.workloads.pods import Pod
from controller.kube import clock

_EVERY_SECONDS: Final = 1.0


class RunTimeWarnings:
    """Looks at the admitted Jobs again and again, and tells of each once."""

    def __init__(self, cache: ClusterCache, tell: Callable[[Pod], None]) -> None:
        """`tell` is called with a Job that ends soon. What the leader before told is told again, as the same Event."""
        self._cache = cache
        self._tell = tell
        self._told: dict[str, float] = {}

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            admitted = self._cache.admitted_jobs.admitted()
            self._told = {uid: at for uid, at in self._told.items() if uid in admitted}
            for _ in in_parts(map(self._look_at, admitted)):
                await asyncio.sleep(0)
            await asyncio.sleep(_EVERY_SECONDS)

    def _look_at(self, uid: str) -> None:
        job = self._cache.pods.get(uid)
        if job is None or not job.ends_by or self._told.get(uid) == job.ends_by:
            return
        if clock.now() >= warned_at(job.admitted_at, job.ends_by):
            self._told[uid] = job.ends_by
            self._tell(job)
