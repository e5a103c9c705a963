"""Takes the eviction lane's place in a shadow: nothing is evicted; each eviction waits until the pod is seen going."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controller.cache.cluster import ClusterCache
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod
from controller.runtime.observing.differences import Differences
from controller.runtime.observing.patience import AGAIN_SECONDS, PATIENCE_SECONDS, Patience
from controller.telemetry.metrics import Observed, ObservedKind

_NOT_EVICTED = f"this replica decided to evict the pod, and within {PATIENCE_SECONDS:g} s nobody did"


class ObservedEvictions:
    """Evictions that were decided on here. Call `look` about once a second."""

    def __init__(self, cache: ClusterCache, differences: Differences, *, wake: Callable[[], None]) -> None:
        """`wake` is called when others may go in the place of one that stays."""
        self._cache = cache
        self._differences = differences
        self._wake = wake
        self._decided: Patience[Evict] = Patience(PATIENCE_SECONDS)
        self._left_alone: Patience[None] = Patience(AGAIN_SECONDS)

    def submit(self, evicts: Iterable[Evict]) -> None:
        """Wait for the leader to do the same, but for what is under way already."""
        for one in evicts:
            if one.pod.uid not in self._cache.evictions.under_way:
                self._cache.evictions.begin(one)
                self._decided.add(one.pod.uid, one)

    def observe(self, pod: Pod) -> None:
        """Compare what became of a pod with what was decided here."""
        if pod.is_finished:
            self._decided.take(pod.uid)  # it ended by itself
        elif pod.is_terminating:
            self.gone(pod.uid)

    def gone(self, uid: str) -> None:
        """Note that a pod goes, or is gone."""
        self._left_alone.take(uid)
        if self._decided.take(uid) is not None:
            self._differences.count(ObservedKind.EVICTION, Observed.AGREED)

    def look(self) -> None:
        """Let pods stay that nobody evicted; decide anew on those that were left alone long enough."""
        for uid, one in self._decided.due():
            self._cache.evictions.refuse(uid, _NOT_EVICTED)
            self._left_alone.add(uid, None)
            ours = f"{one.cause.value}: {one.text}"
            self._differences.differs(
                ObservedKind.EVICTION, Observed.NOT_EVICTED, one.pod, ours=ours, theirs="the pod still runs"
            )
            self._wake()
        for uid, _ in self._left_alone.due():
            self._cache.retry_eviction(uid)
            self._wake()
