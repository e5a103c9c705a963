"""The decision loop: wait for a change, decide, remember, hand over. The only caller of `decide` in the controller."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from math import inf
from typing import Protocol

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.workloads.decisions import Admit, Evict
from controller.kube.clock import monotonic, now
from controller.runtime.decision_recorder import DecisionRecorder
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics

_log = logs.get("loop")

_FULL_PASS_SECONDS = 10.0
_STALLED_SECONDS = 60.0


class Executor(Protocol):
    """Who carries admissions out."""

    def room(self) -> int:
        """How many more admissions may be handed over now."""

    def submit(self, admit: Admit) -> None:
        """Carry this out; the workload is assumed already."""


class Evictor(Protocol):
    """Who carries evictions out."""

    def submit(self, evicts: Iterable[Evict]) -> None:
        """Carry out what one decision says, but for what is under way already."""


class DecisionLoop:
    """Decides whenever something changed and the executor has room; every 10 s nothing that is kept counts any more."""

    def __init__(
        self,
        cache: ClusterCache,
        executor: Executor,
        evictor: Evictor,
        metrics: ControllerMetrics,
        recorder: DecisionRecorder | None = None,
    ) -> None:
        self._recorder = recorder
        self._cache = cache
        self._executor = executor
        self._evictor = evictor
        self._metrics = metrics
        self._changed = asyncio.Event()
        self._full_pass_at = 0.0
        self._again_at = inf
        self.last_decision: float | None = None
        """Monotonic time of the latest decision, for the health check."""

    def wake(self) -> None:
        """Say that something changed."""
        self._changed.set()

    @property
    def is_due(self) -> bool:
        """Whether something changed since the latest decision began."""
        return self._changed.is_set()

    def stalled(self) -> str | None:
        """Say for how long no decision was made, if that is too long: the loop comes by every ten seconds."""
        last = self.last_decision
        if last is not None and monotonic() - last > _STALLED_SECONDS:
            return f"no decision for {int(monotonic() - last)} s"
        return None

    async def run(self) -> None:
        """Decide until cancelled."""
        while True:
            await self._wait()
            # by the clock, not by the quiet: a stream of events must not keep the full pass away
            if monotonic() >= self._full_pass_at:
                self._full_pass_at = monotonic() + _FULL_PASS_SECONDS
                self._cache.reopen_all()
            self._changed.clear()
            for _ in self._cache.catch_up(now()):
                await asyncio.sleep(0)
            self.step()
            # a burst of events is taken in before the next decision, not between two of them
            await asyncio.sleep(0)

    async def _wait(self) -> None:
        """Wait for a change, or until the next full pass is due or something changes by itself."""
        seconds = min(self._full_pass_at - monotonic(), self._again_at - now())
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._changed.wait()
        except TimeoutError:
            return

    def step(self) -> None:
        """Make one decision and hand its admissions over."""
        self._again_at = self._cache.advance(now())
        room = self._executor.room() if self._cache.lists.are_whole else 0
        self.last_decision = monotonic()
        if room <= 0:
            return
        with self._metrics.decision_seconds.time():
            snapshot = self._cache.snapshot()
            plan = decide(snapshot, index=self._cache.feasibility, limit=room)
            if self._recorder is not None:
                self._recorder.take(snapshot, plan, room)  # before it changes what the snapshot shows
            self._cache.absorb(plan)
        # a decision may have set clocks of its own
        self._again_at = min(self._cache.next_change(), self._cache.next_portion())
        for admit in plan.admits:
            self._executor.submit(admit)
        self._evictor.submit(plan.evicts)
        if not plan.is_complete:
            self.wake()
        if plan.admits:
            _log.debug("decided", admitted=len(plan.admits), classes_waiting=len(plan.waits), complete=plan.is_complete)
