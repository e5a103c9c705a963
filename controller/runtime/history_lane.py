"""History beside the decisions: what changed of pods goes into a database, in batches, in a thread of its own.

Nothing waits for it. A database that takes nothing is asked again and again, while the recorder keeps what it can.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from controller.blocking_calls import BlockingCalls
from controller.cache.cluster import ClusterCache
from controller.core.workloads.pods import Pod
from controller.history.health import HistoryHealth
from controller.history.recorder import Recorder
from controller.history.run_store import HistoryError, RunReader, RunStore
from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics

_log = logs.get("history")

T = TypeVar("T")

_PAUSE_SECONDS: Final = 1.0
_AT_ONCE: Final = 500
"""Changes of a batch: as many as can be read from the cache in a moment."""
_EXPIRE_SECONDS: Final = 3600.0
CHECK_SECONDS: Final = 10.0
"""After so long without a write it is seen whether the database is still there."""
_ANSWER_SECONDS: Final = 30.0
"""What was written after that is written once more, which changes nothing."""
_BACKOFF: Final = Backoff(first=1.0, longest=60.0)
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class History:
    """Where runs are kept, with these labels of pods, and for how many days after their end; 0: for ever."""

    store: RunStore
    days: int
    reader: RunReader
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedPods:
    """Gives pods to the cache, and then to the recorder: as the cache knows them, since an older state is no news."""

    cache: ClusterCache
    recorder: Recorder

    def put_pod(self, pod: Pod) -> None:
        """Take in a pod's state, and record what is new."""
        before = self.cache.pods.get(pod.uid)
        self.cache.put_pod(pod)
        self.recorder.changed(before, self.cache.pods[pod.uid], clock.now())

    def drop_pod(self, uid: str) -> None:
        """Forget a pod that is gone, and record its end."""
        pod = self.cache.pods.get(uid)
        if pod is not None:
            self.recorder.gone(pod, clock.now())
        self.cache.drop_pod(uid)


class HistoryLane:
    """Keeps a database up to date with what the recorder has."""

    def __init__(
        self, cache: ClusterCache, history: History, metrics: ControllerMetrics, *, identity: str = ""
    ) -> None:
        """`identity` is ours among all that ever wrote into the database."""
        self._cache = cache
        self.recorder = Recorder(cache.pods, self._price_of, identity)
        self.pods = RecordedPods(cache, self.recorder)
        """What pods go through into the cache."""
        self._store = history.store
        self._metrics = metrics
        self._days = history.days
        self._failures = 0
        self._error = ""
        self._written_at: float | None = None
        """When all that had changed was written; None: this replica does not write yet."""
        self._is_ready = False
        self._expires_at = 0.0
        self._checks_at = 0.0
        self._turn = asyncio.Lock()
        self._calls = BlockingCalls("history", seconds=_ANSWER_SECONDS)

    def _price_of(self, flavor: str) -> Mapping[str, int]:
        known = self._cache.flavors.get(flavor)
        return {} if known is None else known.price

    async def run(self) -> None:
        """Write until cancelled. All must be listed before: runs whose pods are not there have ended."""
        self._written_at = clock.monotonic()
        while True:
            pause = await self._round()
            await asyncio.sleep(pause)

    async def flush(self) -> None:
        """Write what there is, once, and for the last time."""
        self.recorder.settle()
        while len(self.recorder) and await self._worked():
            pass

    def health(self) -> HistoryHealth:
        """Say what is not written, and why."""
        behind = 0 if self._written_at is None else int(clock.monotonic() - self._written_at)
        return HistoryHealth(behind, len(self.recorder), self.recorder.lost, self._error)

    async def _round(self) -> float:
        """Write what there is; return after how many seconds to look again."""
        while await self._worked():
            if not len(self.recorder):
                return _PAUSE_SECONDS
        return _BACKOFF.delay(self._failures)

    async def _worked(self) -> bool:
        """Write a batch, if there is anything; return whether the database has done what it should."""
        # one at a time: what is written at the end waits for the batch that is under way
        async with self._turn:
            return await self._step()

    async def _step(self) -> bool:
        taken = [] if not self._is_ready else self.recorder.take(_AT_ONCE)
        is_due = bool(taken) or clock.monotonic() >= self._checks_at
        try:
            if not self._is_ready:
                await self._prepare()
            elif taken:
                await self._in_thread(lambda: self._store.write(taken))
            elif is_due:
                await self._in_thread(self._store.check)
            await self._expire()
        except HistoryError as error:
            self.recorder.put_back(taken)
            self._tell_failure(error)
            return False
        if self._failures:
            _log.info("history_works_again")
        self._failures, self._error = 0, ""
        if is_due:
            self._checks_at = clock.monotonic() + CHECK_SECONDS
        if not len(self.recorder):
            self._written_at = clock.monotonic()
        if taken:
            self._metrics.history_writes.labels("done").inc()
        self._refresh()
        return True

    async def _prepare(self) -> None:
        """Bring the tables up to date, and end the runs whose pods are gone; into new tables goes all there is."""
        is_new = await self._in_thread(self._store.prepare)
        at = await self._in_thread(self._store.last_write)
        not_ended = [] if is_new else await self._in_thread(self._store.not_ended)
        gone = await _in_parts(not_ended, lambda uid: uid not in self._cache.pods)
        await self._in_thread(lambda: self._store.end(gone, at))
        if is_new:
            await _in_parts(list(self._cache.pods.values()), self._record)
        self._is_ready = True

    def _record(self, pod: Pod) -> bool:
        self.recorder.changed(None, pod, clock.now())
        return False

    async def _expire(self) -> None:
        now = clock.now()
        if not self._days or now < self._expires_at:
            return
        gone = await self._in_thread(lambda: self._store.expire(int(now) - self._days * _DAY))
        self._expires_at = now + _EXPIRE_SECONDS
        if gone:
            _log.info("history_expired", runs=gone, days=self._days)

    def _tell_failure(self, error: HistoryError) -> None:
        self._failures += 1
        self._error = str(error)
        self._is_ready = False  # the file may be gone, or the database another one: look at the tables again
        self._metrics.history_writes.labels("failed").inc()
        self._refresh()
        _log.warning("history_not_written", why=str(error), waiting=len(self.recorder), failures=self._failures)

    def _refresh(self) -> None:
        self._metrics.history_pending.set(len(self.recorder))
        self._metrics.history_lost.set(self.recorder.lost)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await self._calls.make(work)
        except TimeoutError:
            raise HistoryError(f"{self._store.name}: does not answer") from None


async def _in_parts(those: Sequence[T], chosen: Callable[[T], bool]) -> list[T]:
    """Return those that are chosen, giving up the loop in between: there may be a hundred thousand."""
    found: list[T] = []
    for begin in range(0, len(those), _AT_ONCE):
        found += [one for one in those[begin : begin + _AT_ONCE] if chosen(one)]
        await asyncio.sleep(0)
    return found
