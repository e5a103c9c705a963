"""The composition root: endpoints, election, and the controller while it leads."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from controller.cache.cluster import ClusterCache
from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.copies import AT_ONCE
from controller.extension_api.queueing.history_reads import HistoryReads
from controller.extension_api.queueing.registry import resources
from controller.extension_api.resources import Registry
from controller.extension_api.serving import served
from controller.forking import Forks
from controller.kube import config
from controller.kube.client import Client
from controller.kube.decode import PodDecoder
from controller.kube.lease import Elector, LeadershipLost
from controller.runtime.controller import Controller
from controller.runtime.decision_recorder import DecisionRecorder
from controller.runtime.observing.shadow import Shadow, Standby
from controller.runtime.pod_requests import ANSWER_SECONDS
from controller.runtime.settings import Settings
from controller.runtime.takeover import Probe
from controller.telemetry import http, logs
from controller.telemetry.metrics import ControllerMetrics
from controller.visibility.start_forecasts import StartForecasts

_log = logs.get("app")

T = TypeVar("T")


async def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT.

    Raises ConfigError or AddressError when it cannot begin, LeadershipLost when it must not go on.
    """
    load = partial(config.load, settings.kubeconfig, settings.context)
    async with Client(await load(), user_agent="penstock-controller", reload=load) as client:
        await App(client, settings).run()


def _not_leading(why: str) -> None:
    _log.warning("not_leading", why=why)


class App:
    """One process: stands by, leads, and ends."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._settings = settings
        self._metrics = ControllerMetrics()
        self._elector = Elector(client, settings.election, report=_not_leading, annotations=self._annotations)
        self._probe = Probe(client, settings.election.namespace, settings.election.identity)
        self._forecasts = StartForecasts()
        decode = PodDecoder(() if settings.history is None else settings.history.labels, settings.resources)
        self.controller = Controller(
            client,
            self._metrics,
            workers=settings.workers,
            backfill_depth=settings.backfill_depth,
            identity=settings.election.identity,
            held=self._elector.held,
            decode=decode,
            recorder=None if settings.record is None else DecisionRecorder(settings.record, settings.record_most),
            forecasts=self._forecasts,
            forecast_share=settings.forecast_share,
            history=settings.history,
            notifications=settings.notifications,
            are_visible=settings.visibility is not None,
        )
        self.controller.keep_gang_places(settings.keeps_places)
        self.controller.cache.resources.rules = settings.resources
        self._turns, self._forks = Turns(), Forks(AT_ONCE)
        self._reads = None if settings.history is None else HistoryReads(settings.history.reader)
        self._shadow: Shadow | None = None
        self._deciding: list[asyncio.Task[None]] = []
        if settings.visibility is not None:
            # one that stands by and is never asked needs to know nothing
            self._shadow = Shadow(client, self._metrics, settings, standby=Standby(decode, self._forecasts))
            # the controller goes on with these once it leads
            self._watches = self._shadow.watches
            self._resources = self._resources_of(self._shadow.cache)
        self._stop = asyncio.Event()
        self._abandon = asyncio.Event()
        self._is_leading = False
        self._lost: LeadershipLost | None = None

    async def run(self) -> None:
        """Stand by and lead until told to stop. Raises LeadershipLost when it must not go on."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._told_to_stop)
        app = http.endpoints(
            self._metrics.registry,
            ready=self._not_ready,
            healthy=self._stalled,
            refresh=self._refresh_gauges,
        )
        async with http.serving(app, self._settings.address) as address, self._visible(), self._standing_by():
            _log.info("listening", what="http", host=address.host, port=address.port)
            taken_over = await self._acquire()
            if taken_over is not None:
                await self._lead(taken_over=taken_over)
        if self._lost is not None:
            raise self._lost

    @asynccontextmanager
    async def _visible(self) -> AsyncIterator[None]:
        """Let people ask what the controller knows, where that is wanted."""
        if self._settings.visibility is None:
            yield
            return
        async with served(
            self._client,
            lambda: self._resources,
            self._settings.visibility,
            turns=self._turns,
            namespace=self._settings.election.namespace,
            unsynced=self._unsynced,
        ) as address:
            _log.info("listening", what="visibility", host=address.host, port=address.port)
            yield

    @asynccontextmanager
    async def _standing_by(self) -> AsyncIterator[None]:
        """Know the cluster, where people may ask; before this replica leads, and while it does."""
        if self._shadow is None:
            yield
            return
        async with asyncio.TaskGroup() as group:
            watching = self._shadow.watches.start(group)
            self._deciding = self._shadow.start_deciding(group)
            yield
            for task in (*watching, *self._deciding):
                task.cancel()

    async def _take_over(self, shadow: Shadow) -> None:
        """Give the controller all that is known here, what was written until now included, and let it answer."""
        await shadow.watches.caught_up()
        for task in self._deciding:
            task.cancel()
        await self.controller.take_over(shadow.watches)
        self._shadow = None
        self._resources = self._resources_of(self.controller.cache)

    def _resources_of(self, cache: ClusterCache) -> Registry:
        return resources(cache, self._forecasts, self._turns, self._forks, lambda: self._watches.watching, self._reads)

    async def _acquire(self) -> bool | None:
        """Wait for the Lease; None when we were told to stop first."""
        return await self._unless_stopped(self._elector.acquire())

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Do this until it is done, or we are told to stop: then return None."""
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work, name="until-stopped")
            stopped = group.create_task(self._stop.wait(), name="stop")
            await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
            working.cancel()
            stopped.cancel()
        return None if working.cancelled() else working.result()

    async def _lead(self, *, taken_over: bool) -> None:
        _log.info("leading", identity=self._settings.election.identity, after_another=taken_over)
        self._is_leading = True
        self._metrics.leading.set(1)
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self._keep(), name="lease")
            if taken_over:
                await self._unless_stopped(self._see_former_writes_end())
            if self._shadow is not None:
                await self._unless_stopped(self._take_over(self._shadow))
            is_clean = await self.controller.run(self._stop, abandon=self._abandon)
            keeping.cancel()
        self._metrics.leading.set(0)
        if self._lost is None and is_clean:
            await self._elector.release()
        _log.info("stopped", gave_up_lease=is_clean)

    def _told_to_stop(self) -> None:
        """Once: finish what is under way. Twice: leave it."""
        if self._stop.is_set():
            self._abandon.set()
        self._stop.set()

    async def _keep(self) -> None:
        try:
            await self._elector.keep()
        except LeadershipLost as error:
            self._lost = error
            self._abandon.set()
            self._stop.set()

    async def _see_former_writes_end(self) -> None:
        """Let what the leader before us has sent take effect, or be refused: it must be in what we first decide on."""
        if await self._probe.passed() is not None:
            await asyncio.sleep(ANSWER_SECONDS)

    def _annotations(self) -> dict[str, str]:
        """Return what this replica says of itself on the Lease that it holds."""
        return self.controller.annotations()

    def _unsynced(self) -> str | None:
        """Say what is not known yet."""
        return self.controller.unsynced() if self._shadow is None else self._shadow.unsynced()

    def _stalled(self) -> str | None:
        return self.controller.stalled() if self._shadow is None else self._shadow.stalled()

    def _refresh_gauges(self) -> Iterator[None]:
        """Those of queues only once it leads: a sum over all replicas has each queue once."""
        self._metrics.lease_age.set(self._elector.age_seconds if self._is_leading else 0.0)
        return self.controller.refresh_gauges() if self._shadow is None else self._shadow.refresh_sources()

    def _not_ready(self) -> str | None:
        """A standby that can see the Lease is ready: it does all that it is there for."""
        return self.controller.unsynced() if self._is_leading else self._elector.trouble
