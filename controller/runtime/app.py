"""The composition root: every part of the controller is made and joined here, and every task is born here."""

from __future__ import annotations

import asyncio
import gc
import os
import platform
import signal
from dataclasses import dataclass
from typing import Any

from controller.cache import sinks
from controller.cache.cluster import ClusterCache
from controller.cache.written import Written, read_cluster_queue, read_flavor, read_local_queue
from controller.core.keys import GROUP, VERSION
from controller.kube import clock, config
from controller.kube.client import Client
from controller.kube.decode import PodDecoder, decode_metadata, decode_node
from controller.kube.watch import Informer, Trouble
from controller.runtime import gauges
from controller.runtime.executor import Executor
from controller.runtime.loop import DecisionLoop
from controller.runtime.side_writes import ConditionLane, EventLane
from controller.runtime.status_lane import StatusLane
from controller.telemetry import http, logs
from controller.telemetry.metrics import ControllerMetrics

_log = logs.get("app")

_DRAIN_SECONDS = 15.0
_STALLED_SECONDS = 60.0
_OURS = f"/apis/{GROUP}/{VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set from outside. `workers` is how many release patches are under way at most."""

    kubeconfig: str | None = None
    context: str | None = None
    address: http.Address
    workers: int


async def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT; raises ConfigError or AddressError when it cannot begin."""
    configuration = await config.load(settings.kubeconfig, settings.context)
    async with Client(configuration, user_agent="penstock-controller") as client:
        await Controller(client, settings).run()


class Controller:
    """All parts of one running controller."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._settings = settings
        self._metrics = ControllerMetrics()
        self._cache = ClusterCache(self._wake)
        written = Written()
        decode = PodDecoder()
        self._events = EventLane(client, self._metrics, instance=f"{platform.node()}-{os.getpid()}")
        self._executor = Executor(
            client,
            self._cache,
            self._metrics,
            decode=decode,
            on_released=self._events.announce,
            workers=settings.workers,
            on_room=self._wake,
        )
        self._loop = DecisionLoop(self._cache, self._executor, self._metrics)
        self._conditions = ConditionLane(client, self._cache, self._metrics, decode=decode)
        self._statuses = StatusLane(client, self._cache, written, self._metrics)
        self._informers: list[Informer[Any]] = [
            self._informer(client, "/api/v1/namespaces", decode_metadata, sinks.NamespaceSink(self._cache)),
            self._informer(client, "/api/v1/nodes", decode_node, sinks.NodeSink(self._cache)),
            self._informer(client, f"{_OURS}/resourceflavors", read_flavor, sinks.flavor_sink(self._cache, written)),
            self._informer(
                client, f"{_OURS}/clusterqueues", read_cluster_queue, sinks.cluster_queue_sink(self._cache, written)
            ),
            self._informer(
                client, f"{_OURS}/localqueues", read_local_queue, sinks.local_queue_sink(self._cache, written)
            ),
            self._informer(client, "/api/v1/pods", decode, sinks.PodSink(self._cache)),
        ]

    def _informer(self, client: Client, path: str, decode: Any, sink: Any) -> Informer[Any]:
        return Informer(client, path, decode=decode, sink=sink, report=self._report)

    def _wake(self) -> None:
        self._loop.wake()

    def _report(self, trouble: Trouble) -> None:
        self._metrics.watch_troubles.labels(trouble.resource, trouble.cause).inc()
        _log.warning("watch_trouble", resource=trouble.resource, cause=trouble.cause, error=trouble.text)

    async def run(self) -> None:
        """Serve, sync, decide; stop in order when told to."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        app = http.endpoints(
            self._metrics.registry,
            ready=self._not_ready,
            healthy=self._stalled,
            refresh=lambda: gauges.refresh(self._cache, self._metrics),
        )
        async with http.serving(app, self._settings.address) as address, asyncio.TaskGroup() as group:
            _log.info("listening", what="http", host=address.host, port=address.port)
            background = [
                group.create_task(informer.run(), name=f"watch-{informer.resource}") for informer in self._informers
            ]
            deciding = group.create_task(self._decide(), name="decide")
            background += [
                group.create_task(self._executor.run(), name="executor"),
                group.create_task(self._events.run(), name="events"),
                group.create_task(self._conditions.run(), name="conditions"),
                group.create_task(self._statuses.run(), name="statuses"),
            ]
            await stop.wait()
            _log.info("stopping")
            deciding.cancel()
            await self._drain()
            for task in background:
                task.cancel()

    async def _decide(self) -> None:
        for informer in self._informers:
            await informer.synced.wait()
        # the world just listed lives on: the collector need not look through it again and again
        gc.collect()
        gc.freeze()
        _log.info("synced", pods=len(self._cache.pods), nodes=len(self._cache.nodes), queued=len(self._cache.backlog))
        await self._loop.run()

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                await self._executor.drain()
        except TimeoutError:
            _log.warning("patches_abandoned", seconds=_DRAIN_SECONDS)

    def _not_ready(self) -> str | None:
        missing = [informer.resource for informer in self._informers if not informer.synced.is_set()]
        return f"not listed yet: {', '.join(missing)}" if missing else None

    def _stalled(self) -> str | None:
        last = self._loop.last_decision
        if last is not None and clock.monotonic() - last > _STALLED_SECONDS:
            return f"no decision for {int(clock.monotonic() - last)} s"
        return None
