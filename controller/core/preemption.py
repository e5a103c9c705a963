"""Who may be preempted by whom: a ClusterQueue's policy, and the admitted pods that it makes candidates.

Mirrors the policies of Kueue's classical preemption. A gang is a candidate as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from math import inf

from controller.core.owners import Job
from controller.core.pods import Pod, job_of, queue_priority
from controller.core.preemption_policy import Reclaim, Within
from controller.core.queues import ClusterQueue
from controller.core.quota_tree import Column
from controller.core.returns import Returns
from controller.core.snapshot import Snapshot
from controller.core.workloads import Workload

_ANEW = "/anew"
"""Ends the key of the pods that were admitted in place of a gang's members that go."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Who preempts: its cluster queue, its priority in the queue, and since when its work waits (epoch seconds).

    `key` is that of its gang as a candidate: what a gang lacks does not drive out the gang.
    """

    queue: ClusterQueue
    priority: int
    since: float
    key: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Admitted pods that go together: one pod, or all of a gang. `to_evict` are those of them that do not go yet.

    `priority` is the highest among them, `since` and `admitted` the latest. `columns`: the flavors and resources of
    which they have anything. `was_refused`: an eviction of one was.
    """

    key: str
    queue: str
    pods: tuple[Pod, ...]
    to_evict: tuple[Pod, ...]
    priority: int
    since: float
    admitted: float
    columns: frozenset[Column]
    was_refused: bool = False

    @property
    def is_going(self) -> bool:
        """Whether all of them are being evicted or deleted already."""
        return not self.to_evict


class Candidates:
    """The candidates of one world, worked out for the queues that are asked about, once each."""

    def __init__(self, snapshot: Snapshot, returns: Returns) -> None:
        self._snapshot = snapshot
        self._returns = returns
        self._of: dict[str, tuple[Candidate, ...]] = {}

    def claim(self, queue: ClusterQueue, workload: Workload) -> Claim:
        """Return on what account a waiting workload preempts; a gang by its lowest priority and youngest member."""
        pods = [self._snapshot.pods[uid] for uid in workload.pods if uid in self._snapshot.pods]
        if not pods:
            return Claim(queue, -workload.order[0], workload.since)
        since = max(_since(pod, self._snapshot.jobs) for pod in pods)
        return Claim(queue, min(map(self._priority, pods)), since, self._key(pods[0]))

    def own(self, claim: Claim) -> list[Candidate]:
        """Those of the claim's own queue that its `withinClusterQueue` lets it preempt."""
        policy = claim.queue.preemption.within
        if policy is Within.NEVER:
            return []
        others = (one for one in self._in(claim.queue.name) if one.key.removesuffix(_ANEW) != claim.key)
        return [one for one in others if self._yields(claim, one, policy)]

    def _yields(self, claim: Claim, one: Candidate, policy: Within) -> bool:
        if one.priority != claim.priority:
            return one.priority < claim.priority
        return policy is Within.LOWER_OR_NEWER_EQUAL_PRIORITY and one.since > claim.since

    def of_others(self, claim: Claim) -> Iterator[Candidate]:
        """Those of the tree's other queues that its `reclaimWithinCohort` lets it preempt, if they borrow."""
        policy, tree = claim.queue.preemption.reclaim, self._snapshot.tree
        if policy is Reclaim.NEVER or not claim.queue.parent:
            return
        for name in tree.below(tree.path(claim.queue.name)[-1]):
            if name != claim.queue.name:
                yield from (one for one in self._in(name) if policy is Reclaim.ANY or one.priority < claim.priority)

    def _in(self, queue: str) -> tuple[Candidate, ...]:
        if queue not in self._of:
            self._of[queue] = tuple(self._found(queue))
        return self._of[queue]

    def _key(self, pod: Pod) -> str:
        """Return the name of what goes together with the pod: its gang, or it alone."""
        if pod.group is None or pod.group.key in self._snapshot.loose_groups:
            return pod.uid
        return "/".join(map(str, astuple(pod.group.key)))

    def _found(self, queue: str) -> Iterator[Candidate]:
        units: dict[str, list[Pod]] = {}
        incomplete: set[str] = set()
        for uid in self._snapshot.admitted.get(queue, ()):
            pod = self._snapshot.pods[uid]
            key = self._key(pod)
            units.setdefault(key, []).append(pod)
            # what is on its way to be admitted cannot be taken back before it is; nor can half a gang
            if not pod.is_admitted or pod.cluster_queue != queue or pod.flavor not in self._snapshot.flavors:
                incomplete.add(key)
        spared = self._spared(queue)
        for key, pods in self._apart(units):
            staying = tuple(pod for pod in pods if not self._is_going(pod))
            has_run = self._snapshot.now - min(pod.started or pod.admitted_at for pod in pods) >= spared
            # who goes anyway needs to be spared no more: others would go in their place for nothing
            may_go = not staying or ((has_run or not spared) and all(self._may_go(pod, queue) for pod in staying))
            if (
                key.removesuffix(_ANEW) not in incomplete
                and may_go
                and not any(pod.uid in self._snapshot.stuck for pod in pods)
            ):
                yield self._candidate(key, queue, pods, staying)

    def _apart(self, units: Mapping[str, list[Pod]]) -> Iterator[tuple[str, list[Pod]]]:
        """Tell pods that were admitted in place of members that go from the gang that goes: they go on without it."""
        for key, pods in units.items():
            last = max((pod.admitted_at for pod in pods if self._is_going(pod)), default=inf)
            anew = [pod for pod in pods if pod.admitted_at > last and not self._is_going(pod)]
            if anew:
                yield key + _ANEW, anew
            yield key, [pod for pod in pods if pod not in anew] if anew else pods

    def _candidate(self, key: str, queue: str, pods: Sequence[Pod], staying: tuple[Pod, ...]) -> Candidate:
        return Candidate(
            key,
            queue,
            tuple(pods),
            staying,
            max(map(self._priority, pods)),
            max(_since(pod, self._snapshot.jobs) for pod in pods),
            max(pod.admitted_at for pod in pods),
            frozenset(
                (name or "", one) for pod in pods for name in (pod.flavor, *pod.also) for one, _ in pod.shape.requests
            ),
            was_refused=any(pod.uid in self._snapshot.ever_refused for pod in pods),
        )

    def _spared(self, queue: str) -> int:
        found = self._snapshot.cluster_queues.get(queue)
        return found.preemption.minimum_runtime if found is not None else 0

    def _is_going(self, pod: Pod) -> bool:
        return pod.is_terminating or (pod.uid in self._snapshot.evicting and pod.uid not in self._snapshot.refused)

    def _may_go(self, pod: Pod, queue: str) -> bool:
        """Whether the pod may be returned, and was not refused just now."""
        return pod.uid not in self._snapshot.refused and self._returns.verdict(pod, queue).may_return

    def _priority(self, pod: Pod) -> int:
        return queue_priority(pod, self._snapshot.priority_classes)


def in_order(candidates: Iterable[Candidate], own: str, first: Collection[str] = ()) -> list[Candidate]:
    """Order of Kueue's `CandidatesOrdering`: those that go anyway, other queues', lower priority, latest admitted.

    Of other queues' those go first whose keys are in `first`.
    """
    return sorted(
        candidates,
        key=lambda c: (not c.is_going, c.queue == own, c.key not in first, c.priority, -c.admitted, c.key),
    )


def uses(candidate: Candidate, columns: Iterable[Column]) -> bool:
    """Say whether a candidate has anything of these flavors and resources."""
    return not candidate.columns.isdisjoint(columns)


def _since(pod: Pod, jobs: Mapping[str, Job]) -> float:
    job = job_of(pod, jobs)
    return pod.created if job is None else job.created
