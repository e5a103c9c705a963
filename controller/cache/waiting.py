"""What waits: workloads in order, why each class does, what is known to be blocked, and groups being put together."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from controller.cache.blocked import Blocked
from controller.cache.fallbacks import Fallbacks
from controller.cache.foresight import Foresight
from controller.cache.gangs import Gangs
from controller.cache.let_go import LetGo, Reservation
from controller.cache.owned_shapes import OwnedShapes
from controller.cache.parts import PART, in_parts
from controller.cache.places import Places
from controller.cache.reasons import Reasons
from controller.cache.rejections import Rejections
from controller.cache.unschedulable import UnschedulableFlavors
from controller.core.kubernetes.owners import Job
from controller.core.queueing.effective import Variation, tells_users
from controller.core.queueing.queues import ClusterQueue, LocalQueue
from controller.core.quota.used_up import NOTHING_USED_UP, UsedUpBudgets
from controller.core.reasons import Reason
from controller.core.workloads.backlog import Backlog
from controller.core.workloads.decisions import EvictionCause, Place, Plan
from controller.core.workloads.gangs import Assembly, Candidate, Group, assemble, single
from controller.core.workloads.groups import GroupKey
from controller.core.workloads.pods import Phase, Pod
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass
from controller.core.world.pending import MOST_OF_A_QUEUE

_LOOK_ON_SECONDS: Final = 0.005
"""So long after some of all classes were looked at anew the next of them are: others are not to wait for all."""


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
        self._sent = sent
        self.backlog = Backlog()
        self.reasons = Reasons()
        self.blocked = Blocked(queues, local_queues)
        self.gangs = Gangs(jobs, keeps_places=keeps_places)
        self._used_up = NOTHING_USED_UP
        self._preemptors: Mapping[str, int] | None = None
        self.held: Mapping[str, Counter[Place]] = {}  # where room was kept for them
        self._holds: tuple[object, Collection[tuple[str, str]]] | None = None  # what `holds` says, and of what
        self._booked: Mapping[str, Reservation] = {}  # by workload what it had in the last plan
        self._rebooked_in_a_row = 0
        self._gone = LetGo()  # what was kept for those that wait no longer, though nobody admitted them
        self._to_mark: deque[Iterator[Workload]] = deque()
        """Of large classes those of whom it has still to be noted that they may be told something else."""
        self._over: Iterator[WorkloadClass] | None = None
        """Where all are looked at anew: those that have not been yet."""
        self._told_before: dict[str, float] = {}
        """Until the first plan: since when pods that wait say that others go for them, by their workloads."""
        self.places = Places(jobs, queues, local_queues)
        self.unschedulable = UnschedulableFlavors(self.places.moved_namespaces)
        self.rejections, self.owned = Rejections(), OwnedShapes()
        self.foresight = Foresight(pods, jobs, depth=backfill_depth, turned=self.places.moved_namespaces.add)
        self.fallbacks = Fallbacks(queues, local_queues, self.backlog)

    def see(self, uid: str, pod: Pod | None) -> bool:
        """Let a pod wait where its state says so, and no longer where it does not; say whether anything changes."""
        group = self.gangs.take_in(uid, pod)
        moved = group is not None
        if pod is None or not self._waits(pod):
            self.places.leave(uid)
            self.fallbacks.timers.set(uid, None)
        if pod is not None:
            self.unschedulable.see(pod)
        if pod is not None and group is None and self._waits(pod):
            moved = self.put(single(self._candidate(pod)))
        elif group is None or not self.gangs.waits_as(group, uid):
            moved = self.take_out(uid) or moved
        return moved or self.places.has_moved

    def pass_to(self, now: float) -> None:
        """Let it be this time (epoch seconds)."""
        self.gangs.pass_to(now)
        self.foresight.pass_to(now)
        self.unschedulable.pass_to(now)
        if self.gangs.lost.pass_to(now):
            self.open_all()

    def next_change(self, now: float) -> float:
        """Return when a group is another one by time alone, or the next of all are to be looked at anew."""
        changes = min(one.next_change() for one in (self.gangs, self.gangs.lost, self.unschedulable))
        return changes if self._over is None else now + _LOOK_ON_SECONDS

    def catch_up(self, now: float, used_up: UsedUpBudgets) -> Iterator[None]:
        """Put the groups together that something happened to, let those move who stand behind others, and open whom
        that was put off for; in parts, as this is gone through.

        Where other budgets are used up than before, other doors are closed, or other lines go behind.
        """
        if used_up is not self._used_up:
            self._used_up = used_up
            self.open_all()
        yield from self._settle(now)
        yield from self.open_marked()
        while self.blocked.pending.line_up(self.backlog.runs, PART):
            yield

    def _settle(self, now: float) -> Iterator[None]:
        self._assemble(now)
        for queue in self.places.take_moved():
            yield from in_parts(self.see(uid, self._pods.get(uid)) for uid in self._uids(queue))
        self._assemble(now)

    def _uids(self, queue: QueueKey) -> Iterator[str]:
        """Yield the pods that wait in a LocalQueue, of which some may come to another class meanwhile."""
        for kind in self.backlog.classes(queue):
            for workload in list(self.backlog.runs.get(kind, ())):
                yield from workload.pods

    def open_marked(self) -> Iterator[None]:
        """Open the classes of the LocalQueues for which that was put off, in parts, as this is gone through."""
        while self.blocked.to_open:
            queue = next(iter(self.blocked.to_open))
            del self.blocked.to_open[queue]
            kinds = ([kind] for kind in self.backlog.classes(queue) if kind in self.backlog.runs)
            yield from in_parts(map(self.blocked.open, kinds))

    def look_over(self) -> None:
        """Let all classes be looked at anew by and by, unless that goes on already."""
        if self._over is None:
            self._over = iter(list(self.backlog.runs))

    def look_on(self) -> None:
        """Open the next of all classes, once those are looked at that were opened before."""
        if self._over is None or self.blocked.pending.has_fresh:
            return
        opened = list(islice(self._over, MOST_OF_A_QUEUE))
        self.blocked.open([kind for kind in opened if kind in self.backlog.runs])
        if not opened:
            self._over = None

    def _assemble(self, now: float) -> None:
        for key, uids in self.gangs.changed():
            pods = [self._pods[uid] for uid in uids]
            waiting = [self._candidate(pod) for pod in pods if self._waits(pod)]
            # those that go are replaced by others, and a gang of which all go begins anew
            admitted = [pod for pod in pods if (pod.is_admitted and not pod.is_terminating) or pod.uid in self._sent]
            succeeded = [pod for pod in pods if pod.has_succeeded]
            job = self._jobs.get(key.name) if key.is_job else None
            group = Group(key, waiting, admitted, succeeded, job, self.gangs.pod_group(key))
            self._put_group(key, assemble(group, now=now))

    def _waits(self, pod: Pod) -> bool:
        return pod.phase is Phase.QUEUED and pod.uid not in self._sent

    def _candidate(self, pod: Pod) -> Candidate:
        order, hold = self.places.take(pod)
        hold = hold or self.rejections.hold_of(pod.uid)
        pod = self.owned.owned(self.unschedulable.applied(pod))
        return Candidate(pod, order, hold, self.fallbacks.waited(pod), self.foresight.runtime(pod))

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

    def holds(self) -> Collection[tuple[str, str]]:
        """Return the cluster queue and the flavor of all that is held for preemptors."""
        if self._holds is None or self._holds[0] is not self.held:
            self._holds = self.held, self._flavors_of(self.held)
        return self._holds[1]

    def go_on(self, workload: Workload, preemptions: int) -> None:
        """Let a workload for whom others went be the first again: it was to come in, and has not."""
        self._preemptors = {workload.uid: preemptions, **self.preemptors}

    def _note_told(self, workload: Workload) -> None:
        found = (self._pods[uid].said for uid in workload.pods if uid in self._pods)
        times = [one.at for one in found if one is not None and one.has_begun]
        if times:
            self._told_before[workload.uid] = min(times)
        else:
            self._told_before.pop(workload.uid, None)

    def learn(self, plan: Plan, now: float) -> LetGo:
        """Remember who preempts, what a plan found blocked, and why all that was looked at waits.

        Say what of that is free now that a preemptor held, since it preempts no more or has a place elsewhere.
        """
        admitted = {admit.workload.uid: admit.cluster_queue for admit in plan.admits}
        gone, former = self._gone_by(plan, admitted), self.preemptors
        let_go = self._let_go(plan, admitted, gone)
        let_go.rebooked = self._rebook(plan, now)
        self._rebooked_in_a_row = self._rebooked_in_a_row + 1 if let_go.rebooked else 0
        let_go.rebooked_in_a_row = self._rebooked_in_a_row
        self._told_before.clear()
        going_on = {uid: times for uid, times in former.items() if uid not in admitted and uid not in gone}
        self._preemptors = plan.preemptors if plan.is_complete else {**going_on, **plan.preemptors}
        for kind, wait in plan.waits.items():
            if kind not in self.backlog.runs:
                continue
            self.blocked.learn(kind, wait, self.backlog.runs[kind][0].order, plan.beside.get(kind))
            bookings = {self.reasons.of(kind).any_booking, wait.any_booking}
            if self.reasons.learn(kind, wait):
                self._mark_all(self.backlog.runs[kind])
            elif len(bookings) > 1:
                reserved = {one.uid for one in bookings if one is not None}
                for member in filter(None, map(self.backlog.get, sorted(reserved))):
                    self.mark_due(member)
        self.blocked.freed.update(let_go.nodes)
        for kind, beside in plan.beside.items():
            self.blocked.bind(kind, beside.workloads)
        if let_go.is_unknown:
            self.open_all()
        # of a gang some of whom went in, the rest may be the head of a class that the plan says waits
        for _ in self._settle(now):
            pass
        return let_go

    def _rebook(self, plan: Plan, now: float) -> Mapping[str, Collection[str]]:
        """Take in who has a reservation; return those whose former one gave way, with the nodes that it was of.

        One that moves on as time passes waits for a pod that runs longer than expected.
        """
        bookings = (wait.any_booking for wait in plan.waits.values())
        found = ((one, self.backlog.get(one.uid)) for one in bookings if one is not None)
        booked = {one.uid: Reservation(one.at - now, it.order, one.places) for one, it in found if it is not None}
        former, self._booked = self._booked, booked if plan.is_complete else {**self._booked, **booked}
        gave_way = {uid: one for uid, one in former.items() if one.gave_way(self._booked.get(uid))}
        return {uid: {node for _, node in one.places if node is not None} for uid, one in gave_way.items()}

    def _gone_by(self, plan: Plan, admitted: Container[str]) -> set[str]:
        """Return who preempts no more; of those whom a decision came to that ended early."""
        found = {uid for uid in self.preemptors if uid not in plan.preemptors and uid not in admitted}
        return found if plan.is_complete else {uid for uid in found if self._has_given_up(uid, plan)}

    def _has_given_up(self, uid: str, plan: Plan) -> bool:
        workload = self.backlog.get(uid)
        wait = None if workload is None else plan.waits.get(workload.kind)
        return wait is not None and wait.reason is not Reason.PREEMPTING

    def _let_go(self, plan: Plan, admitted: Mapping[str, str], gone: Collection[str]) -> LetGo:
        """Take in what is held now; say what is no more. `admitted` go in now, with their cluster queues."""
        now = {uid: Counter(places) for uid, places in plan.held.items()}
        for admit in plan.admits:
            if admit.workload.uid in self.held:
                now.setdefault(admit.workload.uid, Counter()).update(admit.places)
        found = LetGo()
        for uid in {*gone, *(self.held.keys() & now.keys())}:
            former, kept = self.held.get(uid, Counter()), now.get(uid, Counter())
            found.nodes.update(node for _, node in former - kept if node is not None)
            if uid in gone or _by_flavor(former) - _by_flavor(kept):
                found.add(admitted.get(uid) or self._queue_of(uid), former)
        # who waits for victims by now, though in the same place as before, is not compared with them anew any more
        has_victims = {uid for uid, times in plan.preemptors.items() if times and not self.preemptors.get(uid)}
        moved = [uid for uid, places in plan.held.items() if places != self.held.get(uid) or uid in has_victims]
        found.begun = self._flavors_of({uid: plan.held[uid] for uid in moved})
        found.claimed = {(self._queue_of(uid), node) for uid in moved for _, node in plan.held[uid]}
        for pod in (evict.pod for evict in plan.evicts if evict.cause is EvictionCause.PREEMPTED):
            queue = pod.cluster_queue or ""
            found.claimed.add((queue, pod.node or pod.pinned))
            found.begun.update((queue, flavor) for flavor in (pod.flavor or "", *pod.also))
        held = {**self.held, **now}
        going_on = {uid: places for uid, places in held.items() if uid not in admitted and uid not in gone}
        self.held = plan.held if plan.is_complete else going_on
        return found

    def _flavors_of(self, held: Mapping[str, Counter[Place]]) -> set[tuple[str, str]]:
        """Return the cluster queue and the flavor of what is held for these workloads."""
        return {(self._queue_of(uid), flavor) for uid, places in held.items() for flavor, _ in places}

    def _queue_of(self, uid: str) -> str:
        workload = self.backlog.get(uid)
        queue = None if workload is None else self.blocked.queue_of(workload.kind)
        return "" if queue is None else queue.name

    def open_all(self) -> None:
        """Let every class be looked at anew."""
        self.blocked.to_open.update(dict.fromkeys(self.backlog.queues()))

    def put(self, workload: Workload) -> bool:
        """Let a workload wait, or wait as another one; say whether that changes anything."""
        former = self.backlog.get(workload.uid)
        kept = self.backlog.put(workload)
        if kept is None:
            return False
        self.mark_due(kept)
        if self._preemptors is None:
            self._note_told(kept)
        if kept.uid in self._told_before:
            self.blocked.pending.stand(kept.kind)
        self.blocked.head_moved(kept.kind)
        if self.backlog.runs[kept.kind][0] is kept:
            self.blocked.open([kept.kind])  # who goes first may preempt whom the others of its class may not
        if former is not None and former.kind != kept.kind:
            self._left(former.kind)
        return True

    def take_out(self, uid: str) -> bool:
        """Let a workload wait no longer; say whether it did."""
        self._told_before.pop(uid, None)
        workload = self.backlog.get(uid)
        if workload is None:
            return False
        kind = workload.kind
        is_head = self.backlog.runs[kind][0] is workload
        self._give_up(workload)
        self.backlog.remove(uid)
        self._left(kind)
        self.blocked.head_moved(kind)
        if is_head and kind in self.backlog.runs:
            self.blocked.head_left(kind)
        return True

    def take_let_go(self) -> LetGo:
        """Return what preemptors held that are gone since this was asked last."""
        gone, self._gone = self._gone, LetGo()
        self.blocked.freed.update(gone.nodes)
        if gone.is_unknown:
            self.open_all()
        return gone

    def _give_up(self, workload: Workload) -> None:
        """Let go at once what is kept for one that goes: else those that come later would find it, and take it."""
        if workload.uid in self.held and not any(uid in self._sent for uid in workload.pods):
            places = self.held[workload.uid]
            self.held = {uid: held for uid, held in self.held.items() if uid != workload.uid}
            self._preemptors = {uid: times for uid, times in self.preemptors.items() if uid != workload.uid}
            self._gone.nodes.update(node for _, node in places if node is not None)
            self._gone.add(self._queue_of(workload.uid), places)

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
            self.blocked.forget(kind)
            self.reasons.forget([kind])


def _by_flavor(places: Counter[Place]) -> Counter[str]:
    return Counter(flavor for flavor, _ in places.elements())
