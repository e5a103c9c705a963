"""What waits: workloads in order, why each class does, who preempts, and groups being put together."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace

from controller.cache.forecasts.foresight import Foresight
from controller.cache.in_flight.rejections import Rejections
from controller.cache.index.kept_index import KeptIndex
from controller.cache.parts import PART, in_parts
from controller.cache.queue.asked import Asked
from controller.cache.queue.gangs import Gangs
from controller.cache.queue.order_positions import OrderPositions
from controller.cache.queue.owned_shapes import OwnedShapes
from controller.cache.queue.preemption_rounds import PreemptionRounds, queues_moved
from controller.cache.queue.reasons import Reasons
from controller.cache.timers.fallbacks import Fallbacks
from controller.cache.timers.unschedulable import UnschedulableFlavors
from controller.core.kubernetes.owners import Job
from controller.core.queueing.effective import Variation, tells_users
from controller.core.queueing.queues import ClusterQueue, LocalQueue
from controller.core.quota.quota_tree import QuotaTree
from controller.core.reasons import Reason
from controller.core.workloads.backlog import Backlog
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import FlavorNode, Plan, Wait
from controller.core.workloads.gangs import Assembly, Group, QueuedPod, assemble, single
from controller.core.workloads.groups import GroupKey
from controller.core.workloads.native_groups import preempting_class_of
from controller.core.workloads.pods import Phase, Pod
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass


class Waiting:
    """The backlog, what is remembered about it, and what a workload's place and class rest on."""

    def __init__(
        self,
        pods: Mapping[str, Pod],
        jobs: Mapping[str, Job],
        sent: Container[str],
        queues: Mapping[str, ClusterQueue],
        local_queues: Mapping[QueueKey, LocalQueue],
        *,
        backfill_depth: int,
        keeps_places: float,
    ) -> None:
        """All are the cache's own, and only read. `sent` are pods that are admitted and do not show it yet.

        At most `backfill_depth` have a reservation. For `keeps_places` seconds a gang keeps those of members it lost.
        """
        self._pods = pods
        self._jobs = jobs
        self._queues, self._local_queues = queues, local_queues
        self._sent = sent
        self.backlog = Backlog()
        self.reasons = Reasons()
        self.asked = Asked(self.backlog)
        self.rounds = PreemptionRounds()
        self.kept_index = KeptIndex(self.backlog.runs, queues, local_queues)
        self.gangs = Gangs(jobs, keeps_places=keeps_places)
        self._preemptors: Mapping[str, int] | None = None
        self.held: Mapping[str, Counter[FlavorNode]] = {}  # where room was kept for them
        self._to_mark: deque[Iterator[Workload]] = deque()
        """Of large classes those of whom it has still to be noted that they may be told something else."""
        self._told_before: dict[str, float] = {}
        """Until the first plan: since when pods that wait say that others go for them, by their workloads."""
        self.positions = OrderPositions(jobs, queues, local_queues)
        self.unschedulable = UnschedulableFlavors(self.positions.moved_namespaces)
        self.rejections, self.owned = Rejections(), OwnedShapes()
        self.foresight = Foresight(pods, jobs, depth=backfill_depth, turned=self.positions.moved_namespaces.add)
        self.fallbacks = Fallbacks(queues, local_queues, self.backlog)

    def observe(self, uid: str, pod: Pod | None) -> bool:
        """Let a pod wait where its state says so, and no longer where it does not; say whether anything changes."""
        group = self.gangs.take_in(uid, pod)
        moved = group is not None
        if pod is None or not self._waits(pod):
            self.positions.leave(uid)
            self.fallbacks.timers.set(uid, None)
        if pod is not None:
            self.unschedulable.observe(pod)
        if pod is not None and group is None and self._waits(pod):
            moved = self.put(single(self._candidate(pod)))
        elif group is None or not self.gangs.waits_as(group, uid):
            moved = self.take_out(uid) or moved
        return moved or self.positions.has_moved

    def changed(self) -> None:
        """Take in that something changed that a decision may find something else by."""
        self.asked.changed()
        self.rounds.changed()

    def begin_anew(self) -> None:
        """Let decisions look at all that wait once more, and tell why they do."""
        self.asked.begin_anew()
        self.rounds.begin_anew()

    def job_changed(self, uid: str, former: Job | None, job: Job | None) -> Sequence[str]:
        """Take in a Job on which other places or ends rest now; return its waiting pods, which may have to move."""
        self.foresight.job_changed(uid)
        if former is not None and job is not None and former.priority_class != job.priority_class:
            self.begin_anew()  # of its pods that run others may be preempted now, or no longer
        return self.positions.of_job(uid)

    def observe_charge(
        self, uid: str, pod: Pod | None, former: Charge | None, charge: Charge | None, *, has_moved: bool
    ) -> None:
        """Take in what a pod is charged with; `has_moved`: a decision should see it."""
        if has_moved:
            self.rounds.moved(queues_moved(pod, self._local_queues, former, charge))
        self.foresight.observe(uid, pod, charge)

    def next_portion(self, now: float) -> float:
        """Return when it looks at more, epoch seconds: infinite where it did at all."""
        return min(self.asked.next_change(now), self.rounds.next_change(now))

    def advance(self, now: float) -> bool:
        """Let it be this time (epoch seconds); say whether that changes what a decision may do."""
        self.gangs.advance(now)
        self.foresight.advance(now)
        self.unschedulable.advance(now)
        return self.gangs.lost.advance(now)

    def next_change(self) -> float:
        """Return when a group is another one by time alone."""
        return min(one.next_change() for one in (self.gangs, self.gangs.lost, self.unschedulable))

    def catch_up(self, now: float) -> Iterator[None]:
        """Put the groups together that something happened to, and let those move who stand behind others; in parts,
        as this is gone through.
        """
        self._assemble(now)
        for queue in self.positions.take_moved():
            yield from in_parts(self.observe(uid, self._pods.get(uid)) for uid in self._uids(queue))
        self._assemble(now)

    def _uids(self, queue: QueueKey) -> Iterator[str]:
        """Yield the pods that wait in a LocalQueue, of which some may come to another class meanwhile."""
        for kind in self.backlog.classes(queue):
            for workload in list(self.backlog.runs.get(kind, ())):
                yield from workload.pods

    def _assemble(self, now: float) -> None:
        for key, uids in self.gangs.changed():
            pods = [self._pods[uid] for uid in uids]
            waiting = [self._candidate(pod) for pod in pods if self._waits(pod)]
            # those that go are replaced by others, and a gang of which all go begins anew
            admitted = [pod for pod in pods if (pod.is_admitted and not pod.is_terminating) or pod.uid in self._sent]
            succeeded = [pod for pod in pods if pod.has_succeeded]
            job = self._jobs.get(key.name) if key.is_job else None
            pod_group = self.gangs.pod_group(key)
            if pod_group is not None:
                name = preempting_class_of(pod_group, (*(one.pod for one in waiting), *admitted))
                waiting = [replace(one, hold=one.hold or self.positions.forbidden(one.pod, name)) for one in waiting]
            group = Group(key, waiting, admitted, succeeded, job, pod_group)
            self._put_group(key, assemble(group, now=now))

    def _waits(self, pod: Pod) -> bool:
        return pod.phase is Phase.QUEUED and pod.uid not in self._sent

    def _candidate(self, pod: Pod) -> QueuedPod:
        order, hold = self.positions.take(pod)
        hold = hold or self.rejections.hold_of(pod.uid)
        pod = self.owned.owned(self.unschedulable.applied(pod))
        runtime = self.foresight.runtime(pod, self.positions.run_time(pod))
        return QueuedPod(pod, order, hold, self.fallbacks.waited(pod), runtime)

    def serves(self, name: str, queue: ClusterQueue | None, variation: Variation) -> bool:
        """Take in what of a cluster queue decides which pods are of one class; say whether that is another one now."""
        is_by_user = self.owned.limits(name, users=tells_users(queue, variation))
        return self.foresight.serves(name, queue) or is_by_user

    @property
    def preemptors(self) -> Mapping[str, int]:
        """Return those of the last plan; before the first one those whose pods say so, in the order of that.

        So who began under another controller keeps what those leave who go for it.
        """
        if self._preemptors is not None:
            return self._preemptors
        return dict.fromkeys(sorted(self._told_before, key=self._told_before.__getitem__), 1)

    def look_on(self, now: float, tree: QuotaTree, queues_of: Callable[[str], Sequence[QueueKey]]) -> None:
        """Choose at whom the next decision looks; `now` in epoch seconds, `queues_of` by ClusterQueue."""
        self.asked.advance(now)

        def count(cluster_queue: str) -> int:
            return sum(map(self.backlog.count_classes, queues_of(cluster_queue)))

        self.rounds.advance(now, tree, self._queues, count, self._preempting_queues())

    def _preempting_queues(self) -> Iterator[str]:
        for workload in filter(None, map(self.backlog.get, self.preemptors)):
            local = self._local_queues.get(workload.kind.queue)
            if local is not None:
                yield local.cluster_queue

    def resume_preemptor(self, workload: Workload, preemptions: int) -> None:
        """Let a workload for whom others went be the first again: it was to come in, and has not."""
        self._preemptors = {workload.uid: preemptions, **self.preemptors}

    def _note_told(self, workload: Workload) -> None:
        found = (self._pods[uid].said for uid in workload.pods if uid in self._pods)
        times = [one.at for one in found if one is not None and one.has_begun]
        if times:
            self._told_before[workload.uid] = min(times)
        else:
            self._told_before.pop(workload.uid, None)

    def learn(self, plan: Plan, now: float) -> bool:
        """Remember who preempts and what is held for them, and why all that was looked at waits.

        Say whether a decision that follows may find something else by that.
        """
        admitted = {admit.workload.uid for admit in plan.admits}
        former = self.preemptors, self.held
        gone = self._gone_by(plan, admitted)
        self._told_before.clear()
        left = {*former[0], *self.held} - admitted - gone
        if plan.is_complete:
            self._preemptors, self.held = plan.preemptors, plan.held
        else:
            self._preemptors = {**{uid: n for uid, n in former[0].items() if uid in left}, **plan.preemptors}
            self.held = {**{uid: places for uid, places in self.held.items() if uid in left}, **plan.held}
        told = {kind: wait for kind, wait in plan.waits.items() if kind in self.backlog.runs}
        self.asked.told(told, is_complete=plan.is_complete)
        self.rounds.looked(is_complete=plan.is_complete)
        if plan.admits:
            self.rounds.changed()
        for kind, wait in told.items():
            self._tell(kind, wait)
        for workload in filter(None, map(self.backlog.get, sorted(former[0].keys() - self._preemptors.keys()))):
            if workload.kind not in told:
                self.asked.ask(workload.kind)  # it says that others go for it
        # of a gang some of whom went in, the rest may be the head of a class that the plan says waits
        for _ in self.catch_up(now):
            pass
        return (self._preemptors, self.held) != former

    def _tell(self, kind: WorkloadClass, wait: Wait) -> None:
        bookings = {self.reasons.of(kind).any_booking, wait.any_booking}
        if self.reasons.learn(kind, wait):
            self._mark_all(self.backlog.runs[kind])
        elif len(bookings) > 1:
            reserved = {one.uid for one in bookings if one is not None}
            for member in filter(None, map(self.backlog.get, sorted(reserved))):
                self.mark_due(member)

    def _gone_by(self, plan: Plan, admitted: Container[str]) -> set[str]:
        """Return who preempts no more; of those whom a decision came to that ended early."""
        found = {uid for uid in self.preemptors if uid not in plan.preemptors and uid not in admitted}
        return found if plan.is_complete else {uid for uid in found if self._has_given_up(uid, plan)}

    def _has_given_up(self, uid: str, plan: Plan) -> bool:
        workload = self.backlog.get(uid)
        wait = None if workload is None else plan.waits.get(workload.kind)
        return wait is not None and wait.reason is not Reason.PREEMPTING

    def put(self, workload: Workload) -> bool:
        """Let a workload wait, or wait as another one; say whether that changes anything."""
        former = self.backlog.get(workload.uid)
        kept = self.backlog.put(workload)
        if kept is None:
            return False
        self.mark_due(kept)
        if self._preemptors is None:
            self._note_told(kept)
        if len(self.backlog.runs[kept.kind]) == 1 and (former is None or former.kind != kept.kind):
            self.asked.ask(kept.kind)
            self.kept_index.class_came(kept.kind)
        self.kept_index.head_moved(kept.kind)
        if former is not None and former.kind != kept.kind:
            self._left(former.kind)
        return True

    def take_out(self, uid: str) -> bool:
        """Let a workload wait no longer; say whether it did."""
        self._told_before.pop(uid, None)
        workload = self.backlog.get(uid)
        if workload is None:
            return False
        self._give_up(workload)
        self.backlog.remove(uid)
        self._left(workload.kind)
        self.kept_index.head_moved(workload.kind)
        return True

    def _give_up(self, workload: Workload) -> None:
        """Let go at once what is kept for one that goes: else those that come later would find it, and take it."""
        if workload.uid in self.held and not any(uid in self._sent for uid in workload.pods):
            self.held = {uid: held for uid, held in self.held.items() if uid != workload.uid}
            self._preemptors = {uid: times for uid, times in self.preemptors.items() if uid != workload.uid}

    def _mark_all(self, run: Sequence[Workload]) -> None:
        """Note that of a class, unless it is large: then by and by."""
        if len(run) > PART:
            self._to_mark.append(iter(list(run)))
            return
        for member in run:
            self.mark_due(member)

    def mark_on(self) -> None:
        """Note it of the next of the large classes."""
        for _ in range(PART if self._to_mark else 0):
            member = next(self._to_mark[0], None)
            if member is not None and self.backlog.get(member.uid) is member:
                self.mark_due(member)
            if member is None:
                self._to_mark.popleft()
            if not self._to_mark:
                return

    def mark_due(self, workload: Workload) -> None:
        """Note that the conditions of its pods may differ from what they should say."""
        for uid in workload.pods:
            pod = self._pods.get(uid)
            if pod is not None:
                self.reasons.mark(uid, kind=workload.kind, created=pod.created, said=pod.said)

    def _put_group(self, key: GroupKey, made: Assembly) -> None:
        """Let a group wait as these workloads, and as no others any more."""
        uids = {workload.uid for workload in made.workloads}
        for uid in self.gangs.wait_as(key, uids, again_at=made.again_at):
            self.take_out(uid)
        for workload in made.workloads:
            self.put(workload)

    def _left(self, kind: WorkloadClass) -> None:
        if kind not in self.backlog.runs:
            self.asked.class_left(kind)
            self.kept_index.class_left(kind)
            self.reasons.forget([kind])
