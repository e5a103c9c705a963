"""The cache: every object as last seen, and the sums, order and marks that are kept up as they change.

Level, not edge: an event changes what is known and marks what it may have opened; the next decision reads the state.
A decision that was sent and not yet seen back is assumed: its workload is charged, and waits no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from controller.cache.budgets.budget_book import BudgetBook, BudgetInputs
from controller.cache.in_flight.doubts import Doubts
from controller.cache.in_flight.evictions import Evictions
from controller.cache.index.kept_index import IndexInputs
from controller.cache.keyed import put_or_drop
from controller.cache.lists import Lists
from controller.cache.parts import in_parts
from controller.cache.policies.policy_book import PolicyBook
from controller.cache.queue.in_effect import QueuesInEffect
from controller.cache.queue.local_queue_index import LocalQueueIndex
from controller.cache.queue.order_positions import bearing
from controller.cache.queue.waiting import Waiting
from controller.cache.resource_book import ResourceBook
from controller.cache.snapshots import snapshot_of
from controller.cache.timers.clocks import Clocks
from controller.cache.usage.admitted_jobs import AdmittedJobs
from controller.cache.usage.charging import charge_for, likely_payer, rests_on_nodes
from controller.cache.usage.landing import landed, still_landed
from controller.cache.usage.usage import Usage
from controller.cache.workload_kinds import WorkloadKindBook
from controller.core.capacity.node_index import NodeIndex
from controller.core.capacity.room import Room
from controller.core.feasibility.feasible import FeasibilityIndex
from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.owners import Job
from controller.core.queueing.effective import FIXED, Variation, live_capacity
from controller.core.queueing.queues import ClusterQueue, Flavor, LocalQueue
from controller.core.quota.quota_tree import QuotaTree
from controller.core.snapshot import Snapshot
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import Admit, Plan
from controller.core.workloads.groups import GroupKey, PodGroup
from controller.core.workloads.kept_places import KEPT
from controller.core.workloads.pods import Phase, Pod, is_older
from controller.core.workloads.workload import QueueKey


class ClusterCache:
    """All that the controller knows. `on_change` is called after every change that a decision should see.

    At most `backfill_depth` workloads have a reservation; gangs keep places `kept` seconds. Set `resources` first.
    """

    def __init__(self, on_change: Callable[[], None], *, backfill_depth: int = USUAL_DEPTH, kept: int = KEPT) -> None:
        self._wake, self.now, self.resources = on_change, 0.0, ResourceBook()
        self.lists = Lists(self._on_change)
        self.pods: dict[str, Pod] = {}
        self.jobs: dict[str, Job] = {}
        self.stopped_jobs: dict[str, Pod] = {}  # whose templates are to be put back
        self.nodes: dict[str, Node] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.flavors: dict[str, Flavor] = {}
        self.queues, self.budgets = QueuesInEffect(), BudgetBook()
        self._doors = LocalQueueIndex()
        self.local_queues = self._doors.all
        self.faulty_queues: dict[str, str] = {}
        self._assumed: dict[str, Admit] = {}
        known = self.pods, self.jobs, self._assumed, self.queues.current, self.local_queues
        self._waiting = waiting = Waiting(*known, backfill_depth=backfill_depth, keeps_places=kept)
        self.positions = self._waiting.positions
        self.clocks = Clocks(waiting.fallbacks, waiting.positions.timers, self.queues.current, self.flavors, self.nodes)
        self.backlog, self.reasons, self.gangs = waiting.backlog, waiting.reasons, waiting.gangs
        self.usage, self.policies, self.doubts = Usage(), PolicyBook(), Doubts()
        learns = self.gangs.lost.returned, waiting.unschedulable.learn, waiting.changed
        self.evictions = Evictions(self.clocks.evictions, *learns)
        self.admitted_jobs, self.workload_kinds = AdmittedJobs(self.pods, self._assumed), WorkloadKindBook()
        self._unstamped: set[str] = set()
        self._unstamped_moved = False
        self._index: NodeIndex | None = None
        self._tree: QuotaTree | None = None
        self._room: Room | None = None

    def _on_change(self) -> None:
        """Let what happened be seen by the next decision, and wake whoever makes it."""
        self._waiting.changed()
        self._wake()

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def index(self) -> NodeIndex:
        """Nodes by flavor, worked out anew after a node or flavor changed."""
        if self._index is None:
            self._index = NodeIndex(dict(self.nodes), dict(self.flavors), self.queues.orders)
        return self._index

    @property
    def cluster_queues(self) -> Mapping[str, ClusterQueue]:
        """Cluster queues as they are in effect now, worked out anew after what they rest on changed."""
        if self.queues.is_stale:
            changed = self.queues.work_out(
                lambda one, at: live_capacity(self.flavors.get(one), self.index.nodes_of(one), at)
            )
            if changed:
                self._tree = None
                self._waiting.changed()
        return self.queues.current

    @property
    def tree(self) -> QuotaTree:
        """The quota tree, with what is used in it counted anew after a cluster queue changed."""
        queues = self.cluster_queues
        if self._tree is None:
            self._tree = QuotaTree(dict(queues), dict(self.faulty_queues), self.resources.rules)
            self.usage.plant(self._tree)
        return self._tree

    @property
    def room(self) -> Room:
        """What the nodes of the index have free; pods that came and went since are put in their place here."""
        if self._room is None or self._room.nodes is not self.index:
            self._room = Room(self.index, self.usage.by_node)
        else:
            for node in self.usage.moved_nodes:
                self._room.update(node, self.usage.by_node.get(node, {}))
            self._waiting.kept_index.nodes_moved(self.usage.moved_nodes)
        self.usage.moved_nodes.clear()
        return self._room

    def advance(self, now: float) -> float:
        """Let it be this time, for what changes by itself; return when that is next, both in seconds since 1970."""
        for _ in self.catch_up(now):
            pass
        return self.next_change()

    def next_change(self) -> float:
        """Return when time changes something next, in seconds since 1970."""
        next_changes = self.queues.next_change, self.budgets.next_change, self.clocks.next_change()
        return min(*next_changes, self._waiting.next_change())

    def catch_up(self, now: float) -> Iterator[None]:
        """Let it be this time, and do what was put off until somebody looks; in parts, as this is gone through."""
        self.now = now
        self.queues.advance(int(now))
        _ = self.cluster_queues  # whose pods' times rest on them
        used_up, due = self.budgets.used_up, self.clocks.advance(now, self.pods, on_flavor=self.reopen_all)
        yield from in_parts(map(self._refresh_due, due))
        world = BudgetInputs(self.cluster_queues, self.tree, self.flavors)
        self.budgets.advance(int(now), world, ((u, pod, self.usage.charge_of(u)) for u, pod in self.pods.items()))
        if self._waiting.advance(now) or self.budgets.used_up is not used_up:
            self._waiting.changed()
        yield from self._do_put_off()

    def _refresh_due(self, uid: str) -> None:
        if self._refresh(uid):
            self._waiting.changed()

    def _do_put_off(self) -> Iterator[None]:
        if self._unstamped_moved:
            self._unstamped_moved, self._index = False, self.index
            uids = chain(list(self._unstamped), self.clocks.moved(self.pods, self.usage.charged))
            yield from in_parts(map(self._refresh, uids))
        yield from self._waiting.catch_up(self.now)
        for uid in self.clocks.preemptible.take_changed():
            charge = self.usage.charge_of(uid)
            self.usage.candidates.forget(*([] if charge is None else [charge.cluster_queue]))
        self.usage.candidates.of_several = self.clocks.preemptible.of_several
        yield from self._waiting.kept_index.catch_up(IndexInputs(self.tree, self.index, self.room, self.flavors))

    def snapshot(self) -> Snapshot:
        """Return the world as it is now; valid until the next change of the cache."""
        for _ in self._do_put_off():
            pass
        self._waiting.look_on(self.now, self.tree, self.queues_of)
        return self.view()

    def view(self) -> Snapshot:
        """Return the same for who only reads: who is looked at next, and what was put off, stay as they are."""
        return snapshot_of(self, self._waiting)

    @property
    def feasibility(self) -> FeasibilityIndex | None:
        """The index of the latest snapshot."""
        return self._waiting.kept_index.index

    def queues_of(self, cluster_queue: str) -> Sequence[QueueKey]:
        """Local queues that lead to this cluster queue."""
        return self._doors.of(cluster_queue)

    # -- decisions -------------------------------------------------------------------------------------------------

    def absorb(self, plan: Plan, seen: Container[str] = ()) -> None:
        """Remember what a plan says of those who wait, and assume its admissions, but of uids `seen` admitted."""
        for admit in plan.admits:
            if admit.uid not in seen:
                self._assumed[admit.uid] = admit
                self.admitted_jobs.plan(admit)
                self._refresh(admit.uid)
        if self._waiting.learn(plan, self.now):
            self._on_change()

    def next_portion(self) -> float:
        """Return when a decision is to look at more of those who wait, epoch seconds; infinite: it did at all."""
        return self._waiting.next_portion(self.now)

    def assumed(self, uid: str) -> Admit | None:
        """Return the admission of this pod that was sent and not yet seen back."""
        return self._assumed.get(uid)

    def mark_on(self) -> None:
        """Make the next pods due of large classes of which another reason is told."""
        self._waiting.mark_on()

    def settle(self, uid: str) -> None:
        """End the assumption: what the pod itself says counts again."""
        admit = self._assumed.pop(uid, None)
        self._refresh(uid)
        pod = self.pods.get(uid)
        if admit is not None and admit.preemptions and pod is not None and pod.phase is Phase.QUEUED:
            self._waiting.resume_preemptor(admit.workload, admit.preemptions)
        self._on_change()

    def reject(self, uid: str, text: str) -> int:
        """End the assumption and keep the workload from being tried again until `retry`; say how often so far."""
        times = self._waiting.rejections.add(uid, text) if uid in self.pods else 1
        self.settle(uid)
        return times

    def retry(self, uid: str) -> None:
        """Let a rejected workload be decided again."""
        if self._waiting.rejections.lift(uid):
            self._refresh(uid)
            self._on_change()

    def reopen_all(self) -> None:
        """Let nothing that is kept from one decision to the next count any more, and tell anew why each class waits."""
        self.usage.candidates.forget_all()
        self._waiting.begin_anew()
        self._on_change()

    def retry_eviction(self, uid: str) -> None:
        """Let an eviction that was refused be decided on again, if it is still wanted."""
        self.evictions.retry(uid)
        self.clocks.preemptible.is_judged_anew(uid)

    # -- pods ------------------------------------------------------------------------------------------------------

    def update_pod(self, pod: Pod) -> None:
        """Take in a reply's state of a pod, unless it is gone: only the watch says that a pod exists."""
        if pod.uid in self.pods:
            self.put_pod(pod)

    def put_pod(self, pod: Pod) -> None:
        """Take in a pod's state from the watch, unless a newer one is known already."""
        known = self.pods.get(pod.uid)
        if known is not None and is_older(pod, known):
            return
        self.pods[pod.uid] = still_landed(self.resources.charged(pod, known), known)
        self.policies.move(known.policies if known is not None else (), pod.policies)
        if self._refresh(pod.uid):
            self._on_change()

    def drop_pod(self, uid: str) -> None:
        """Forget a pod that is gone, and all that it held."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        self.policies.move(pod.policies, ())
        self.resources.forget(uid)
        self._assumed.pop(uid, None)
        self.reasons.released.pop(uid, None)
        self._refresh(uid)
        self._on_change()

    def _refresh(self, uid: str) -> bool:
        """Put the pod where its state says: into the backlog, the sums, or nowhere; say if a decision should see it."""
        pod = landed(self.pods, uid, self.flavors, self._index)
        moved, is_stuck = self._waiting.observe(uid, pod), self.evictions.observe(uid, pod)
        self.clocks.observe(uid, pod)
        if is_stuck:
            self.clocks.preemptible.is_judged_anew(uid)
        self._unstamped.discard(uid)
        former = self.usage.charge_of(uid)
        moved |= self.usage.set(uid, None if pod is None else self._charge(pod))
        charge = self.usage.charge_of(uid)
        self._waiting.observe_charge(uid, pod, former, charge, has_moved=moved)
        if (other := self.admitted_jobs.observe(uid, pod)) is not None:
            moved |= self._refresh(other)
        is_metered = self.budgets.note(uid, pod, charge)
        if pod is None or pod.phase is not Phase.QUEUED:
            self._waiting.rejections.forget(uid)
            is_overdue = uid in self.clocks.reservations.overdue
            if pod is not None and self.reasons.is_outdated(pod, is_overdue=is_overdue):
                self.reasons.released[uid] = None
        return moved or is_metered or self.clocks.preemptible.has_changed

    def move(self, uids: Iterable[str]) -> None:
        """Let waiting pods take their new places in the order."""
        if [uid for uid in uids if self._refresh(uid)]:
            self._on_change()

    def _charge(self, pod: Pod) -> Charge | None:
        if rests_on_nodes(pod):
            self._unstamped.add(pod.uid)
        if pod.is_job:
            return self.admitted_jobs.charge(pod, self._assumed.get(pod.uid), self._payer)
        is_overdue, is_lost = pod.uid in self.clocks.reservations.overdue, pod.uid in self.clocks.lost.uids
        return charge_for(pod, self._assumed.get(pod.uid), self._payer, is_overdue=is_overdue, is_lost=is_lost)

    def _payer(self, pod: Pod) -> tuple[str, str]:
        local = self.local_queues.get((pod.namespace, pod.queue or ""))
        queue = self.cluster_queues.get(local.cluster_queue) if local is not None else None
        return likely_payer(pod, queue, self.flavors, self.index)

    # -- everything else -------------------------------------------------------------------------------------------

    def put_node(self, node: Node) -> None:
        """Take in a node; a heartbeat that changes nothing changes nothing here."""
        known = self.nodes.get(node.name)
        if known is not None and not known.is_ready and not node.is_ready:
            # from False to Unknown is no second grace
            node = replace(node, not_ready_since=known.not_ready_since)
        if known == node:
            return
        self.nodes[node.name] = node
        self._reindex()

    def drop_node(self, name: str) -> None:
        """Forget a node that is gone."""
        if self.nodes.pop(name, None) is not None:
            self._reindex()

    def set_flavor(self, name: str, flavor: Flavor | None) -> None:
        """Take in a flavor, or forget it."""
        put_or_drop(self.flavors, name, flavor)
        self.budgets.rules_changed()
        self._reindex()
        self.reopen_all()

    def set_cluster_queue(
        self, name: str, queue: ClusterQueue | None, *, variation: Variation = FIXED, fault: str | None = None
    ) -> None:
        """Take in a cluster queue and what of it changes by itself, forget it, or note why it cannot be used."""
        if self.queues.put(name, queue, variation):
            self._reindex()
        self.positions.queue_changed(name, queue, self.queues_of(name))
        put_or_drop(self.faulty_queues, name, fault)
        self._tree = None
        if self._waiting.serves(name, queue, variation):
            self._unstamped.update(self.pods)  # each is in another class now
        self.budgets.rules_changed()
        self._rules_changed()

    def set_local_queue(self, key: QueueKey, queue: LocalQueue | None) -> None:
        """Take in a local queue, or forget it."""
        self._doors.put(key, queue)
        self._waiting.kept_index.local_queues_changed()
        self.positions.moved.add(key)
        self._rules_changed()

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """Take in a namespace's labels, or forget it."""
        if self.namespaces.get(name) == labels:
            return
        put_or_drop(self.namespaces, name, labels)
        self._rules_changed()

    def set_job(self, uid: str, job: Job | None) -> None:
        """Take in a Job, or forget it."""
        former = self.jobs.get(uid)
        put_or_drop(self.jobs, uid, job)
        self.usage.candidates.forget(*self.clocks.preemptible.queues_of(uid))
        if self.clocks.preemptible.job_changed(uid, former, job):
            self._on_change()
        if bearing(former) != bearing(job):
            self.move(self._waiting.job_changed(uid, former, job))
        elif job is not None and former is not None and (former.width, former.most) != (job.width, job.most):
            self.gangs.job_changed(job.namespace, uid)
            self._on_change()

    def set_pod_group(self, key: GroupKey, pod_group: PodGroup | None) -> None:
        """Take in a PodGroup of Kubernetes, or forget it."""
        self.gangs.set_pod_group(key, pod_group)
        self.clocks.preemptible.group_changed(key)
        self.usage.candidates.forget_all()
        self._on_change()

    def _reindex(self) -> None:
        self._index = None
        self.queues.capacities_moved()
        # not here: a relist of nodes would recharge once a node, and build the index as often
        self._unstamped_moved = True
        self._on_change()

    def _rules_changed(self) -> None:
        self._unstamped_moved = True
        self.reopen_all()
