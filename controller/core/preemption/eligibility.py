"""Who may be preempted by whom: a ClusterQueue's policy, and the admitted pods that it makes candidates.

Mirrors the policies of Kueue's classical preemption. A gang is a candidate as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import astuple, dataclass
from functools import lru_cache
from math import inf

from controller.core.candidates.candidate import Candidate, CandidatesByFlavor, by_flavor, candidate_rank
from controller.core.evictions.returns import Returns
from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.owners import Job
from controller.core.preemption.rounds import quiet_until
from controller.core.queueing.preemption_policy import Reclaim, Within
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.quota_tree import Column
from controller.core.snapshot import Snapshot
from controller.core.workloads.pods import Pod, job_of, queue_priority
from controller.core.workloads.workload import Workload

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

    def reclaims(self, one: Candidate) -> bool:
        """Say whether `reclaimWithinCohort` lets it preempt this one of another queue, if that borrows."""
        policy = self.queue.preemption.reclaim
        return policy is Reclaim.ANY or (policy is Reclaim.LOWER_PRIORITY and one.priority < self.priority)


class Candidates:
    """The candidates of one world, worked out for the queues that are asked about, once each."""

    def __init__(self, snapshot: Snapshot, returns: Returns) -> None:
        self._snapshot = snapshot
        self._leaving = snapshot.running.leaving
        self._returns = returns
        self._of: dict[str, CandidatesByFlavor] = {}
        self._least: dict[str, dict[str, Mapping[Column, int]]] = {}
        self._columns_of: dict[tuple[str, str], AbstractSet[frozenset[Column]]] = {}
        moving = {*self._leaving.evicting, *self._leaving.lately_refused, *self._leaving.stuck}
        self.moving = {snapshot.running.pods[uid].cluster_queue or "" for uid in moving if uid in snapshot.running.pods}
        """Queues of which more than the pods says what may go."""
        self.going = self._look_for_going()
        """By cluster queue the pods that go anyway."""
        self._units_of: dict[str, tuple[dict[str, list[Pod]], set[str]]] = {}
        self._members: dict[str, dict[str, list[Candidate]]] = {}

    def claim(self, queue: ClusterQueue, workload: Workload) -> Claim:
        """Return on what account a waiting workload preempts; a gang by its lowest priority and youngest member."""
        pods = [self._snapshot.running.pods[uid] for uid in workload.pods if uid in self._snapshot.running.pods]
        if not pods:
            return Claim(queue, -workload.order[0], workload.since)
        since = max(_since(pod, self._snapshot.running.jobs) for pod in pods)
        return Claim(queue, min(map(self._priority, pods)), since, self.key(pods[0]))

    def own(self, claim: Claim, flavor: str) -> Iterator[Candidate]:
        """Yield those of the claim's own queue that its `withinClusterQueue` lets it preempt in a flavor, in order."""
        policy, name = claim.queue.preemption.within, claim.queue.name
        if policy is Within.NEVER:
            return
        takes_equal = policy is Within.LOWER_OR_NEWER_EQUAL_PRIORITY
        # the gang stays, but for members that go anyway: who replaces one waits for what that leaves
        yield from self._going_members(name).get(claim.key, ())
        for one in self.of(name, flavor):
            if not one.is_going and one.priority >= claim.priority + takes_equal:
                return  # so are all that come after
            if self.key(one.pods[0]) != claim.key and self._yields(claim, one, policy):
                yield one

    def _yields(self, claim: Claim, one: Candidate, policy: Within) -> bool:
        if one.priority != claim.priority:
            return one.priority < claim.priority
        return policy is Within.LOWER_OR_NEWER_EQUAL_PRIORITY and one.since > claim.since

    def of_other(self, claim: Claim, queue: str, flavor: str) -> Iterator[Candidate]:
        """Yield those of another queue of its tree that its `reclaimWithinCohort` lets it preempt, so too."""
        for one in self.of(queue, flavor):
            if self._snapshot.now >= one.quiet and claim.reclaims(one):
                yield one

    def going_for(self, claim: Claim) -> Iterator[Candidate]:
        """Yield one by one the pods that go anyway, of those queues that the claim's queue may preempt from."""
        tree, name = self._snapshot.queues.tree, claim.queue.name
        is_alone = claim.queue.preemption.reclaim is Reclaim.NEVER or not claim.queue.parent
        root = tree.path(name)[-1]
        for one in [name] if is_alone else sorted(self.going):
            if tree.path(one)[-1] == root:
                yield from self.going_alone(one)

    def going_alone(self, queue: str) -> Iterator[Candidate]:
        """Yield each pod of a queue that goes anyway as a candidate of its own."""
        return map(self._going_alone, self.going_of(queue))

    def going_of(self, queue: str) -> Sequence[Pod]:
        """Return the pods of a queue that go anyway."""
        return self.going.get(queue, ())

    def _going_members(self, queue: str) -> Mapping[str, Sequence[Candidate]]:
        """Return the pods of a queue that go anyway, each by itself, by the key of what goes together with it."""
        known = self._members.get(queue)
        if known is None:
            known = self._members[queue] = {}
            for pod in self.going_of(queue):
                known.setdefault(self.key(pod), []).append(self._going_alone(pod))
        return known

    def _going_alone(self, pod: Pod) -> Candidate:
        return self._candidate(pod.uid, pod.cluster_queue or "", [pod], ())

    def _look_for_going(self) -> Mapping[str, Sequence[Pod]]:
        found: dict[str, list[Pod]] = {}
        uids = sorted({*self._leaving.evicting, *self._leaving.terminating} - {*self._leaving.stuck})
        charged, pods = self._snapshot.usage.charged, self._snapshot.running.pods
        for pod in (pods[uid] for uid in uids if uid in pods):
            queue = pod.cluster_queue or ""
            # of a Job that is suspended as a whole its pods go
            is_counted = not pod.is_job and self._is_known(pod, queue) and pod.uid in charged.get(queue, ())
            if is_counted and self._is_going(pod):
                found.setdefault(queue, []).append(pod)
        return found

    def of(self, queue: str, flavor: str) -> tuple[Candidate, ...]:
        """Return those of a queue that have anything of a flavor, in order, also those that are left in peace now."""
        found = self._of.get(queue)
        if found is None:
            is_lasting = self.is_lasting(queue)
            found = self._snapshot.memo.candidates.get(queue) if is_lasting else None
            if found is None:
                found = by_flavor(sorted(self._found(queue), key=lambda one: candidate_rank(one, queue)))
                if is_lasting:
                    self._snapshot.memo.candidates.put(queue, found)
            self._of[queue] = found
        return found.get(flavor, ())

    def least(self, queue: str, flavor: str) -> Mapping[Column, int]:
        """Return how much of a flavor each of those has at least."""
        of_queue = self._least.get(queue)
        if of_queue is None:
            is_lasting = self.is_lasting(queue)
            of_queue = self._least[queue] = self._snapshot.memo.candidates.least_of(queue) if is_lasting else {}
        known = of_queue.get(flavor)
        if known is None:
            amounts = [one.held for one in self.of(queue, flavor)]
            columns = {column for one in amounts for column in one if column[0] == flavor}
            known = of_queue[flavor] = {column: min(one.get(column, 0) for one in amounts) for column in columns}
        return known

    def columns_of(self, queue: str, flavor: str) -> AbstractSet[frozenset[Column]]:
        """Return of which columns one or another of those has something."""
        key = (queue, flavor)
        if key not in self._columns_of:
            self._columns_of[key] = {one.columns for one in self.of(queue, flavor)}
        return self._columns_of[key]

    def is_lasting(self, queue: str) -> bool:
        """Say whether who may go is the same until a pod of the queue changes, or whether a Job is there."""
        found = self._snapshot.queues.cluster_queues.get(queue)
        is_plain = found is None or not (found.preemption.minimum_runtime or found.allow_job_retries)
        return is_plain and queue not in self.moving

    def key(self, pod: Pod) -> str:
        """Return the name of what goes together with the pod: its gang, or it alone."""
        if pod.group is None or pod.group.key in self._snapshot.waiting.loose_groups:
            return pod.uid
        return "/".join(map(str, astuple(pod.group.key)))

    def members(self, pod: Pod) -> list[Pod] | None:
        """Return who is admitted and goes together with a pod, itself among them, but for those that go already.

        None: some of them are on their way to be admitted.
        """
        queue, key = pod.cluster_queue or "", self.key(pod)
        known = self._units_of.get(queue)
        if known is None:
            known = self._units_of[queue] = self._units(queue)
        units, incomplete = known
        if key in incomplete:
            return None
        for _, pods in self._apart({key: units.get(key, [pod])}):
            if any(one.uid == pod.uid for one in pods):
                return [one for one in pods if not self._is_going(one)]
        return [pod]

    def _units(self, queue: str) -> tuple[dict[str, list[Pod]], set[str]]:
        """Return the pods of a queue by what goes together, and what of that is not known as a whole yet."""
        units: dict[str, list[Pod]] = {}
        incomplete: set[str] = set()
        for uid in self._snapshot.usage.charged.get(queue, ()):
            pod = self._snapshot.running.pods[uid]
            if pod.is_job:
                continue  # what it holds for pods that do not exist yet is free once those go that do
            key = self.key(pod)
            units.setdefault(key, []).append(pod)
            # what is on its way to be admitted cannot be taken back before it is; nor can half a gang
            if not self._is_known(pod, queue):
                incomplete.add(key)
        return units, incomplete

    def _found(self, queue: str) -> Iterator[Candidate]:
        units, incomplete = self._units(queue)
        spared = self._spared(queue)
        for key, pods in self._apart(units):
            staying = tuple(pod for pod in pods if not self._is_going(pod))
            if staying:
                # what some of a gang leave is free whether the others go or not, and whether these may
                yield from self._going_members(queue).get(key, ())
            has_run = self._snapshot.now - min(pod.started or pod.admitted_at for pod in pods) >= spared
            # who goes anyway needs to be spared no more: others would go in their place for nothing
            may_go = not staying or ((has_run or not spared) and all(self._may_go(pod, queue) for pod in staying))
            if (
                key.removesuffix(_ANEW) not in incomplete
                and may_go
                and (staying or not any(pod.uid in self._leaving.stuck for pod in pods))
            ):
                yield self._candidate(key, queue, pods, staying)

    def _is_known(self, pod: Pod, queue: str) -> bool:
        return pod.is_admitted and pod.cluster_queue == queue and pod.flavor in self._snapshot.queues.flavors

    def _apart(self, units: Mapping[str, list[Pod]]) -> Iterator[tuple[str, list[Pod]]]:
        """Tell pods that were admitted in place of members that go from the gang that goes: they go on without it."""
        for key, pods in units.items():
            last = max((pod.admitted_at for pod in pods if self._is_going(pod)), default=inf)
            anew = [pod for pod in pods if pod.admitted_at > last and not self._is_going(pod)]
            if anew:
                yield key + _ANEW, anew
            yield key, [pod for pod in pods if pod not in anew] if anew else pods

    def _candidate(self, key: str, queue: str, pods: Sequence[Pod], staying: tuple[Pod, ...]) -> Candidate:
        leaving = staying or tuple(pods)
        return Candidate(
            key,
            queue,
            leaving,
            staying,
            max(map(self._priority, pods)),
            max(_since(pod, self._snapshot.running.jobs) for pod in pods),
            max(pod.admitted_at for pod in pods),
            _columns(tuple(((pod.flavor or "", *pod.also), pod.shape.requests) for pod in leaving)),
            _held(tuple((pod.flavor or "", pod.shape.requests) for pod in leaving)),
            was_refused=any(pod.uid in self._leaving.lately_refused for pod in pods),
            quiet=max((quiet_until(pod, borrows=False) for pod in staying), default=0.0),
            quiet_for_borrowers=max((quiet_until(pod, borrows=True) for pod in staying), default=0.0),
        )

    def _spared(self, queue: str) -> int:
        found = self._snapshot.queues.cluster_queues.get(queue)
        return found.preemption.minimum_runtime if found is not None else 0

    def _is_going(self, pod: Pod) -> bool:
        return pod.is_terminating or (pod.uid in self._leaving.evicting and pod.uid not in self._leaving.refused)

    def _may_go(self, pod: Pod, queue: str) -> bool:
        """Whether the pod may be returned, and was not refused just now."""
        return pod.uid not in self._leaving.refused and self._returns.verdict(pod, queue).may_return

    def _priority(self, pod: Pod) -> int:
        return queue_priority(pod, job_of(pod, self._snapshot.running.jobs), self._snapshot.queues.priority_classes)


@lru_cache(maxsize=4096)
def _columns(held: tuple[tuple[tuple[str, ...], Requests], ...]) -> frozenset[Column]:
    """Return the columns of what pods hold, one set for all that hold the same: there are many of them."""
    return frozenset((flavor, resource) for flavors, requests in held for flavor in flavors for resource, _ in requests)


@lru_cache(maxsize=4096)
def _held(held: tuple[tuple[str, Requests], ...]) -> Mapping[Column, int]:
    """Return how much of each column pods hold, so too."""
    amounts: dict[Column, int] = {}
    for flavor, requests in held:
        for resource, amount in requests:
            amounts[flavor, resource] = amounts.get((flavor, resource), 0) + amount
    return amounts


def _since(pod: Pod, jobs: Mapping[str, Job]) -> float:
    job = job_of(pod, jobs)
    return pod.created if job is None else job.created
