"""Where each waiting pod stands in the order, as far as other objects say so, and who moves when those change.

A pod of a Job is as old as the Job: the Job's work came then, and a pod that is made again goes on with it. What other
owners make, such as ReplicaSets, goes by its own age: they have no end, and one of them that grows asks for more than
it did; by the owner's age it would pass everybody who came since, for as long as it lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from controller.cache.keyed import put_or_drop
from controller.cache.queue.allowed_classes import AllowedClasses
from controller.cache.queue.queue_top import QueueTops
from controller.cache.timers.timers import Timers
from controller.core.gate.run_time import run_time_left
from controller.core.kubernetes.owners import Job
from controller.core.queueing.allowed_classes import not_allowed
from controller.core.queueing.operator_actions import held, is_on_top
from controller.core.queueing.queues import ClusterQueue, LocalQueue
from controller.core.queueing.scheduler_preemption import forbidden
from controller.core.reasons import Reason
from controller.core.workloads.pods import Pod, foreign_gates, job_of, priority_class_of, queue_priority
from controller.core.workloads.workload import Hold, OrderKey, QueueKey, order_key

_Source = tuple[str, str]
"""(kind of object, its name or uid): what a pod's place rests on beside the pod itself."""


def bearing(job: Job | None) -> tuple[object, ...] | None:
    """Return what of a Job the places and ends of its pods rest on; None for a Job that is not known."""
    if job is None:
        return None
    by_people = job.held, job.is_on_top, job.priority_class
    return job.created, *by_people, job.deadline, job.started if job.deadline else 0.0


class OrderPositions:
    """`classes` are the values of the WorkloadPriorityClasses by name, and `run_times` the seconds that some allow;
    `timers` tell whose priority grows when.

    `moved` are the local queues whose waiting pods all have to take their places anew before the next decision, and
    `moved_namespaces` those of which all queues do: their pods may be of other classes.
    """

    def __init__(
        self,
        jobs: Mapping[str, Job],
        queues: Mapping[str, ClusterQueue],
        local_queues: Mapping[QueueKey, LocalQueue],
    ) -> None:
        """All three, Jobs by uid, are the cache's own, and read as they are at the time."""
        self._jobs = jobs
        self._queues = queues
        self._local_queues = local_queues
        self.timers = Timers()
        self.classes: dict[str, int] = {}
        self.run_times: dict[str, int] = {}
        self.moved: set[QueueKey] = set()
        self.moved_namespaces: set[str] = set()
        self._tops = QueueTops(self.moved)
        self._allowed = AllowedClasses()
        self._sources: dict[str, tuple[_Source, ...]] = {}
        self._resting: dict[_Source, dict[str, None]] = {}

    def take(self, pod: Pod) -> tuple[OrderKey, Hold | None]:
        """Return a waiting pod's place, and what keeps it from having one; remember on what that rests."""
        job, queue = job_of(pod, self._jobs), (pod.namespace, pod.queue or "")
        self._rest(pod.uid, tuple(_sources(pod, job)))
        priority = queue_priority(pod, job, self.classes)
        key = order_key(
            priority=priority + self._grown(pod, queue),
            since=pod.created if job is None else job.created,
            index=pod.completion_index,
            created=pod.created,
            name=pod.key,
            uid=pod.uid,
        )
        line = (queue, priority)
        hold = held(pod, job) or pod.hold or self._fault(pod, job, queue) or foreign_gates(pod)
        if hold is None and is_on_top(pod, job):
            return self._tops.put(pod.uid, line, key), None
        self._tops.drop(pod.uid)
        return self._tops.place(line, key), hold

    def leave(self, uid: str) -> None:
        """Forget a pod that waits no longer."""
        self._rest(uid, ())
        self.timers.set(uid, None)
        self._tops.drop(uid)

    @property
    def has_moved(self) -> bool:
        """Whether any have to."""
        return bool(self.moved or self.moved_namespaces)

    def take_moved(self) -> tuple[QueueKey, ...]:
        """Return these queues, and begin anew."""
        if self.moved_namespaces:  # together, since it goes over all queues
            self.moved.update([queue for queue in self._local_queues if queue[0] in self.moved_namespaces])
            self.moved_namespaces.clear()
        moved = tuple(self.moved)
        self.moved.clear()
        return moved

    def set_class(self, name: str, value: int | None, run_time: int = 0) -> Sequence[str]:
        """Take in a WorkloadPriorityClass, or forget it (None); return the waiting pods that this moves."""
        if (self.classes.get(name), self.run_times.get(name, 0)) == (value, run_time):
            return ()
        put_or_drop(self.run_times, name, run_time or None)
        if value is None:
            del self.classes[name]
        else:
            self.classes[name] = value
        return tuple(self._resting.get((_CLASS, name), ()))

    def queue_changed(self, name: str, queue: ClusterQueue | None, doors: Iterable[QueueKey]) -> None:
        """Let the pods of a cluster queue, which these local queues lead to, take their places anew.

        So do all, where the queue is another one to those below it.
        """
        self.moved.update(self._local_queues if self._allowed.put(name, queue) else doors)

    def run_time(self, pod: Pod) -> int:
        """Return for how many seconds a waiting pod or Job may run once it is admitted; 0: nobody limits it.

        Objects of other kinds have no field by which Kubernetes would end them.
        """
        if pod.held_set is not None:
            return 0
        local = self._local_queues.get((pod.namespace, pod.queue or ""))
        queue = None if local is None else self._queues.get(local.cluster_queue)
        by_class = self.run_times.get(priority_class_of(pod, job_of(pod, self._jobs)) or "", 0)
        return run_time_left((0 if queue is None else queue.run_time, by_class, pod.run_time), pod.run_time_used)

    def of_job(self, uid: str) -> Sequence[str]:
        """Return the waiting pods that name this Job as their owner."""
        return tuple(self._resting.get((_JOB, uid), ()))

    def count(self, name: str) -> int:
        """Return how many pods wait that go by this WorkloadPriorityClass."""
        return len(self._resting.get((_CLASS, name), ()))

    def forbidden(self, pod: Pod, preempting_class: str) -> Hold | None:
        """Hold a pod for whose group kube-scheduler may preempt by this PriorityClass, where its queue forbids that."""
        local = self._local_queues.get((pod.namespace, pod.queue or ""))
        if local is None:
            return None
        return forbidden(preempting_class, local.cluster_queue, self._queues, of="the PodGroup")

    def _grown(self, pod: Pod, queue: QueueKey) -> int:
        """Return what the pod's priority has gained by now, and wake when it gains more."""
        local = self._local_queues.get(queue)
        leads_to = self._queues.get(local.cluster_queue) if local is not None else None
        ageing = leads_to.ageing if leads_to is not None else None
        now = self.timers.now
        self.timers.set(pod.uid, None if ageing is None else ageing.next_step(pod.created, now))
        return 0 if ageing is None else ageing.grown(now - pod.created)

    def _fault(self, pod: Pod, job: Job | None, queue: QueueKey) -> Hold | None:
        named = priority_class_of(pod, job)
        whose = "the pod" if job is None or job.priority_class is None else "its Job"
        if named is not None and named not in self.classes:
            text = f"WorkloadPriorityClass {named} does not exist: create it, or correct {whose}'s label"
            return Hold(Reason.PRIORITY_CLASS_NOT_FOUND, text)
        local = self._local_queues.get(queue)
        if local is None:
            return None
        hold = None if named is None else not_allowed(named, whose, local.cluster_queue, self._queues)
        return hold or forbidden(pod.preempting_class, local.cluster_queue, self._queues)

    def _rest(self, uid: str, sources: tuple[_Source, ...]) -> None:
        former = self._sources.get(uid, ())
        if former == sources:
            return
        for source in former:
            resting = self._resting[source]
            del resting[uid]
            if not resting:
                del self._resting[source]
        for source in sources:
            self._resting.setdefault(source, {})[uid] = None
        if sources:
            self._sources[uid] = sources
        else:
            del self._sources[uid]


_CLASS, _JOB = "WorkloadPriorityClass", "Job"


def _sources(pod: Pod, job: Job | None) -> Iterator[_Source]:
    named = priority_class_of(pod, job)
    if named is not None:
        yield _CLASS, named
    if pod.owner is not None and pod.owner.kind == "Job":
        yield _JOB, pod.owner.uid
