"""A gang goes back as a whole, whichever rule names one of its pods: the others would hold quota and wait for it.

Who preempts, and who takes back what is too much, looks for gangs as a whole anyway (`preemption.eligibility`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.core.evictions.returns import Returns
from controller.core.preemption.eligibility import Candidates
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.pods import Pod


class WholeGangs:
    """The gangs of one world, put together where a pod of one is named."""

    def __init__(self, snapshot: Snapshot, returns: Returns) -> None:
        self._snapshot = snapshot
        self._returns = returns
        self._candidates: Candidates | None = None

    def with_others(self, evict: Evict) -> tuple[Evict, ...]:
        """Return the eviction with those of its gang; none where one of these may not go, or not yet."""
        pod = evict.pod
        if pod.group is None:
            return (evict,)
        candidates = self._candidates
        if candidates is None:
            candidates = self._candidates = Candidates(self._snapshot, self._returns)
        members = candidates.members(pod)
        if members is None:
            return ()
        if len(members) == 1 or is_spare(pod, len(members)):
            return (evict,)
        refused, queue = self._snapshot.running.leaving.refused, pod.cluster_queue or ""
        if any(one.uid in refused for one in members):
            return ()
        if not self._returns.may_all_go([(one, queue) for one in members]):
            return ()
        return tuple(_each(evict, members, candidates.key(pod)))


def _each(evict: Evict, members: Iterable[Pod], together: str) -> Iterator[Evict]:
    is_said_of_all = evict.cause is EvictionCause.DRAINED
    for one in members:
        is_named = one.uid == evict.pod.uid or is_said_of_all
        text = evict.text if is_named else f"its gang goes with pod {evict.pod.name}: {evict.text}"
        yield Evict(one, evict.cause, text, together)


def is_spare(pod: Pod, there: int) -> bool:
    """Say whether those that are `there` without this one are as many as its gang starts with."""
    needed = 0 if pod.group is None else pod.group.minimum or pod.group.size
    return 0 < needed < there
