"""Which admitted pods others may be preempted for anew, though neither quota nor room moved: they begin to go, or time
or their Job lets them. The rules are `core.preemption.eligibility`, `core.preemption.rounds` and
`core.evictions.returns`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from controller.cache.timers.timers import Timers
from controller.core.kubernetes.owners import Job
from controller.core.preemption.rounds import BORROWERS, quiet_until
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.groups import GroupKey
from controller.core.workloads.pods import Pod


class Preemptible:
    """Pods that changed so are noted until they are taken."""

    def __init__(self, queues: Mapping[str, ClusterQueue]) -> None:
        """The cache's own queues, read as they are at the time."""
        self._queues = queues
        self._spares: dict[str, int] = {}
        self._spared: dict[str, list[float]] = {}
        """The times that lie ahead from which on more may preempt a pod."""
        self._going: set[str] = set()
        self._job_of: dict[str, str] = {}
        self._of_job: dict[str, dict[str, str]] = {}
        """By the Job's uid: its admitted pods, and where each is charged."""
        self._group_of: dict[str, GroupKey] = {}
        self._of_group: dict[GroupKey, dict[str, Pod]] = {}
        """The admitted pods of each group."""
        self._held: dict[object, Counter[tuple[str, str]]] = {}
        """By group, or the uid of a pod that has several flavors itself: how many have which, in which queue."""
        self._of_several: dict[object, set[str]] = {}
        """Of those that have several flavors between them the queues."""
        self._changed: set[str] = set()
        self.timers = Timers()

    def observe(self, uid: str, pod: Pod | None) -> None:
        """Take in a pod as it is now; None: it is gone."""
        admitted = pod if pod is not None and pod.is_admitted and pod.cluster_queue else None
        # its queue may be known only later
        self._belong(uid, admitted)
        self._stand_together(uid, admitted)
        queue = None if admitted is None else self._queues.get(admitted.cluster_queue or "")
        if pod is None or queue is None:
            self.timers.set(uid, None)
            self._spared.pop(uid, None)
            for known in (self._going, self._changed):
                known.discard(uid)
            return
        if pod.is_terminating and uid not in self._going:
            self._going.add(uid)
            self._changed.add(uid)
        spares = queue.preemption.minimum_runtime
        since = pod.started or pod.admitted_at
        times = (quiet_until(pod, borrows=True), since + spares if spares else 0.0)
        ahead = [one for one in times if one > self.timers.now]
        self.timers.set(uid, min(ahead, default=None))
        former = self._spared.get(uid, [])
        if len(ahead) < len(former) or any(one <= self.timers.now for one in former):
            self._changed.add(uid)
        if ahead:
            self._spared[uid] = ahead
        else:
            self._spared.pop(uid, None)

    @property
    def of_several(self) -> frozenset[str]:
        """As `KnownCandidates` has it."""
        return frozenset().union(*self._of_several.values())

    def group_changed(self, key: GroupKey) -> None:
        """Take in that what a PodGroup says changed: its pods may go together, or each alone, from now on."""
        self._changed.update(self._of_group.get(key, ()))

    @property
    def has_changed(self) -> bool:
        """Whether there is anything to take."""
        return bool(self._changed)

    def job_changed(self, uid: str, former: Job | None, job: Job | None) -> bool:
        """Take in that a Job is another one by now, or gone; say whether that changed any of its pods so."""
        is_counted = (
            former is not None and job is not None and not (former.ignores_disruption or job.ignores_disruption)
        )
        if _returns(former) == _returns(job):
            return False
        for one, name in self._of_job.get(uid, {}).items():
            queue = self._queues.get(name)
            if not is_counted or (queue is not None and queue.allow_job_retries):
                self._changed.add(one)
        return self.has_changed

    def queues_of(self, job: str) -> set[str]:
        """Return the cluster queues that admitted pods of a Job are charged to."""
        return set(self._of_job.get(job, {}).values())

    def is_judged_anew(self, uid: str) -> None:
        """Take in that an eviction that was refused may be tried again, or that nobody waits for a pod to go any more.

        It may go, or others in its place.
        """
        self._changed.add(uid)

    def take_changed(self) -> Iterator[str]:
        """Yield the pods that changed since this was asked last, and those of their gangs, which go with them."""
        changed = set(self._changed)
        self._changed.clear()
        yield from changed
        for key in {self._group_of[uid] for uid in changed if uid in self._group_of}:
            yield from self._of_group[key]

    def moved(self, charged: Mapping[str, Iterable[str]]) -> list[str]:
        """Return, of the pods that each cluster queue is charged with, those whose queue spares them otherwise now."""
        former = self._spares
        self._spares = {name: queue.preemption.minimum_runtime for name, queue in self._queues.items()}
        others = (name for name in charged if former.get(name, 0) != self._spares.get(name, 0))
        return [uid for name in others for uid in charged[name]]

    def _belong(self, uid: str, pod: Pod | None) -> None:
        job = pod.owner.uid if pod is not None and pod.owner is not None and pod.owner.kind == "Job" else ""
        former = self._job_of.get(uid, "")
        if former and former != job:
            del self._job_of[uid], self._of_job[former][uid]
            if not self._of_job[former]:
                del self._of_job[former]
        if job and pod is not None:
            self._job_of[uid] = job
            self._of_job.setdefault(job, {})[uid] = pod.cluster_queue or ""

    def _stand_together(self, uid: str, pod: Pod | None) -> None:
        """Take in of which group an admitted pod is; who leaves one may have kept the others from being preempted."""
        key = None if pod is None or pod.group is None else pod.group.key
        former = self._group_of.get(uid)
        if former is not None:
            self._count(former, self._of_group[former][uid], -1)
        if former is not None and former != key:
            del self._group_of[uid]
            rest = self._of_group[former]
            gone = rest.pop(uid)
            if rest and _shields(gone, rest.values()):
                self._changed.add(next(iter(rest)))
            if not rest:
                del self._of_group[former]
        if key is not None and pod is not None:
            self._group_of[uid] = key
            self._of_group.setdefault(key, {})[uid] = pod
            self._count(key, pod, 1)
        self._held.pop(uid, None)
        self._of_several.pop(uid, None)
        if pod is not None and pod.also:
            self._count(uid, pod, 1)

    def _count(self, key: object, pod: Pod, number: int) -> None:
        """Note whether those who go together hold something of several flavors, as one of them comes, or goes."""
        held = self._held.setdefault(key, Counter())
        for flavor in (pod.flavor or "", *pod.also):
            held[flavor, pod.cluster_queue or ""] += number
        if number < 0:
            self._held[key] = held = +held
        if not held:
            del self._held[key]
        if len({flavor for flavor, _ in held}) > 1:
            self._of_several[key] = {queue for _, queue in held}
        else:
            self._of_several.pop(key, None)


def _shields(gone: Pod, rest: Collection[Pod]) -> bool:
    """Say whether a pod may have kept the rest of its gang from being preempted, or others before it, as none does."""
    if gone.is_terminating or gone.preemptions >= BORROWERS:
        return True  # as one that goes and does not end, or by rounds
    if all(one.admitted_at < gone.admitted_at for one in rest):
        return True  # a gang stands in the order where its latest member does
    alike = (gone.owner, gone.priority, gone.priority_class)
    return all((one.owner, one.priority, one.priority_class) != alike for one in rest)


def _returns(job: Job | None) -> tuple[object, ...] | None:
    """What of a Job `core.evictions.returns` goes by."""
    if job is None or job.ignores_disruption:
        return None if job is None else (True,)
    return job.is_limited_per_index, job.failed, job.backoff_limit
