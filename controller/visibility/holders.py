"""Who holds what a workload waits for, and when each of them is expected to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from math import inf

from controller.core.forecasts.runtimes import declared, expected_end
from controller.core.kubernetes.amounts import format_amount
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import Blocker
from controller.core.workloads.pods import Pod, job_of
from controller.core.workloads.workload import WorkloadClass
from controller.kube.clock import rfc3339
from controller.visibility.explanation_rows import HolderRow, HolderRows


@dataclass(frozen=True, slots=True)
class Holder:
    """One pod that holds `amount` of what is short, in its resource's unit (0: of no single resource).

    `at` is when it is expected to end, epoch seconds; infinite: nobody knows.
    """

    pod: Pod
    queue: str
    amount: int
    at: float

    @property
    def workload(self) -> str:
        """namespace/name of its owner, or of itself: what people know it by."""
        owner = self.pod.owner
        return self.pod.key if owner is None else f"{self.pod.namespace}/{owner.name}"

    @property
    def order(self) -> tuple[float, float, str]:
        """Its place among those that end: known ends first, then those that have held it longest."""
        return self.at, self.pod.admitted_at or self.pod.created, self.pod.uid


def holders(snapshot: Snapshot, kind: WorkloadClass, blocker: Blocker) -> list[Holder]:
    """Return who holds what a blocker says is short for a class, those first that end first; none: nobody does."""
    return sorted((one for one in each_holder(snapshot, kind, blocker) if one is not None), key=lambda one: one.order)


def each_holder(snapshot: Snapshot, kind: WorkloadClass, blocker: Blocker) -> Iterator[Holder | None]:
    """Yield them in no order, None for who holds nothing of it: for who has to give way in between."""
    return (_holder(snapshot, uid, charge, blocker.resource) for uid, charge in _charges(snapshot, kind, blocker))


def rows(found: Collection[Holder], blocker: Blocker) -> HolderRows:
    """Put holders together for people."""
    resource = blocker.resource or ""

    def by(name: Callable[[Holder], str]) -> tuple[HolderRow, ...]:
        return tuple(_rows([(name(one), one) for one in found], resource))

    return HolderRows(
        flavor=blocker.flavor,
        resource=resource,
        queues=by(lambda one: one.queue),
        users=by(lambda one: one.pod.user),
        workloads=by(lambda one: one.workload)[:10],
    )


def _rows(named: list[tuple[str, Holder]], resource: str) -> Iterator[HolderRow]:
    amounts, counts = Counter[str](), Counter[str]()
    ends: dict[str, float] = {}
    for name, one in named:
        amounts[name] += one.amount
        counts[name] += 1
        ends[name] = min(ends.get(name, inf), one.at)
    for name in sorted(counts, key=lambda it: (-amounts[it], -counts[it], it)):
        at = "" if ends[name] == inf else rfc3339(ends[name])
        yield HolderRow(name, format_amount(resource, amounts[name]) if resource else "", counts[name], at)


def _charges(snapshot: Snapshot, kind: WorkloadClass, blocker: Blocker) -> Iterator[tuple[str, Charge]]:
    charges, charged, tree = snapshot.usage.charges, snapshot.usage.charged, snapshot.queues.tree
    if blocker.reason is Reason.NO_CAPACITY:
        yield from _in_the_room(snapshot, kind, blocker)
        return
    if blocker.reason is Reason.PARENT_QUEUE_LIMIT:
        names = tree.relatives(blocker.at)
    else:
        names = tree.below(blocker.at) if blocker.at else []
    for uid in (uid for name in names for uid in list(charged.get(name, ()))):
        charge = charges.get(uid)
        if charge is None or (blocker.flavor and blocker.flavor not in charge.flavors):
            continue
        if blocker.reason is Reason.USER_LIMIT and charge.user != blocker.user:
            continue
        yield uid, charge


def _in_the_room(snapshot: Snapshot, kind: WorkloadClass, blocker: Blocker) -> Iterator[tuple[str, Charge]]:
    charges, flavor = snapshot.usage.charges, snapshot.queues.flavors[blocker.flavor]
    if flavor.is_summed:
        every = list(charges.items())
        yield from ((uid, one) for uid, one in every if one.cluster_queue and flavor.name in one.flavors)
        return
    index = snapshot.nodes.index
    nodes = set().union(*(index.allowed(flavor, one.shape.constraints) for one in kind.pod_sets))
    for node in sorted(nodes):
        bound = list(snapshot.nodes.bound.get(node, ()))
        yield from ((uid, charges[uid]) for uid in bound if uid in charges)


def _holder(snapshot: Snapshot, uid: str, charge: Charge, resource: str | None) -> Holder | None:
    pod = snapshot.running.pods.get(uid)
    amount = 0 if resource is None else dict(charge.requests).get(resource, 0)
    if pod is None or (resource is not None and not amount):
        return None
    return Holder(pod, charge.cluster_queue, amount, ends_at(snapshot, pod))


def ends_at(snapshot: Snapshot, pod: Pod) -> float:
    """Return when a pod is expected to end, epoch seconds; infinite: nobody knows.

    By what it says itself, else by what its like took before, where a queue of the cluster backfills.
    """
    job = job_of(pod, snapshot.running.jobs)
    runtime, forecast = declared(pod, job), snapshot.running.forecast
    if not runtime and forecast is not None:
        runtime = forecast.history.expected((pod.namespace, pod.queue or ""), pod.shape.requests)
    return expected_end(pod, job, runtime, snapshot.now)
