"""Notifications beside the decisions: what happened is collected, goes to whom the file names, and is sent in lanes.

Nothing waits for it. The file is read again when it changes; one that cannot be used leaves the receivers as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

import aiohttp

from controller.cache.cluster import ClusterCache
from controller.cache.parts import in_parts
from controller.core.explaining.wording import describe
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Phase, Pod
from controller.kube import clock
from controller.notifications.budgets import BudgetNotices, BudgetState
from controller.notifications.notices import TYPES, Kind, LateStart, Notice, Range, WorkloadRef, workload_of
from controller.notifications.outbox import Outbox, Result
from controller.notifications.posting import session
from controller.notifications.settings import Settings, SettingsError, read
from controller.notifications.workloads import WorkloadNotices
from controller.runtime.executor import Released
from controller.simulator.eta import Eta
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics
from controller.visibility.start_forecasts import StartForecasts

_log = logs.get("notifications")

ROUND_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 5.0
"""Between looks at budgets, at who is late, and at the file."""
FORGET_SECONDS: Final = 600.0


class NotificationLane:
    """Tells receivers what happens. Pods are told of as they are released and evicted, the rest is looked for."""

    def __init__(
        self, cache: ClusterCache, file: Path, metrics: ControllerMetrics, forecasts: StartForecasts | None
    ) -> None:
        """`file` says who is told what. `forecasts` None: no starts are forecast, and so nobody is late."""
        self._cache = cache
        self._file = file
        self._metrics = metrics
        self._forecasts = forecasts
        self._workloads = WorkloadNotices()
        self._budgets = BudgetNotices(self._charged)
        self._settings: Settings | None = None
        self._stamp: tuple[int, int] | None = None
        self._fault = ""
        self._outboxes: dict[str, Outbox] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._look_at = self._forget_at = 0.0

    @property
    def wants_forecasts(self) -> bool:
        """Whether anybody is told of workloads that are late."""
        return self._settings is not None and self._settings.wants(Kind.LATE)

    def released(self, released: Released) -> None:
        """Take in that a pod was released."""
        admit, pod = released.admit, self._cache.pods.get(released.pod.uid)
        if pod is None or not pod.admitted_at:
            # it is gone already
            pod = replace(
                released.pod,
                admitted_at=clock.now(),
                cluster_queue=admit.cluster_queue,
                flavor=admit.flavor,
                flavors=admit.flavors,
            )
        self._workloads.admitted(pod, clock.now())

    def evicted(self, evict: Evict) -> None:
        """Take in that a pod was evicted."""
        self._workloads.evicted(evict, clock.now())

    async def run(self) -> None:
        """Tell until cancelled. All must be listed before: what is there then was admitted before."""
        async with session() as http, asyncio.TaskGroup() as group:
            await self._reload(group, http)
            for _ in in_parts(map(self._workloads.found, list(self._cache.pods.values()))):
                await asyncio.sleep(0)
            self._route(self._workloads.repeated(clock.now()))
            while True:
                await self._round(group, http)
                await asyncio.sleep(ROUND_SECONDS)

    async def flush(self) -> None:
        """Wait until all that has happened is told, or given up."""
        self._route(self._workloads.take())
        for one in list(self._outboxes.values()):
            await one.emptied()

    async def _round(self, group: asyncio.TaskGroup, http: aiohttp.ClientSession) -> None:
        now = clock.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            await self._reload(group, http)
            for _ in in_parts(map(self._judge, self._overdue())):
                await asyncio.sleep(0)
            self._look_at_budgets()
        if now >= self._forget_at:
            self._forget_at = now + FORGET_SECONDS
            await self._forget()
        self._route(self._workloads.take(clock.now()))
        for name, one in self._outboxes.items():
            self._metrics.notifications_pending.labels(name).set(len(one))

    # -- what is looked for ----------------------------------------------------------------------------------------

    def _overdue(self) -> list[tuple[Pod, Range]]:
        """Return pods that still wait though 9 of 10 simulations of their first forecast had started them by now."""
        if self._forecasts is None or not self.wants_forecasts:
            return []
        late = self._forecasts.overdue(clock.now())
        found = [(self._cache.pods.get(uid), Range(at, one.p20, one.p50, one.p90)) for uid, one, at in late]
        return [(pod, first) for pod, first in found if pod is not None]

    def _judge(self, overdue: tuple[Pod, Range]) -> None:
        pod, first = overdue
        workload = self._cache.backlog.of_pod(pod.uid)
        if pod.phase is not Phase.QUEUED or workload is None or self._workloads.is_told_late(pod):
            return
        wait = self._cache.reasons.of(workload.kind).of(workload.uid)
        queue = self._cache.local_queues.get((pod.namespace, pod.queue or ""))
        start = LateStart(
            pod=pod,
            cluster_queue="" if queue is None else queue.cluster_queue,
            first=first,
            latest=self._latest(pod),
            reason=wait.reason.value,
            message=describe(wait, workload.since, figures=False),
        )
        self._workloads.late(start, clock.now())

    def _latest(self, pod: Pod) -> Range | None:
        found = None if self._forecasts is None else self._forecasts.latest.get(pod.uid)
        if self._forecasts is None or not isinstance(found, Eta):
            return None
        return Range(self._forecasts.at, found.p20, found.p50, found.p90)

    def _look_at_budgets(self) -> None:
        if self._settings is None or not self._settings.percents:
            return
        states = list(self._budget_states())
        if None not in states:
            found = [one for one in states if one is not None]
            self._route(self._budgets.look(found, self._settings.percents, int(self._cache.now)))

    def _budget_states(self) -> Iterator[BudgetState | None]:
        """Yield all budgets; None for one that is not counted yet."""
        for queue in self._cache.queues.current.values():
            for budget in queue.budgets:
                tally = self._cache.budgets.tally(queue.name, budget)
                yield None if tally is None else BudgetState(queue.name, budget, tally)

    def _charged(self, queue: str) -> frozenset[tuple[str, str]]:
        """Return the LocalQueues that lead to a ClusterQueue, or to one below it."""
        tree, queues = self._cache.tree, self._cache.local_queues.values()
        return frozenset((one.namespace, one.name) for one in queues if queue in tree.path(one.cluster_queue))

    async def _forget(self) -> None:
        there = set[WorkloadRef]()
        for _ in in_parts(map(there.add, map(workload_of, list(self._cache.pods.values())))):
            await asyncio.sleep(0)
        self._workloads.keep(there)

    # -- who is told -----------------------------------------------------------------------------------------------

    def _route(self, notices: Iterable[Notice]) -> None:
        settings = self._settings
        if settings is None:
            return
        for notice in notices:
            for receiver in settings.receivers_of(notice):
                self._outboxes[receiver.name].put(notice)

    def _begin_counting(self, receiver: str) -> None:
        """Show zeros: Prometheus sees no increase in a series that begins with what it counts first."""
        for kind, result in product(TYPES.values(), Result):
            self._metrics.notifications.labels(receiver, kind, result.value)

    def _count(self, receiver: str, kind: Kind, result: Result) -> None:
        self._metrics.notifications.labels(receiver, TYPES[kind], result.value).inc()

    async def _reload(self, group: asyncio.TaskGroup, http: aiohttp.ClientSession) -> None:
        stamp = await asyncio.to_thread(self._stamp_of_file)
        if stamp == self._stamp and stamp is not None:
            return
        self._stamp = stamp
        try:
            settings = await asyncio.to_thread(self._read)
        except SettingsError as error:
            self._tell_fault(str(error))
            return
        self._fault = ""
        self._metrics.notifications_faulty.set(0)
        self._take(settings, group, http)

    def _tell_fault(self, fault: str) -> None:
        """Say once what is wrong with the file: one that is missing is looked for again and again."""
        self._metrics.notifications_faulty.set(1)
        if fault != self._fault:
            _log.error("notifications_not_read", faults=fault.splitlines(), earlier_kept=self._settings is not None)
        self._fault = fault

    def _read(self) -> Settings:
        return read(self._file, has_forecasts=self._forecasts is not None)

    def _stamp_of_file(self) -> tuple[int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _take(self, settings: Settings, group: asyncio.TaskGroup, http: aiohttp.ClientSession) -> None:
        """Go by these from now on; who is named as before keeps what there is still to tell."""
        self._settings = settings
        names = {one.name for one in settings.receivers}
        for name in self._outboxes.keys() - names:
            self._tasks.pop(name).cancel()
            self._outboxes.pop(name).drop()
            self._metrics.notifications_pending.remove(name)
        for one in settings.receivers:
            known = self._outboxes.get(one.name)
            if known is not None:
                known.receiver, known.cluster = one, settings.cluster
                continue
            outbox = self._outboxes[one.name] = Outbox(one, settings.cluster, self._count)
            self._begin_counting(one.name)
            self._tasks[one.name] = group.create_task(outbox.run(http), name=f"notify-{one.name}")
        _log.info("notifications_read", receivers=sorted(names), routes=len(settings.routes))
