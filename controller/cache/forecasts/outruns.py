"""Pods that run longer than they said, by namespace: what its other pods say is not believed as long as there are any.

Rule: `core.forecasts.runtimes.outruns_at`.
"""

from __future__ import annotations

from collections.abc import Callable

from controller.cache.timers.timers import Timers
from controller.core.forecasts.runtimes import outruns_at
from controller.core.workloads.pods import Pod


class Outruns:
    """`told` has one pod of each such namespace, namespace/name as people write it; the next one once it ends."""

    def __init__(self, turned: Callable[[str], None]) -> None:
        """`turned` is called with a namespace that is believed no more, or again."""
        self._turned = turned
        self._timers = Timers()
        self._known: dict[str, tuple[Pod, int]] = {}
        """With the least that each has said: who says more later, or nothing, has said that all the same."""
        self._longer: dict[str, dict[str, str]] = {}
        self.told: dict[str, str] = {}

    def put(self, pod: Pod, said: int) -> None:
        """Take in how many seconds an admitted pod says that it runs; 0: it does not say."""
        former = self._known.get(pod.uid)
        said = min(filter(None, (said, former[1] if former is not None else 0)), default=0)
        at = outruns_at(pod, said) if said else None
        if at is None:
            return
        self._known[pod.uid] = pod, said
        if at <= self._timers.now:
            self._timers.set(pod.uid, None)
            self._begin(pod.uid)
        else:
            self._timers.set(pod.uid, at)
            self._end(pod)

    def drop(self, uid: str) -> None:
        """Forget a pod that runs no more."""
        self._timers.set(uid, None)
        known = self._known.pop(uid, None)
        if known is not None:
            self._end(known[0])

    def clear(self) -> None:
        """Forget all, where nothing rests on it any more."""
        for uid in list(self._known):
            self.drop(uid)

    def advance(self, now: float) -> None:
        """Let it be this time, epoch seconds."""
        for uid in self._timers.advance(now):
            self._begin(uid)

    def _begin(self, uid: str) -> None:
        pod, _ = self._known[uid]
        longer = self._longer.setdefault(pod.namespace, {})
        longer[uid] = pod.key
        if pod.namespace not in self.told:
            self.told[pod.namespace] = pod.key
            self._turned(pod.namespace)

    def _end(self, pod: Pod) -> None:
        longer = self._longer.get(pod.namespace, {})
        if longer.pop(pod.uid, None) is None:
            return
        if longer:
            self.told[pod.namespace] = next(iter(longer.values()))
        else:
            del self._longer[pod.namespace], self.told[pod.namespace]
            self._turned(pod.namespace)
