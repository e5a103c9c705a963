"""A shadow, which watches and decides like a leader, and has nothing that writes; and as a running program.

It takes no Lease, so any number may run beside a leader. It needs rights to get, list and watch, and no other.

A replica that stands by has one too where people may ask it: until it leads, it answers with what the shadow knows.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.cache.written import Written
from controller.core.workloads.pods import Pod
from controller.kube import clock, config
from controller.kube.client import Client
from controller.kube.decode import PodDecoder
from controller.runtime import garbage, gauges
from controller.runtime.decision_recorder import DecisionRecorder
from controller.runtime.forecast_lane import ForecastLane, forecast_lane
from controller.runtime.loop import DecisionLoop
from controller.runtime.observing.admissions import ObservedAdmissions
from controller.runtime.observing.differences import Differences
from controller.runtime.observing.evictions import ObservedEvictions
from controller.runtime.settings import Settings
from controller.runtime.watches import Watches
from controller.telemetry import http, logs
from controller.telemetry.metrics import ControllerMetrics
from controller.visibility.start_forecasts import StartForecasts

_log = logs.get("shadow")

USER_AGENT: Final = "penstock-shadow"
_LOOK_SECONDS = 0.5
_AHEAD = 3
"""So many admissions for each worker of the leader are assumed at a time, as in the leader's executor."""


async def run_shadow(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT; of the settings, those of the Lease and of the visibility API are not for a shadow.

    Raises ConfigError or AddressError when it cannot begin.
    """
    load = partial(config.load, settings.kubeconfig, settings.context)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    metrics = ControllerMetrics()
    async with Client(await load(), user_agent=USER_AGENT, reload=load) as client:
        shadow = Shadow(client, metrics, settings)
        app = http.endpoints(
            metrics.registry, ready=shadow.unsynced, healthy=shadow.stalled, refresh=shadow.refresh_gauges
        )
        async with http.serving(app, settings.address) as address:
            _log.info("listening", what="http", host=address.host, port=address.port)
            await shadow.run(stop)
    _log.info("stopped")


@dataclass(frozen=True, slots=True)
class Standby:
    """What a shadow shares with the controller that may follow it in the same process."""

    decode: PodDecoder
    forecasts: StartForecasts


class Shadow:
    """Everything that a shadow does. Watches and decides only inside `run`, and sends no write at all."""

    def __init__(
        self,
        client: Client,
        metrics: ControllerMetrics,
        settings: Settings,
        *,
        standby: Standby | None = None,
    ) -> None:
        """`standby`: it may become the leader; what its watches keep is handed over then."""
        self._metrics = metrics
        self.cache = ClusterCache(self._wake, backfill_depth=settings.backfill_depth, kept=settings.keeps_places)
        self.cache.resources.rules = settings.resources
        differences = Differences(metrics, is_logged=standby is None)
        self._admissions = ObservedAdmissions(self.cache, differences, ahead=_AHEAD * settings.workers)
        self._evictions = ObservedEvictions(self.cache, differences, wake=self._wake)
        recorder = None
        if settings.record is not None and standby is None:
            recorder = DecisionRecorder(settings.record, settings.record_most)
        self._loop = DecisionLoop(self.cache, self._admissions, self._evictions, metrics, recorder)
        forecasts = None if standby is None else standby.forecasts
        self._forecasts = forecast_lane(self.cache, metrics, forecasts, share=settings.forecast_share)
        observed = ObservedPods(
            self.cache, self._admissions, self._evictions, forecasts, is_due=lambda: self._loop.is_due
        )
        pods, keeps = PodSink(self.cache, observed), standby is not None
        decode = PodDecoder(resources=settings.resources) if standby is None else standby.decode
        self.watches = Watches(client, self.cache, metrics, Written(), decode=decode, pods=pods, keeps=keeps)

    def _wake(self) -> None:
        self._loop.wake()

    async def run(self, stop: asyncio.Event) -> None:
        """Watch, decide and compare until `stop`."""
        async with asyncio.TaskGroup() as group:
            tasks = [*self.watches.start(group), *self.start_deciding(group)]
            await stop.wait()
            for task in tasks:
                task.cancel()

    def start_deciding(self, group: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """Begin to decide and compare, once all is listed, as tasks of this group; return these."""
        garbage.look_through_all_seldom()
        tasks = [
            group.create_task(self._decide(), name="shadow-decides"),
            group.create_task(self._look(), name="shadow-looks"),
        ]
        if self._forecasts is not None:
            tasks.append(group.create_task(self._forecast(self._forecasts), name="shadow-forecasts"))
        return tasks

    async def _decide(self) -> None:
        await self.watches.listed()
        garbage.spare_what_is_known()
        _log.info("synced", pods=len(self.cache.pods), nodes=len(self.cache.nodes), queued=len(self.cache.backlog))
        await self._loop.run()

    async def _forecast(self, lane: ForecastLane) -> None:
        await self.watches.listed()
        await lane.run()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            # while the watch of pods is broken nobody here knows what the leader did
            if self.watches.pods.stale_seconds is None:
                self._admissions.look()
                self._evictions.look()

    def unsynced(self) -> str | None:
        """Say which kinds are not listed yet; None when all are."""
        return self.watches.unsynced()

    def stalled(self) -> str | None:
        """Say for how long no decision was made, if that is too long."""
        return self._loop.stalled()

    def refresh_gauges(self) -> Iterator[None]:
        """Bring the gauges up to date for a scrape, in parts as this is gone through."""
        yield from self.refresh_sources()
        yield from gauges.refresh(self.cache, self._metrics)

    def refresh_sources(self) -> Iterator[None]:
        """Say how well each source is kept up."""
        self._metrics.sources.refresh(self.watches.watching)
        yield


@dataclass(frozen=True, slots=True)
class ObservedPods:
    """Gives pods to the cache, and then to who compares: as the cache knows them, since an older state is no news."""

    cache: ClusterCache
    admissions: ObservedAdmissions
    evictions: ObservedEvictions
    forecasts: StartForecasts | None
    is_due: Callable[[], bool]
    """Whether something that the cache knows was not decided on yet."""

    def put_pod(self, pod: Pod) -> None:
        """Take in a pod's state, and compare."""
        before, is_due = self.cache.pods.get(pod.uid), self.is_due()
        self.cache.put_pod(pod)
        now = self.cache.pods[pod.uid]
        self.admissions.observe(before, now, is_due=is_due)
        self.evictions.observe(now)
        # not counted in metrics, where a sum over all replicas has each start once
        if self.forecasts is not None and now.is_admitted:
            self.forecasts.started(now.uid, now.cluster_queue or "", clock.now())

    def drop_pod(self, uid: str) -> None:
        """Forget a pod that is gone."""
        self.cache.drop_pod(uid)
        self.admissions.forget(uid)
        self.evictions.gone(uid)
