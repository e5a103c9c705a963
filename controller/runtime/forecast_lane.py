"""Forecasts when those that wait start, again and again, in copies of the process that take a small part of a core."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Final

from msgspec import json

from controller.cache.cluster import ClusterCache
from controller.core.workloads.pods import Phase
from controller.forking import ForkError, Forks
from controller.kube import clock
from controller.replay.as_written import as_written
from controller.replay.snapshot_file import Saved
from controller.runtime.executor import Released
from controller.simulator.defaults import USUAL_HORIZON, USUAL_RUNS
from controller.simulator.eta import Eta, Forecasts, Unknown
from controller.simulator.runtimes import seeds_of
from controller.simulator.world import world_of
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics
from controller.visibility.start_forecasts import StartForecasts

_log = logs.get("forecasts")

LEAST_SECONDS: Final = 10.0
"""Between the beginnings of two rounds."""
_ROUND_SECONDS: Final = 600.0
_CPU_SECONDS: Final = 60
_ENOUGH: Final = 0.8
"""After this part of its CPU time a round begins no further simulation."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round: what was found by uid, of how many simulations, and what it took in seconds of CPU time."""

    etas: dict[str, Eta]
    unknown: dict[str, Unknown]
    simulations: int
    cpu_seconds: float


class ForecastLane:
    """Keeps `book` up to date with what waits in the cache. `share` is the part of one core that it takes at most."""

    def __init__(
        self,
        cache: ClusterCache,
        metrics: ControllerMetrics,
        book: StartForecasts,
        *,
        share: float,
        forks: Forks,
        wanted: Callable[[], bool] = lambda: True,
        on_round: Callable[[], None] = lambda: None,
    ) -> None:
        """`wanted`: whether anybody reads forecasts now; while nobody does, none are made.

        `on_round` is called when the book is up to date.
        """
        self._wanted = wanted
        self._cache = cache
        self._metrics = metrics
        self._book = book
        self._share = share
        self._forks = forks
        self._on_round = on_round

    async def run(self) -> None:
        """Forecast until cancelled, with pauses that keep the share."""
        while True:
            pause = await self._round() / self._share if self._wanted() else 0.0
            await asyncio.sleep(max(LEAST_SECONDS, pause))

    async def _round(self) -> float:
        """Forecast all that wait; return the seconds of CPU time that it took. A round that fails is logged."""
        self._book.keep(self._cache.cluster_queues)
        if not len(self._cache.backlog):
            self._book.take({}, clock.now())
            return 0.0
        began = clock.now()
        work = partial(forecast_round, self._cache, clock.now, _ENOUGH * _CPU_SECONDS)
        try:
            answer = await self._forks.run(work, seconds=_ROUND_SECONDS, cpu_seconds=_CPU_SECONDS)
        except ForkError as error:
            _log.warning("not_forecast", why=str(error))
            self._metrics.forecast_rounds.labels("failed").inc()
            return float(_CPU_SECONDS)
        found = json.decode(answer, type=Round)
        self._book.take({**found.etas, **found.unknown}, began)
        self._on_round()
        self._metrics.forecast_rounds.labels("done").inc()
        self._metrics.forecast_cpu_seconds.inc(found.cpu_seconds)
        return found.cpu_seconds

    def released(self, released: Released) -> None:
        """Take in that a pod was released, and count how near its forecast came."""
        queue = released.admit.cluster_queue
        start = self._book.started(released.pod.uid, queue, clock.now())
        if start is not None:
            self._metrics.forecast_starts.labels(queue, start.hit.value).inc()
            if start.has_error:
                self._metrics.forecast_error.labels(queue).observe(start.late)


def forecast_lane(
    cache: ClusterCache,
    metrics: ControllerMetrics,
    book: StartForecasts | None,
    *,
    share: float,
    wanted: Callable[[], bool] = lambda: True,
    on_round: Callable[[], None] = lambda: None,
) -> ForecastLane | None:
    """Return a lane with a copy of its own; None where there is no book, or no share of a core for it."""
    if book is None or not share:
        return None
    return ForecastLane(cache, metrics, book, share=share, forks=Forks(1), wanted=wanted, on_round=on_round)


def forecast_round(cache: ClusterCache, now: Callable[[], float], cpu_seconds: float) -> bytes:
    """Simulate what is in a cache until so much CPU time is used, once at least; return a Round as JSON.

    It brings the cache up to `now`, so it is for a copy.
    """
    began = process_time()
    cache.advance(now())
    world = world_of(Saved(cache.snapshot(), as_written(cache)))
    uids = [uid for uid, pod in world.pods.items() if pod.phase is Phase.QUEUED]
    forecasts, done = Forecasts(world, uids, horizon=USUAL_HORIZON), 0
    for seed in seeds_of(0, USUAL_RUNS):
        if done and process_time() - began + (process_time() - began) / done > cpu_seconds:
            break
        forecasts.run(seed)
        done += 1
    found = dict(zip(uids, forecasts.results(), strict=True))
    return json.encode(
        Round(
            etas={uid: one for uid, one in found.items() if isinstance(one, Eta)},
            unknown={uid: one for uid, one in found.items() if isinstance(one, Unknown)},
            simulations=done,
            cpu_seconds=process_time() - began,
        )
    )
