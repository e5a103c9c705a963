"""All parts of one running controller: made, joined and run while it leads."""

from __future__ import annotations

import asyncio
import os
import platform
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.cache.written import Written
from controller.core.workloads.decisions import Evict
from controller.kube import clock
from controller.kube.client import Client
from controller.kube.decode import PodDecoder
from controller.kube.decode_answers import AnswerDecoder
from controller.runtime import garbage, gauges, queue_gauges
from controller.runtime.decision_recorder import DecisionRecorder
from controller.runtime.event_lane import EventLane
from controller.runtime.eviction_lane import EvictionLane
from controller.runtime.executor import Executor, Released
from controller.runtime.forecast_lane import ForecastLane, forecast_lane
from controller.runtime.history_lane import History, HistoryLane
from controller.runtime.job_restorer import JobRestorer
from controller.runtime.loop import DecisionLoop
from controller.runtime.notification_lane import NotificationLane
from controller.runtime.run_time_warnings import RunTimeWarnings
from controller.runtime.sampling_lane import SamplingLane
from controller.runtime.side_writes import ConditionLane
from controller.runtime.status_lane import StatusLane
from controller.runtime.watches import Watches
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics
from controller.visibility.start_forecasts import StartForecasts

_log = logs.get("controller")

_DRAIN_SECONDS = 15.0
_SETTLE_SECONDS = 3.0


_Lane = ForecastLane | HistoryLane | JobRestorer | NotificationLane | RunTimeWarnings | SamplingLane


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
        decode: PodDecoder | None = None,
        recorder: DecisionRecorder | None = None,
        forecasts: StartForecasts | None = None,
        forecast_share: float = 0.0,
        history: History | None = None,
        notifications: Path | None = None,
        are_visible: bool = True,
    ) -> None:
        """`identity` is ours in the Lease; `held` waits until we hold it; `decode`: of watches to be taken over.

        `forecasts` takes forecasts of starts, which take `forecast_share` of one core; 0: none are made. Those that are
        not visible are made while the file `notifications` asks who is late.
        """
        self._client, self._metrics, self._held = client, metrics, held
        self._cache = cache = ClusterCache(self._wake, backfill_depth=backfill_depth)
        self._former: weakref.ref[ClusterCache] | None = None  # what held all this before it was taken over
        self._written = written = Written()
        decode = decode or PodDecoder()
        instance = f"{platform.node()}-{os.getpid()}"
        self._events = EventLane(client, metrics, instance=instance)
        self._book, self._are_visible = forecasts, are_visible
        self._notifications = self._notification_lane(notifications, forecasts if forecast_share else None)
        self._forecasts = self._forecast_lane(forecast_share)
        self._executor = self._new_executor(decode, identity=identity, held=held, workers=workers)
        self._evictions = self._eviction_lane(decode)
        self._loop = DecisionLoop(self._cache, self._executor, self._evictions, metrics, recorder)
        self._conditions = self._condition_lane(decode)
        self._statuses = StatusLane(client, self._cache, written, metrics, instance=instance)
        self._history = None if history is None else HistoryLane(cache, history, metrics, identity=identity)
        self._watches = Watches(client, self._cache, metrics, written, decode=decode, pods=self._pods())

    def _notification_lane(self, file: Path | None, forecasts: StartForecasts | None) -> NotificationLane | None:
        return None if file is None else NotificationLane(self._cache, file, self._metrics, forecasts)

    def _forecast_lane(self, share: float) -> ForecastLane | None:
        wanted, on_round = self._are_read, self._record_plans
        return forecast_lane(self._cache, self._metrics, self._book, share=share, wanted=wanted, on_round=on_round)

    def _are_read(self) -> bool:
        """Whether anybody reads forecasts now."""
        return self._are_visible or (self._notifications is not None and self._notifications.wants_forecasts)

    def _pods(self) -> PodSink:
        return PodSink(self._cache, None if self._history is None else self._history.pods)

    def _answers(self, decode: PodDecoder) -> AnswerDecoder:
        return AnswerDecoder(decode, self._cache.workload_kinds.known, self._cache.update_pod)

    def _new_executor(
        self, decode: PodDecoder, *, identity: str, held: Callable[[], Awaitable[None]], workers: int
    ) -> Executor:
        return Executor(
            self._client,
            self._cache,
            self._metrics,
            decode=self._answers(decode),
            identity=identity,
            held=held,
            on_released=self._released,
            workers=workers,
            on_room=self._wake,
        )

    def _eviction_lane(self, decode: PodDecoder) -> EvictionLane:
        return EvictionLane(
            self._client,
            self._cache,
            self._metrics,
            decode=self._answers(decode),
            held=self._held,
            on_evicted=self._evicted,
            wake=self._wake,
        )

    def _condition_lane(self, decode: PodDecoder) -> ConditionLane:
        room = self._executor.room()  # that of one for which nothing waits
        return ConditionLane(
            self._client,
            self._cache,
            self._metrics,
            decode=self._answers(decode),
            releases_wait=lambda: self._executor.room() < room,
            on_wait=self._events.announce_wait,
        )

    @property
    def cache(self) -> ClusterCache:
        """All that it knows, for who only reads."""
        return self._cache

    def _wake(self) -> None:
        self._loop.wake()

    def _released(self, released: Released) -> None:
        self._events.announce(released)
        if released.is_widening:
            return
        if self._forecasts is not None:
            self._forecasts.released(released)
        if self._notifications is not None:
            self._notifications.released(released)

    def _evicted(self, evict: Evict) -> None:
        self._events.announce_eviction(evict)
        if self._history is not None and not evict.pod.is_job:
            self._history.recorder.evicted(evict)
        if self._notifications is not None:
            self._notifications.evicted(evict)

    def _record_plans(self) -> None:
        if self._history is not None and self._book is not None:
            self._history.recorder.planned(self._book.planned())

    def keep_gang_places(self, seconds: int) -> None:
        """Let gangs keep the places of members that are made anew for so long; 0: not at all."""
        self._cache.gangs.lost.seconds = seconds

    async def take_over(self, watches: Watches) -> None:
        """Know all that these watches have kept, and go on with them; before `run`, which begins none then.

        They must have caught up with the leader before us.
        """
        former = weakref.ref(watches.cache)
        for _ in watches.hand_over(self._cache, self._written, self._pods()):
            await asyncio.sleep(0)
        # only now: nothing is counted from a part of it, also if we are told to stop meanwhile
        self._watches, self._former = watches, former

    async def run(self, stop: asyncio.Event, *, abandon: asyncio.Event) -> bool:
        """Watch, decide and write until `stop`; then finish what is under way, unless `abandon` says at once.

        Return whether all of it is finished: no patch of ours can take effect any more.
        """
        is_clean = False
        garbage.look_through_all_seldom()
        async with asyncio.TaskGroup() as group:
            background = [] if self._watches.watching else self._watches.start(group)
            deciding = group.create_task(self._decide(), name="decide")
            background += [
                group.create_task(self._executor.run(), name="executor"),
                group.create_task(self._evictions.run(), name="evictions"),
                group.create_task(self._events.run(), name="events"),
                group.create_task(self._conditions.run(), name="conditions"),
                group.create_task(self._report_statuses(), name="statuses"),
            ]
            for name, lane in self._optional_lanes().items():
                background.append(group.create_task(self._once_listed(lane), name=name))
            await stop.wait()
            deciding.cancel()
            if not abandon.is_set():
                is_clean = await self._drain(abandon)
            for task in background:
                task.cancel()
        return is_clean

    async def _report_statuses(self) -> None:
        # what is counted from half a world would be written, and a second later written anew
        await self._watches.listed()
        await self._statuses.run()

    def _optional_lanes(self) -> dict[str, _Lane]:
        """The lanes that begin once all is listed, of which not every controller has all."""
        lanes: dict[str, _Lane | None] = {
            "forecasts": self._forecasts,
            "history": self._history,
            "job-restorer": JobRestorer(self._client, self._cache, held=self._held),
            "notifications": self._notifications,
            "run-time-warnings": RunTimeWarnings(self._cache, self._events.announce_end),
        }
        if self._history is not None:
            lanes["history-samples"] = SamplingLane(self._client, self._cache, self._history.recorder)
        return {name: lane for name, lane in lanes.items() if lane is not None}

    async def _once_listed(self, lane: _Lane) -> None:
        await self._watches.listed()
        await lane.run()

    async def _decide(self) -> None:
        await self._watches.listed()
        garbage.spare_what_is_known(but=self._former)
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
        for lane in (self._history, self._notifications):
            if lane is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_SETTLE_SECONDS):
                        await lane.flush()

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

    def annotations(self) -> dict[str, str]:
        """Return what the leader says of itself on its Lease."""
        return {} if self._history is None else self._history.health().annotations()

    def unsynced(self) -> str | None:
        """Say which kinds are not listed yet; None when all are."""
        return self._watches.unsynced()

    def stalled(self) -> str | None:
        """Say for how long no decision was made, if that is too long."""
        return self._loop.stalled()

    def refresh_gauges(self) -> Iterator[None]:
        """Bring the gauges up to date for a scrape, in parts as this is gone through.

        Those of sources only once it leads, since a cold standby has none.
        """
        self._metrics.sources.refresh(self._watches.watching)
        self._metrics.releases_waiting.set(self._executor.waiting)
        yield from gauges.refresh(self._cache, self._metrics)
        yield from queue_gauges.refresh(self._cache, self._written.cluster_queues, self._metrics.queues, clock.now())
