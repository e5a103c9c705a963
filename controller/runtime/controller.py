"""All parts of one running controller: made, joined and run while it leads."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from controller.cache import sinks
from controller.cache.cluster import ClusterCache
from controller.cache.kinds import OURS, POD_GROUP_VERSIONS, POD_GROUPS, POD_GROUPS_IN, PODS, Kind, deciding
from controller.cache.written import Written
from controller.kube import clock
from controller.kube.client import Client
from controller.kube.decode import PodDecoder
from controller.kube.decode_owners import decode_pod_group
from controller.kube.served import InformerIfServed
from controller.kube.watch import Informer, Trouble
from controller.objects.read import read_cluster_pod_policy, read_pod_policy, read_scheduling_policy
from controller.runtime import garbage, gauges
from controller.runtime.eviction_lane import EvictionLane
from controller.runtime.executor import Executor
from controller.runtime.loop import DecisionLoop
from controller.runtime.side_writes import ConditionLane, EventLane
from controller.runtime.status_lane import StatusLane
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics
from controller.telemetry.sources import Source

_log = logs.get("controller")

_DRAIN_SECONDS = 15.0
_SETTLE_SECONDS = 3.0
_STALLED_SECONDS = 60.0


class Controller:
    """Everything that one leader does. Watches, decides and writes only inside `run`."""

    def __init__(
        self,
        client: Client,
        metrics: ControllerMetrics,
        *,
        workers: int,
        backfill_depth: int,
        identity: str,
        held: Callable[[], Awaitable[None]],
    ) -> None:
        """`identity` is ours in the Lease; `held` waits until we surely hold that."""
        self._client = client
        self._metrics = metrics
        self._cache = ClusterCache(self._wake, backfill_depth=backfill_depth)
        written = Written()
        decode = PodDecoder()
        instance = f"{platform.node()}-{os.getpid()}"
        self._events = EventLane(client, metrics, instance=instance)
        self._executor = Executor(
            client,
            self._cache,
            metrics,
            decode=decode,
            identity=identity,
            held=held,
            on_released=self._events.announce,
            workers=workers,
            on_room=self._wake,
        )
        self._evictions = EvictionLane(
            client, self._cache, metrics, held=held, on_evicted=self._events.announce_eviction, wake=self._wake
        )
        self._loop = DecisionLoop(self._cache, self._executor, self._evictions, metrics)
        room = self._executor.room()  # that of one for which nothing waits
        self._conditions = ConditionLane(
            client, self._cache, metrics, decode=decode, releases_wait=lambda: self._executor.room() < room
        )
        self._statuses = StatusLane(client, self._cache, written, metrics, instance=instance)
        self._watch(decode, written)

    def _watch(self, decode: PodDecoder, written: Written) -> None:
        """Make what keeps the cache in step with the apiserver."""
        self._informers: list[Informer[Any] | InformerIfServed] = [
            *(self._informer(*kind) for kind in deciding(self._cache, written)),
            self._pod_groups(),
        ]
        self._pods = self._informer(PODS, decode, sinks.PodSink(self._cache))
        self._needed = (*self._informers, self._pods)
        # no decision rests on policies: nothing waits for them, and the controller works where their CRDs are missing
        self._side_informers = [self._informer(*kind) for kind in _reported(self._cache, written)]
        self._watching: tuple[Source, ...] = ()

    def _informer(self, path: str, decode: Any, sink: Any) -> Informer[Any]:
        rewind = self._cache.forget_versions
        return Informer(self._client, path, decode=decode, sink=sink, report=self._report, on_rewind=rewind)

    def _pod_groups(self) -> InformerIfServed:
        sink = sinks.PodGroupSink(self._cache)
        return InformerIfServed(
            self._client,
            POD_GROUPS_IN,
            POD_GROUP_VERSIONS,
            POD_GROUPS,
            make=lambda path: self._informer(path, decode_pod_group, sink),
            report=self._report,
            forget=lambda: sink.replace(()),
        )

    def _wake(self) -> None:
        self._loop.wake()

    def _report(self, trouble: Trouble) -> None:
        self._metrics.watch_troubles.labels(trouble.resource, trouble.cause).inc()
        is_ours = trouble.resource not in ("jobs", "namespaces", "nodes", "podgroups", "pods")
        hint = {"hint": "are the CRDs of config/crd applied?"} if is_ours and trouble.cause == "NotFound" else {}
        _log.warning("watch_trouble", resource=trouble.resource, cause=trouble.cause, error=trouble.text, **hint)

    def keep_gang_places(self, seconds: int) -> None:
        """Let gangs keep the places of members that are made anew for so long; 0: not at all."""
        self._cache.gangs.lost.seconds = seconds

    async def run(self, stop: asyncio.Event, *, abandon: asyncio.Event) -> bool:
        """Watch, decide and write until `stop`; then finish what is under way, unless `abandon` says at once.

        Return whether all of it is finished: no patch of ours can take effect any more.
        """
        is_clean = False
        garbage.look_through_all_seldom()
        async with asyncio.TaskGroup() as group:
            self._watching = informers = (*self._informers, *self._side_informers)
            background = [group.create_task(one.run(), name=f"watch-{one.resource}") for one in informers]
            background.append(group.create_task(self._watch_pods(), name="watch-pods"))
            deciding = group.create_task(self._decide(), name="decide")
            background += [
                group.create_task(self._executor.run(), name="executor"),
                group.create_task(self._evictions.run(), name="evictions"),
                group.create_task(self._events.run(), name="events"),
                group.create_task(self._conditions.run(), name="conditions"),
                group.create_task(self._report_statuses(), name="statuses"),
            ]
            await stop.wait()
            deciding.cancel()
            if not abandon.is_set():
                is_clean = await self._drain(abandon)
            for task in background:
                task.cancel()
        return is_clean

    async def _watch_pods(self) -> None:
        """Watch pods once all else is listed: a queue or node that came later would move what is known of thousands."""
        await _listed(self._informers)
        self._watching = (*self._watching, self._pods)
        await self._pods.run()

    async def _report_statuses(self) -> None:
        # what is counted from half a world would be written, and a second later written anew
        await _listed(self._needed)
        await self._statuses.run()

    async def _decide(self) -> None:
        await _listed(self._needed)
        garbage.spare_what_is_known()
        _log.info("synced", pods=len(self._cache.pods), nodes=len(self._cache.nodes), queued=len(self._cache.backlog))
        await self._loop.run()

    async def _finish(self) -> None:
        await self._executor.drain()
        if self.unsynced() is not None:
            # what is counted from half a world would replace what the leader before left, for good
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_SECONDS):
                await self._statuses.settle(clock.now())

    async def _drain(self, abandon: asyncio.Event) -> bool:
        async with asyncio.TaskGroup() as group:
            draining = group.create_task(self._finish(), name="drain")
            abandoned = group.create_task(abandon.wait(), name="abandon")
            await asyncio.wait((draining, abandoned), timeout=_DRAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            is_done = draining.done()
            draining.cancel()
            abandoned.cancel()
        if not is_done:
            _log.warning("patches_abandoned")
        return is_done

    def unsynced(self) -> str | None:
        """Say which kinds are not listed yet; None when all are."""
        missing = [informer.resource for informer in self._needed if not informer.synced.is_set()]
        return f"not listed yet: {', '.join(missing)}" if missing else None

    def stalled(self) -> str | None:
        """Say for how long no decision was made, if that is too long: the loop comes by every ten seconds."""
        last = self._loop.last_decision
        if last is not None and clock.monotonic() - last > _STALLED_SECONDS:
            return f"no decision for {int(clock.monotonic() - last)} s"
        return None

    def refresh_gauges(self) -> Iterator[None]:
        """Bring the gauges up to date for a scrape, in parts as this is gone through.

        Those of sources only once it leads, since a standby has none.
        """
        self._metrics.sources.refresh(self._watching)
        return gauges.refresh(self._cache, self._metrics)


async def _listed(informers: Iterable[Informer[Any] | InformerIfServed]) -> None:
    """Wait until each has handed on its first list."""
    for informer in informers:
        await informer.synced.wait()


def _reported(cache: ClusterCache, written: Written) -> tuple[Kind, ...]:
    """What is only reported on."""
    wide, own = sinks.policy_sinks(cache, written)
    return (
        Kind(f"{OURS}/clusterpodschedulingpolicies", read_cluster_pod_policy, wide),
        Kind(f"{OURS}/podschedulingpolicies", read_pod_policy, own),
        Kind(f"{OURS}/schedulingpolicies", read_scheduling_policy, sinks.scheduling_policy_sink(cache, written)),
    )
