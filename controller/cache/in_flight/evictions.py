"""Evictions that were decided on: under way, or not to be tried again yet. Rules ask; the lane tells."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from controller.cache.timers.timers import Timers
from controller.core.evictions.leaving import Leaving, stuck_at
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod

_AT_ONCE = 100
"""Under way at the same time; one is over when the pod is seen to be terminating, or gone."""
_REMEMBERED = 3600.0
"""Seconds after its last refusal for which a pod is known to be one that may stay: budgets and pods change."""
_MOST_UNANSWERED = 6
"""So many times in a row an eviction may get no answer; then it counts as refused, so that others may go instead."""


class _Refusals(NamedTuple):
    """How often an eviction was refused, and until when that is remembered, epoch seconds."""

    times: int = 0
    until: float = 0.0


class Evictions:
    """By the pods' uids."""

    def __init__(
        self, timers: Timers, returned: set[str], learn: Callable[[Evict], None], changed: Callable[[], None]
    ) -> None:
        """`timers` are set to when it has taken too long that a pod goes, or its refusal is forgotten.

        `returned` is told whose eviction is sent, `learn` which one is. `changed` is called when others may go since.
        """
        self._changed = changed
        self._learn = learn
        self._returned = returned
        self.under_way: dict[str, Evict] = {}
        self.refused: dict[str, str] = {}
        """What the apiserver said to evictions that wait to be tried again."""
        self._postponed: set[str] = set()
        """Those that got no answer, until they may be tried again."""
        self._unanswered: dict[str, int] = {}
        """How many times in a row one got no answer."""
        self._refusals: dict[str, _Refusals] = {}
        self._going: dict[str, float | None] = {}
        """Pods that are being deleted, with when nobody waits for them any more, epoch seconds; None: nobody says."""
        self._stuck: set[str] = set()
        """Of those the ones that nobody waits for any more: each timer that is due has its pod seen anew."""
        self._timers = timers

    def begin(self, evict: Evict) -> None:
        """Note that this is on its way."""
        self.under_way[evict.pod.uid] = evict
        self._returned.add(evict.pod.uid)
        self._learn(evict)

    def refuse(self, uid: str, text: str) -> int:
        """Note that an eviction was refused; return how often so far, as far as it is remembered.

        It is not decided on again until `retry`.
        """
        self._changed()
        self.under_way.pop(uid, None)
        self._returned.discard(uid)
        self._unanswered.pop(uid, None)
        self.refused[uid] = text
        now, before = self._timers.now, self._refusals.get(uid, _Refusals())
        made = self._refusals[uid] = _Refusals(before.times + 1 if before.until > now else 1, now + _REMEMBERED)
        self._timers.set(uid, made.until)
        return made.times

    def postpone(self, uids: Collection[str]) -> int | None:
        """Note that evictions got no answer; return how often in a row so far, None: too often, nothing is noted.

        The pods count as going, and nobody goes in their place, but that is decided on anew at `retry`: of a gang for
        all at once, since it would not be taken as a whole while some of it count so.
        """
        times = 1 + max((self._unanswered.get(uid, 0) for uid in uids), default=0)
        if times > _MOST_UNANSWERED:
            return None
        for uid in uids:
            self.under_way.pop(uid, None)
            self._postponed.add(uid)
            self._unanswered[uid] = times
        return times

    def retry(self, uid: str) -> None:
        """Let it be decided on again, if it is still wanted."""
        self._changed()
        self.refused.pop(uid, None)
        self._postponed.discard(uid)

    def observe(self, uid: str, pod: Pod | None) -> bool:
        """Drop a pod that is going, or gone, and note that it goes; say whether it has taken too long by now already.

        So it is with one that is seen first then, or is to be gone earlier than before.
        """
        if pod is None or pod.is_terminating or pod.is_finished or pod.is_stopping:
            self.forget(uid)
        former = self._going.pop(uid, None)
        self._stuck.discard(uid)
        if pod is None or not pod.is_terminating or pod.is_finished:
            return False
        at = self._going[uid] = stuck_at(pod)
        is_stuck = at is not None and at <= self._timers.now
        if is_stuck:
            self._stuck.add(uid)
        self._timers.set(uid, None if is_stuck else at)
        return is_stuck and at != former

    def seen(self, now: float) -> Leaving:
        """Return which pods go, for a decision; `now` in epoch seconds."""
        return Leaving(
            evicting=self.under_way.keys() | self._postponed | self.refused.keys(),
            refused=self.refused.keys(),
            lately_refused={uid for uid, one in self._refusals.items() if one.until > now},
            terminating=self._going.keys(),
            stuck=self._stuck,
            evictions_left=max(0, _AT_ONCE - len(self.under_way) - len(self._postponed)),
        )

    def forget(self, uid: str) -> None:
        """Drop an eviction that is over."""
        if uid in self.under_way:
            self._changed()
        for known in (self.under_way, self.refused, self._refusals, self._unanswered):
            known.pop(uid, None)
        self._postponed.discard(uid)
        self._timers.set(uid, None)
