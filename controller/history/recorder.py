"""Which pods have changed since the last write, and what is to be written of them.

It looks on as the cache takes pods in, and keeps a name for each change: what is written is read from the cache when it
is written. Only of a pod that is gone it keeps the run itself. All of it is bounded: where a database takes nothing for
long, the oldest is given up and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final

from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Phase, Pod
from controller.history.runs import Outcome, Run, run_of
from controller.history.used import Used

MOST: Final = 200_000
"""Changes that are kept for a database that takes none."""


_SAMPLES: Final = 10
"""After so many of a pod they are written, if nothing else of it is."""


@dataclass(frozen=True, slots=True)
class Change:
    """A run as it is now. `waited` is for how long it has waited for each reason, in seconds.

    `used` is what it used by the samples of one process, `observer`; None: it took none.
    """

    run: Run
    waited: Mapping[str, int]
    used: Used | None = None
    observer: str = ""


@dataclass(slots=True)
class _Waiting:
    """For which reason a pod waits, since when, and for how long it has waited for others."""

    reason: str
    since: float
    waited: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Eviction:
    reason: str
    message: str


class Recorder:
    """Takes pods as the cache does. `price_of` says what a flavor costs now, by its name; `observer` who this is."""

    def __init__(
        self, pods: Mapping[str, Pod], price_of: Callable[[str], Mapping[str, int]], observer: str = ""
    ) -> None:
        self.lost = 0
        """Changes that were given up."""
        self._pods = pods
        self._price_of = price_of
        self._changed: dict[str, None] = {}
        self._gone: dict[str, Change] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._bound: dict[str, int] = {}
        self._ended: dict[str, int] = {}
        """When pods were seen to have ended whose nodes do not say when."""
        self._evicted: dict[str, _Eviction] = {}
        self._planned: dict[str, int] = {}
        self._used: dict[str, Used] = {}
        self._observer = observer

    def __len__(self) -> int:
        return len(self._changed) + len(self._gone)

    def changed(self, before: Pod | None, pod: Pod, now: float) -> None:
        """A pod is as this says; `before` as it was known."""
        if pod.queue is None or (before is not None and _told(before) == _told(pod)):
            return
        if before is not None and before.node is None and pod.node is not None:
            self._bound[pod.uid] = int(now)
        if pod.is_finished and not pod.ended:
            self._ended.setdefault(pod.uid, int(now))
        self._wait(pod, now)
        self._changed[pod.uid] = None
        self._bound_what_is_kept()

    def gone(self, pod: Pod, now: float) -> None:
        """A pod is gone, which was as this says."""
        self._changed.pop(pod.uid, None)
        self._wait(pod, now)
        change = self._change(pod)
        self._waiting.pop(pod.uid, None)
        self._bound.pop(pod.uid, None)
        self._ended.pop(pod.uid, None)
        self._planned.pop(pod.uid, None)
        self._used.pop(pod.uid, None)
        eviction = self._evicted.pop(pod.uid, None)
        if change is None:
            return
        run = change.run
        if run.outcome is Outcome.GOES_ON:
            run = replace(run, outcome=Outcome.DELETED if eviction is None else Outcome.EVICTED)
        self._gone[pod.uid] = replace(change, run=replace(run, ended=run.ended or int(now)))
        self._bound_what_is_kept()

    def evicted(self, evict: Evict) -> None:
        """Penstock has evicted a pod."""
        self._evicted[evict.pod.uid] = _Eviction(evict.cause.value, evict.text)
        self._changed[evict.pod.uid] = None

    def planned(self, starts: Mapping[str, int]) -> None:
        """These pods were forecast, to be admitted at these times; the first forecast of each counts."""
        new = {uid: at for uid, at in starts.items() if uid in self._pods and uid not in self._planned}
        self._planned.update(new)
        self._changed.update(dict.fromkeys(new))
        self._bound_what_is_kept()

    def sampled(self, uid: str, amounts: Mapping[str, int]) -> None:
        """A pod that is there uses so much now, by resource. It is written with what else changes, and now and then."""
        used = self._used.setdefault(uid, Used())
        used.add(amounts)
        if used.samples % _SAMPLES == 0:
            self._changed[uid] = None

    def settle(self) -> None:
        """Have all samples written: no more will come."""
        self._changed.update(dict.fromkeys(uid for uid, one in self._used.items() if one.samples % _SAMPLES))

    def take(self, most: int) -> list[Change]:
        """Return so many changes, the oldest first, and forget them; `put_back` those that could not be written."""
        taken = [self._gone.pop(uid) for uid in list(self._gone)[:most]]
        for uid in list(self._changed)[: most - len(taken)]:
            del self._changed[uid]
            pod = self._pods.get(uid)
            change = None if pod is None else self._change(pod)
            if change is not None:
                taken.append(change)
        return taken

    def put_back(self, changes: Sequence[Change]) -> None:
        """These could not be written."""
        for one in changes:
            if one.run.uid in self._pods:
                self._changed[one.run.uid] = None
            else:
                self._gone.setdefault(one.run.uid, one)
        self._bound_what_is_kept()

    def _change(self, pod: Pod) -> Change | None:
        run = run_of(pod, self._price_of)
        if run is None:
            return None
        run = replace(run, ended=run.ended or self._ended.get(pod.uid, 0))
        waiting, eviction = self._waiting.get(pod.uid), self._evicted.get(pod.uid)
        if eviction is not None:
            outcome = Outcome.EVICTED if run.ended else run.outcome
            run = replace(run, outcome=outcome, reason=eviction.reason, message=eviction.message)
        elif pod.phase is Phase.QUEUED and waiting is not None:
            run = replace(run, reason=waiting.reason)
        waited = {} if waiting is None else dict(waiting.waited)
        bound, planned = self._bound.get(pod.uid, 0), self._planned.get(pod.uid, 0)
        used = self._used.get(pod.uid)
        run = replace(run, bound=bound, planned=planned)
        # a copy: it goes to another thread
        return Change(run, waited, None if used is None else deepcopy(used), self._observer)

    def _wait(self, pod: Pod, now: float) -> None:
        """Keep for how long it has waited for the reason that it had until now."""
        reason = pod.said.reason if pod.phase is Phase.QUEUED and pod.said is not None else ""
        known = self._waiting.get(pod.uid)
        if known is None:
            if reason and pod.said is not None:
                self._waiting[pod.uid] = _Waiting(reason, pod.said.at, {})
            return
        if known.reason and (reason != known.reason):
            known.waited[known.reason] = known.waited.get(known.reason, 0) + max(0, round(now - known.since))
        if reason != known.reason:
            known.reason, known.since = reason, now

    def _bound_what_is_kept(self) -> None:
        for kept in (self._gone, self._changed):
            while len(kept) > MOST:
                del kept[next(iter(kept))]
                self.lost += 1


def _told(pod: Pod) -> tuple[object, ...]:
    """What of a pod is written."""
    said = None if pod.phase is not Phase.QUEUED or pod.said is None else pod.said.reason
    return pod.phase, pod.node, pod.started, pod.is_finished, pod.ended, pod.cluster_queue, pod.admitted_at, said
