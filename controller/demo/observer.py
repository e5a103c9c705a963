"""What the demo sees of the cluster, from watches alone: pods, cluster queues and Events, and when each thing happened.

Times are when this process heard of a change, since the API's own have whole seconds. Shows nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from controller.core.keys import FLAVOR, GATE
from controller.core.kubernetes.amounts import CPU, supply_amount
from controller.demo import wire
from controller.demo.picture import Picture, QuotaRow, Reason, TeamRow
from controller.demo.world import DemoSetup

_RATE_SECONDS = 5.0
_KEPT_EVENTS = 10


class Stage(Enum):
    """How far a pod has come."""

    QUEUED = "queued"
    RESERVED = "reserved"
    RUNNING = "running"
    DONE = "done"


@dataclass(slots=True)
class Track:
    """One pod's way through. Times are monotonic seconds, None for what has not happened."""

    namespace: str
    name: str
    created: float
    stage: Stage = Stage.QUEUED
    was_gated: bool = False
    released: float | None = None
    ended: float | None = None
    phase: str = ""
    end_reason: str = ""
    """The kubelet's, for a pod that failed."""
    flavor: str = ""
    reason: str = ""
    message: str = ""


class Observer:
    """Everything seen so far. Sinks feed it; `picture` and the summary read it."""

    def __init__(self, world: DemoSetup, expected: int, now: Callable[[], float]) -> None:
        self.world = world
        self.expected = expected
        self.tracks: dict[str, Track] = {}
        self.quota: dict[tuple[str, str], tuple[int, int, int]] = {}
        """(used, nominal, borrowed) thousandths of a core, by cluster queue and flavor."""
        self.most_borrowed: dict[tuple[str, str], tuple[int, int]] = {}
        """The most thousandths of a core that were ever borrowed, and of what nominal quota: by team and flavor."""
        self.events: deque[str] = deque(maxlen=_KEPT_EVENTS)
        self.trouble = ""
        """The latest fault of a watch; it is tried again."""
        self._now = now
        self._began = now()

    def begin(self) -> None:
        """Start the clock: the first pod is about to be created."""
        self._began = self._now()

    @property
    def elapsed(self) -> float:
        """Seconds since `begin`."""
        return self._now() - self._began

    def since_begin(self, at: float) -> float:
        """Return how many seconds after `begin` a monotonic time is."""
        return at - self._began

    @property
    def is_over(self) -> bool:
        """Whether all pods have been seen to end."""
        done = sum(track.stage is Stage.DONE for track in self.tracks.values())
        return done >= self.expected

    def see_pod(self, pod: wire.PodObject) -> None:
        """Take in a pod as it is now."""
        now = self._now()
        track = self.tracks.get(pod.metadata.uid)
        if track is None:
            track = Track(self.world.short(pod.metadata.namespace), pod.metadata.name, now)
            self.tracks[pod.metadata.uid] = track
        track.stage, track.phase, track.end_reason = _stage(pod), pod.status.phase, pod.status.reason
        if track.stage is Stage.QUEUED:
            track.was_gated = True
        elif track.released is None:
            track.released = now
        if track.stage is Stage.DONE and track.ended is None:
            track.ended = now
        track.flavor = self.world.short((pod.metadata.labels or {}).get(FLAVOR, ""))
        waits = pod.why_it_waits()
        track.reason, track.message = (waits.reason, waits.message) if waits else ("", "")

    def see_queue(self, queue: wire.QueueObject) -> None:
        """Take in a cluster queue's own account of its usage."""
        for flavor in queue.status.flavors_usage or ():
            for resource in flavor.resources or ():
                if resource.name == CPU:
                    said = (resource.total, resource.quota, resource.borrowed)
                    used, nominal, borrowed = (supply_amount(CPU, amount) for amount in said)
                    self.quota[(queue.metadata.name, flavor.name)] = (used, nominal, borrowed)
                    where = (self.world.short(queue.metadata.name), self.world.short(flavor.name))
                    if borrowed > self.most_borrowed.get(where, (0, 0))[0]:
                        self.most_borrowed[where] = (borrowed, nominal)

    def see_event(self, event: wire.EventObject) -> None:
        """Take in an Event; only Penstock's are told."""
        if event.is_ours():
            about = event.involved_object
            text = f"{self.world.short(about.namespace)}/{about.name}  {event.message}"
            self.events.append(self._plain(text))

    def picture(self) -> Picture:
        """Return what there is to show now."""
        now = self._now()
        recent = sum(t.released is not None and now - t.released <= _RATE_SECONDS for t in self.tracks.values())
        return Picture(
            elapsed=self.elapsed,
            expected=self.expected,
            teams=tuple(self._team_rows()),
            quota=tuple(self._quota_rows()),
            reasons=tuple(self._reasons()),
            events=tuple(self.events),
            released_per_second=recent / min(_RATE_SECONDS, max(1.0, self.elapsed)),
        )

    def _team_rows(self) -> Iterable[TeamRow]:
        counts = Counter((track.namespace, track.stage) for track in self.tracks.values())
        for team in self.world.teams:
            stages = [counts[(team.name, stage)] for stage in Stage]
            yield TeamRow(team.name, team.strategy, *stages)

    def _quota_rows(self) -> Iterable[QuotaRow]:
        for team in self.world.teams:
            for quota in team.quotas:
                nominal = quota.units * self.world.unit_cpu_milli
                key = (self.world.named(team.name), self.world.named(quota.flavor))
                yield QuotaRow(team.name, quota.flavor, *self.quota.get(key, (0, nominal, 0)))

    def _reasons(self) -> Iterable[Reason]:
        """Why pods wait, most frequent first, each with the words that most of them carry."""
        queued = [track for track in self.tracks.values() if track.stage is Stage.QUEUED]
        for reason, count in Counter(track.reason for track in queued if track.reason).most_common():
            words = Counter(track.message for track in queued if track.reason == reason)
            yield Reason(reason, count, self._plain(words.most_common(1)[0][0]))
        silent = sum(not track.reason for track in queued)
        if silent:
            yield Reason("(not said yet)", silent, "pods say why once they have waited 5 s, the oldest first")

    def _plain(self, text: str) -> str:
        return text.replace(self.world.prefix, "") if self.world.prefix else text


def _stage(pod: wire.PodObject) -> Stage:
    if pod.status.phase in ("Succeeded", "Failed"):
        return Stage.DONE
    if any(gate.name == GATE for gate in pod.spec.scheduling_gates or ()):
        return Stage.QUEUED
    return Stage.RUNNING if pod.spec.node_name else Stage.RESERVED
