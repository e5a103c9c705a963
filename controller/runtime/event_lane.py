"""Events of releases, evictions and waits, published beside everything else, and no more than an apiserver can bear."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import orjson

from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod
from controller.kube import clock
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import Conflict
from controller.runtime.best_effort import attempt
from controller.runtime.executor import Released
from controller.telemetry import events
from controller.telemetry.metrics import ControllerMetrics

Json = dict[str, Any]

_WORKERS: Final = 2
_BACKLOG: Final = 20_000
_AT_ONCE: Final = 50
_A_SECOND: Final = 2.0
"""After the first `_AT_ONCE`: an Event is a write of its own, and the pod says the same."""
_REPEAT_SECONDS: Final = 300.0
"""An object gets an Event of the same reason no more often: all pods of an owner share its Events."""
_REMEMBERED: Final = 10_000


class EventLane:
    """Publishes an Event of each eviction, and of releases and waits as many as the apiserver need not mind.

    Events of releases and of waits that come faster are left out, what the backlog has no place for is dropped: both
    are counted.
    """

    def __init__(self, client: Client, metrics: ControllerMetrics, *, instance: str) -> None:
        self._client = client
        self._metrics = metrics
        self._instance = instance
        self._releases = _TokenBucket()
        # apart: a long queue that waits for quota must not hide a misspelt queue
        self._waits = {"Normal": _TokenBucket(), "Warning": _TokenBucket()}
        self._told = _Told()
        self._queue: asyncio.Queue[tuple[Json, bool]] = asyncio.Queue(_BACKLOG)
        """Events, and whether each is counted once more where it exists already."""

    def announce(self, released: Released) -> None:
        """Queue the Event of a release, unless too many were told lately."""
        if self._releases.take():
            self._put(self._widened(released) if released.is_widening else self._admitted(released))
        else:
            self._leave_out()

    def _widened(self, released: Released) -> dict[str, Any]:
        return events.widened(released.pod, released.admit, instance=self._instance, now=clock.now())

    def _admitted(self, released: Released) -> dict[str, Any]:
        pod, admit, others = released.pod, released.admit, released.others
        return events.admitted(pod, admit, instance=self._instance, now=clock.now(), others=others)

    def announce_eviction(self, evict: Evict) -> None:
        """Queue the Event of an eviction."""
        self._put(events.evicted(evict, instance=self._instance, now=clock.now()))

    def announce_end(self, job: Pod) -> None:
        """Queue the Event of a Job that is ended soon."""
        self._put(events.ends_soon(job, instance=self._instance, now=clock.now()))

    def announce_wait(self, pod: Pod, reason: str, message: str) -> None:
        """Queue the Event of a pod that begins to wait, or waits for another reason, on the pod or on its owner.

        Nothing is queued where the object got an Event of this reason in the last five minutes.
        """
        event = events.waits(pod, reason, message, instance=self._instance, now=clock.now())
        name = f"{event['metadata']['namespace']}/{event['metadata']['name']}"
        if self._told.is_recent(name):
            return
        if not self._waits[event["type"]].take():
            self._leave_out()
            return
        self._told.note(name)
        self._put(event, is_counted=True)

    def _leave_out(self) -> None:
        self._metrics.side_writes.labels("event", "left_out").inc()

    def _put(self, event: Json, *, is_counted: bool = False) -> None:
        try:
            self._queue.put_nowait((event, is_counted))
        except asyncio.QueueFull:
            self._metrics.side_writes.labels("event", "dropped").inc()

    async def run(self) -> None:
        """Publish until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(_WORKERS):
                group.create_task(self._work(), name=f"events-{number}")

    async def _work(self) -> None:
        while True:
            event, is_counted = await self._queue.get()
            await attempt(self._metrics, "event", self._publish(event, is_counted=is_counted))

    async def _publish(self, event: Json, *, is_counted: bool) -> None:
        """Create the Event, or count it once more.

        Raises Conflict where it exists and stays as it is, and other errors as the apiserver answers.
        """
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        try:
            await self._client.post(path, event)
        except Conflict:
            if not is_counted:
                raise
            await self._count_again(f"{path}/{event['metadata']['name']}", event)

    async def _count_again(self, path: str, event: Json) -> None:
        standing = orjson.loads(await self._client.get(path))
        body = {
            # it expires an hour after its last change, and another one of the name may be there by now
            "metadata": {"uid": standing["metadata"]["uid"]},
            "count": int(standing.get("count") or 1) + 1,
            **{part: event[part] for part in ("lastTimestamp", "message", "reportingInstance")},
        }
        await self._client.patch(path, body, content_type=MERGE_PATCH)


class _TokenBucket:
    """Lets the first `_AT_ONCE` through, then `_A_SECOND` each second."""

    def __init__(self) -> None:
        self._tokens = float(_AT_ONCE)
        self._counted_at = clock.monotonic()

    def take(self) -> bool:
        """Take a token, if there is one."""
        now = clock.monotonic()
        gained = (now - self._counted_at) * _A_SECOND
        self._counted_at = now
        self._tokens = min(self._tokens + gained, _AT_ONCE)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class _Told:
    """Which Events were told when, monotonic seconds; of those told longest ago some are forgotten."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}

    def is_recent(self, name: str) -> bool:
        """Whether this Event was told within `_REPEAT_SECONDS`."""
        at = self._at.get(name)
        return at is not None and clock.monotonic() - at < _REPEAT_SECONDS

    def note(self, name: str) -> None:
        """Remember that it is told now."""
        self._at.pop(name, None)
        if len(self._at) >= _REMEMBERED:
            del self._at[next(iter(self._at))]
        self._at[name] = clock.monotonic()
