"""Jobs that were admitted as a whole: which of their pods are seen, and where room was planned for the others.

The planned nodes are kept in memory alone: after a restart such a Job holds quota for the pods that are still to come,
and no room. The rules are `core.workloads.admitted_jobs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from controller.cache.keyed import put_or_drop
from controller.cache.usage.charging import is_unstamped
from controller.core.kubernetes.amounts import times
from controller.core.workloads.admitted_jobs import PlannedNodes, SeenPods, planned_rooms, unseen
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import Admit
from controller.core.workloads.elastic_jobs import may_still_grow, more_of, uid_of_more
from controller.core.workloads.pods import Phase, Pod

_JobKey = tuple[str, str]
"""(namespace, uid of a Job): no pod is of a Job of another namespace, whatever it says."""
_NONE: Final = SeenPods()


class AdmittedJobs:
    """Follows the pods of Jobs, and says what the Jobs themselves are charged with.

    Of an admitted Job that is to get more pods it keeps the record of these among the cache's pods.
    """

    def __init__(self, pods: dict[str, Pod], assumed: dict[str, Admit]) -> None:
        """Both are the cache's own, by uid."""
        self._pods, self._assumed = pods, assumed
        self._planned: dict[str, PlannedNodes] = {}
        self._of: dict[str, tuple[_JobKey, str | None]] = {}
        """Of each pod that lives: its Job, and its node."""
        self._seen: dict[_JobKey, SeenPods] = {}
        self._widths: dict[str, int] = {}
        """Of each admitted Job how many pods it is to keep alive."""

    def plan(self, admit: Admit) -> None:
        """Take in where room was found for a Job that is being admitted."""
        if admit.nodes:
            self._planned[admit.uid] = admit.nodes

    def observe(self, uid: str, pod: Pod | None) -> str | None:
        """Take in a pod as it is now (None: it is gone).

        Return its Job where that is charged otherwise by this; of a Job what waits of it, where that is another.
        """
        if pod is None or (pod.is_job and pod.phase is Phase.OTHER):
            self._planned.pop(uid, None)
            self._widths.pop(uid, None)
        if pod is not None and pod.of:
            whole = self._pods.get(pod.of)
            return None if whole is None else self._follow(pod.of, whole)
        if pod is not None and pod.is_job:
            return self._follow(uid, pod)
        if pod is None and uid_of_more(uid) in self._pods:
            return self._follow(uid, None)
        former, now = self._of.get(uid), _whose(pod)
        if former == now:
            return None
        if former is not None:
            del self._of[uid]
            self._count(*former, -1)
        if now is not None:
            self._of[uid] = now
            self._count(*now, 1)
        (_, job), _ = now or former or (("", ""), None)
        return job

    def admitted(self) -> frozenset[str]:
        """Return the uids of the Jobs that are admitted."""
        return frozenset(self._widths)

    def has_pods(self, namespace: str, uid: str) -> bool:
        """Whether any pod of it lives that was seen."""
        return (namespace, uid) in self._seen

    def _follow(self, uid: str, job: Pod | None) -> str | None:
        """Keep the record of the pods that a Job is to get in addition; return its uid where it is another now."""
        uid = uid_of_more(uid)
        known = self._pods.get(uid)
        if known is not None and known.phase is not Phase.QUEUED:
            return None  # in a simulation these run by themselves
        if known is not None and job is not None and uid in self._assumed and may_still_grow(known, job):
            return None  # whatever is wanted by now
        more = None if job is None else more_of(job)
        if more == known:
            return None
        self._assumed.pop(uid, None)  # from here on the Job itself is charged for them, or nothing is
        put_or_drop(self._pods, uid, more)
        return uid

    def _count(self, job: _JobKey, node: str | None, number: int) -> None:
        seen = self._seen.pop(job, _NONE)
        on_nodes = Counter(seen.on_nodes or {})
        if node is not None:
            on_nodes[node] += number
        if seen.count + number:
            self._seen[job] = SeenPods(seen.count + number, +on_nodes)

    def _plan_of(self, job: Pod) -> PlannedNodes:
        """Return where room was found for an admitted Job, with that for the pods that it got in addition."""
        if job.count > self._widths.get(job.uid, job.count):
            more = self._planned.pop(uid_of_more(job.uid), ())
            self._planned[job.uid] = (*self._planned.get(job.uid, ()), *more)
        self._widths[job.uid] = job.count
        return self._planned.get(job.uid, ())

    def charge(self, job: Pod, admit: Admit | None, payer: Callable[[Pod], tuple[str, str]]) -> Charge | None:
        """Return what a Job is charged with beside its pods, None for nothing.

        `admit`: sent and not yet seen back; `payer`: who pays for one that is not stamped.
        """
        one, queue = job.shape.requests, (job.namespace, job.queue or "")
        if admit is not None and not job.is_admitted and not job.is_finished:
            count = admit.count
            rooms = planned_rooms(one, count, admit.nodes, _NONE)
            sent_to = admit.cluster_queue, admit.flavor, queue, Phase.RESERVED, job.user, admit.also
            return Charge(times(one, count), None, *sent_to, count=count, rooms=rooms)
        if not job.is_admitted:
            return None
        is_stamped = not is_unstamped(job)
        payer_of = (job.cluster_queue or "", job.flavor or "") if is_stamped else payer(job)
        seen = self._seen.get((job.namespace, job.uid), _NONE)
        count, planned = unseen(job.count, seen), self._plan_of(job)
        rooms = planned_rooms(one, job.count, planned, seen)
        if not payer_of[0] or not (count or rooms):
            return None
        whose = *payer_of, queue, Phase.RESERVED, job.user, job.also, is_stamped
        return Charge(times(one, count), None, *whose, count=count, rooms=rooms)


def _whose(pod: Pod | None) -> tuple[_JobKey, str | None] | None:
    """Return whose a pod is that stands for one of those of its Job, and on which node."""
    if pod is None or not pod.is_of_admitted_job:
        return None
    if not pod.is_admitted or pod.is_terminating:
        return None
    return (pod.namespace, pod.admitted_with), pod.node
