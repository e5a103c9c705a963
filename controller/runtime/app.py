"""The composition root: endpoints, election, and the controller while it leads."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from controller.kube import config
from controller.kube.client import Client
from controller.kube.lease import Election, Elector, LeadershipLost
from controller.runtime.controller import Controller
from controller.runtime.pod_requests import ANSWER_SECONDS
from controller.runtime.takeover import Probe
from controller.telemetry import http, logs
from controller.telemetry.metrics import ControllerMetrics

_log = logs.get("app")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set from outside.

    At most `workers` release patches are under way, and `backfill_depth` workloads have a reservation. Gangs keep the
    places of members that are made anew for `keeps_places` seconds.
    """

    kubeconfig: str | None
    context: str | None
    address: http.Address
    workers: int
    backfill_depth: int
    keeps_places: int
    election: Election


async def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT.

    Raises ConfigError or AddressError when it cannot begin, LeadershipLost when it must not go on.
    """
    load = partial(config.load, settings.kubeconfig, settings.context)
    async with Client(await load(), user_agent="penstock-controller", reload=load) as client:
        await _App(client, settings).run()


class _App:
    """One process: stands by, leads, and ends."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._settings = settings
        self._metrics = ControllerMetrics()
        self._elector = Elector(client, settings.election, report=lambda why: _log.warning("not_leading", why=why))
        self._probe = Probe(client, settings.election.namespace, settings.election.identity)
        self._controller = Controller(
            client,
            self._metrics,
            workers=settings.workers,
            backfill_depth=settings.backfill_depth,
            identity=settings.election.identity,
            held=self._elector.held,
        )
        self._controller.keep_gang_places(settings.keeps_places)
        self._stop = asyncio.Event()
        self._abandon = asyncio.Event()
        self._is_leading = False
        self._lost: LeadershipLost | None = None

    async def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._told_to_stop)
        app = http.endpoints(
            self._metrics.registry,
            ready=self._not_ready,
            healthy=self._controller.stalled,
            refresh=self._controller.refresh_gauges,
        )
        async with http.serving(app, self._settings.address) as address:
            _log.info("listening", what="http", host=address.host, port=address.port)
            taken_over = await self._acquire()
            if taken_over is not None:
                await self._lead(taken_over=taken_over)
        if self._lost is not None:
            raise self._lost

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
            is_clean = await self._controller.run(self._stop, abandon=self._abandon)
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
        """Let what the leader before us has sent take effect, or be refused: it must be in our first list."""
        if await self._probe.passed() is not None:
            await asyncio.sleep(ANSWER_SECONDS)

    def _not_ready(self) -> str | None:
        """A standby that can see the Lease is ready: it does all that it is there for."""
        return self._controller.unsynced() if self._is_leading else self._elector.trouble
