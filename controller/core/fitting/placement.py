"""Which flavors of a cluster queue take a workload, and on which nodes there is room for its pods."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from controller.core.fitting.avoided import avoided
from controller.core.fitting.domains import domain_blocker, domains, room_in
from controller.core.fitting.mixing import mix_blocker
from controller.core.fitting.shortages import no_node, too_few_nodes, unfit_for_all, unfit_nodes
from controller.core.fitting.slices import find_slices
from controller.core.gate.narrowing import Conflict, narrow
from controller.core.ledgers.booked import AnyLedger
from controller.core.queueing.flavor_sets import payer
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorMode, FlavorQuota, WhenCanBorrow
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker, FlavorNode, Later, Wait
from controller.core.workloads.shapes import Shape
from controller.core.workloads.topology import Domain, Topology, held_to
from controller.core.workloads.workload import PodSet, WorkloadClass

_MILDEST_FIRST = (
    Reason.WOULD_DELAY,
    Reason.NO_CAPACITY,
    Reason.FLAVOR_DRY,
    Reason.QUOTA_EXCEEDED,
    Reason.PARENT_QUEUE_LIMIT,
    Reason.MIX_LIMIT,
    Reason.UNSCHEDULABLE,
    Reason.NEVER_FITS,
)
"""Of several flavors' findings the one that got furthest names the wait: it is what will let the workload in."""
_PASSED_OVER = frozenset({Reason.NEVER_FITS, Reason.FLAVOR_DRY, Reason.UNSCHEDULABLE})
"""What of a flavor no quota and no room would change."""


@dataclass(frozen=True, slots=True)
class Placement:
    """For one pod: a flavor with quota and room, and the node where room was found (None for a sum).

    `among` are the flavors that are open to it, in order, where there are several; then `flavor` is the one that pays.
    `domains` are what a gang that stays together shares, and its slice.
    """

    flavor: Flavor
    node: str | None
    among: tuple[Flavor, ...] = ()
    domains: tuple[Domain, ...] = ()

    @property
    def also(self) -> tuple[Flavor, ...]:
        """The flavors that hold quota for it beside the one that pays."""
        return tuple(one for one in self.among if one is not self.flavor)


Placements = tuple[Placement, ...]
"""One for each pod of a workload, set by set."""


def places(placed: Placements) -> Counter[FlavorNode]:
    """Count the pods by flavor, those that hold quota for them too, and node."""
    return Counter((flavor.name, one.node) for one in placed for flavor in (one.flavor, *one.also))


def place(snapshot: Snapshot, ledger: AnyLedger, queue: ClusterQueue, kind: WorkloadClass) -> Placements | Wait:
    """Find quota and room for all pods of one workload, or say why not; each pod set goes to one flavor as a whole.

    Who can run in a flavor, now or later, waits its `fallback_after` before those behind it are looked at.
    """
    if kind.topology is not None:
        return _place_together(snapshot, ledger, queue, kind, kind.topology)
    limit = ledger.limit_blocker(queue, kind.requests)
    if limit is not None:
        return Wait(limit.reason, blockers=(limit,))
    if len(kind.pod_sets) == 1:
        return choose(snapshot, ledger, queue, kind.pod_sets[0], kind.waited)
    return _place_sets(snapshot, ledger, queue, kind)


def _place_together(
    snapshot: Snapshot,
    ledger: AnyLedger,
    queue: ClusterQueue,
    kind: WorkloadClass,
    topology: Topology,
) -> Placements | Wait:
    """Find the domain that takes all pods of one workload; what is short in all of them is told first."""
    found = place(snapshot, ledger, queue, replace(kind, topology=None))
    # a flavor that is waited for may hold them, but not in one domain
    is_all = not topology.is_required or bool(topology.value)
    if isinstance(found, Wait) and is_all:
        return found
    if isinstance(found, Wait) and all(one.reason is not Reason.NO_CAPACITY for one in found.blockers):
        return _never_together(snapshot, ledger, kind, topology, found)
    inside: Placements | Wait | None = None
    for domain in domains(snapshot, ledger, queue, kind, topology):
        sets = tuple(replace(one, shape=held_to(one.shape, domain)) for one in kind.pod_sets)
        held = replace(kind, pod_sets=sets, topology=None)
        in_reach = queue if topology.value else _with_nodes_in(snapshot, ledger, queue, kind, domain)
        inside = place(snapshot, ledger, in_reach, held)
        if not isinstance(inside, Wait):
            return tuple(replace(one, domains=(domain, *one.domains)) for one in inside)
    if not topology.is_required:
        return found
    # of the members that are lacking, what is short where the others are
    return inside if topology.value and inside is not None else _apart(snapshot, ledger, queue, kind, topology)


def _never_together(
    snapshot: Snapshot, ledger: AnyLedger, kind: WorkloadClass, topology: Topology, found: Wait
) -> Wait:
    """Return why a gang waits, with the flavors of which no domain could ever hold it told as such before all else."""
    blockers = tuple([_or_never(snapshot, ledger, kind, topology, one) for one in found.blockers])
    return found if blockers == found.blockers else replace(found, reason=primary(blockers), blockers=blockers)


def _or_never(snapshot: Snapshot, ledger: AnyLedger, kind: WorkloadClass, topology: Topology, one: Blocker) -> Blocker:
    if one.reason not in QUOTA_REASONS or not one.flavor:
        return one
    apart = domain_blocker(snapshot, ledger, snapshot.queues.flavors[one.flavor], kind, topology)
    return apart if apart.reason is Reason.NEVER_FITS else one


def _with_nodes_in(
    snapshot: Snapshot, ledger: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, domain: Domain
) -> ClusterQueue:
    """Return the queue without the flavors that are known by sums and have no node in a domain: none may ever come."""
    first, flavors = kind.pod_sets[0], (snapshot.queues.flavors[one.flavor] for one in queue.flavors)
    sums = (one for one in flavors if one.is_summed)
    away = {one.name for one in sums if domain.value not in room_in(snapshot, ledger, one, first, domain.key)}
    return replace(queue, flavors=tuple(one for one in queue.flavors if one.flavor not in away)) if away else queue


def _apart(snapshot: Snapshot, ledger: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, topology: Topology) -> Wait:
    """Say why no domain takes a gang, flavor by flavor: what is short there anyway, or only in one domain."""
    blockers: list[Blocker] = []
    must_wait, first = 0, kind.pod_sets[0]
    for quota in queue.flavors:
        if kind.waited < must_wait:
            return Wait(primary(tuple(blockers)), blockers=tuple(blockers), later=Later(quota.flavor, must_wait))
        found, flavor = _try(snapshot, ledger, queue, quota, first), snapshot.queues.flavors[quota.flavor]
        if not isinstance(found, Blocker) or (found.reason is Reason.NO_CAPACITY and not flavor.is_summed):
            apart = domain_blocker(snapshot, ledger, flavor, kind, topology)
            found = apart if apart.reason is Reason.NEVER_FITS or not isinstance(found, Blocker) else found
        blockers.append(found)
        if quota.fallback_after and not _never(snapshot, found, first.shape):
            must_wait = max(must_wait, quota.fallback_after)
    return Wait(primary(tuple(blockers)), blockers=tuple(blockers))


def primary(blockers: tuple[Blocker, ...]) -> Reason:
    """Return the reason that several flavors' findings come to; of none, where none has nodes there, it is room."""
    return min((blocker.reason for blocker in blockers), key=_MILDEST_FIRST.index, default=Reason.NO_CAPACITY)


def _place_sets(snapshot: Snapshot, ledger: AnyLedger, queue: ClusterQueue, kind: WorkloadClass) -> Placements | Wait:
    """Place one set after the other beside those before it; what is spent for that is given back."""
    placed: list[tuple[PodSet, Placement]] = []
    wait: Wait | None = None
    with ledger.trying():
        for pod_set in kind.pod_sets:
            found = choose(snapshot, ledger, queue, pod_set, kind.waited)
            if isinstance(found, Wait):
                wait = found
                break
            for one in found:
                ledger.spend(queue.name, one.flavor, pod_set.shape.requests, one.node, one.also)
                placed.append((pod_set, one))
        for pod_set, one in placed:
            ledger.give_back(queue.name, one.flavor, pod_set.shape.requests, one.node, one.also)
    return wait or tuple(one for _, one in placed)


def choose(
    snapshot: Snapshot, ledger: AnyLedger, queue: ClusterQueue, pod_set: PodSet, waited: int
) -> Placements | Wait:
    """Try the queue's flavors in order; the first with quota and room wins, or the first of those that borrow least."""
    if queue.flavor_mode is FlavorMode.ANY:
        return _open_all(snapshot, ledger, queue, pod_set)
    blockers: list[Blocker] = []
    best: tuple[int, Placements] | None = None
    must_wait = 0
    later: Later | None = None
    for quota in queue.flavors:
        if waited < must_wait:
            later = Later(quota.flavor, must_wait)
            break
        found = _try(snapshot, ledger, queue, quota, pod_set)
        if isinstance(found, Blocker):
            blockers.append(found)
            if quota.fallback_after and not _never(snapshot, found, pod_set.shape):
                must_wait = max(must_wait, quota.fallback_after)
            continue
        must_wait = max(must_wait, quota.fallback_after)
        if queue.when_can_borrow is WhenCanBorrow.MAY_STOP_SEARCH:
            return found
        level = ledger.borrowing_level(queue, quota.flavor, pod_set.requests)
        if best is None or level < best[0]:
            best = level, found
        if not level:
            break
    if best is not None:
        return best[1]
    return Wait(primary(tuple(blockers)), blockers=tuple(blockers), later=later)


def _open_all(snapshot: Snapshot, ledger: AnyLedger, queue: ClusterQueue, pod_set: PodSet) -> Placements | Wait:
    """Try all flavors; those with quota and room are open to the pods, and room is planned in the first of them."""
    tried = [_try(snapshot, ledger, queue, quota, pod_set) for quota in queue.flavors]
    found = [one for one in tried if not isinstance(one, Blocker)]
    if not found or len(found) < len(pod_set.shape.constraints.only):
        # pods of a Job that was admitted to several flavors may land on any of them
        blockers = tuple(one for one in tried if isinstance(one, Blocker))
        return Wait(primary(blockers), blockers=blockers)
    if len(found) == 1 or pod_set.slices is not None:
        return found[0]  # the domains of slices are those of one flavor's nodes
    among = tuple(one[0].flavor for one in found)
    pays = payer([one.name for one in among], snapshot.queues.flavors, pod_set.shape.requests, None)
    return tuple(Placement(snapshot.queues.flavors[pays], one.node, among) for one in found[0])


def _try(
    snapshot: Snapshot, ledger: AnyLedger, queue: ClusterQueue, quota: FlavorQuota, pod_set: PodSet
) -> Placements | Blocker:
    """Try one flavor. What could never run there is told before quota: no waiting would change it."""
    flavor = snapshot.queues.flavors[quota.flavor]
    held = narrow(pod_set.shape.constraints, flavor)
    if isinstance(held, Conflict):
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=held.text)
    blocker = ledger.quota_blocker(queue, quota, pod_set.requests)
    if queue.mix is not None and (blocker is None or blocker.reason is not Reason.NEVER_FITS):
        whole = snapshot.queues.cluster_queues[queue.name]  # pods on flavors that are not tried count too
        blocker = mix_blocker(snapshot.queues.flavors, ledger, whole, flavor, pod_set.count) or blocker
    if blocker is None or blocker.reason not in (Reason.NEVER_FITS, Reason.MIX_LIMIT):
        blocker = avoided(snapshot.nodes.dry, flavor.name, pod_set.shape) or blocker
    if blocker is None:
        return _find_room(snapshot, ledger, flavor, pod_set)
    if blocker.reason in _PASSED_OVER:
        return blocker
    if flavor.is_summed:
        unfit = ledger.sum_blocker(flavor, pod_set.requests)
    else:
        unfit = unfit_for_all(snapshot, flavor, pod_set)
    return unfit if unfit is not None and unfit.reason is Reason.NEVER_FITS else blocker


def _find_room(snapshot: Snapshot, ledger: AnyLedger, flavor: Flavor, pod_set: PodSet) -> Placements | Blocker:
    shape, count = pod_set.shape, pod_set.count
    if pod_set.slices is not None:
        nodes_of = find_slices(snapshot, ledger, flavor, pod_set, pod_set.slices)
        if isinstance(nodes_of, Blocker):
            return nodes_of
        return tuple(Placement(flavor, node, domains=(domain,)) for domain, node in nodes_of)
    if flavor.is_summed:
        return ledger.sum_blocker(flavor, pod_set.requests) or (Placement(flavor, None),) * count
    if count > 1:
        nodes = ledger.find_nodes(flavor, shape, count)
        if len(nodes) == count:
            return tuple(Placement(flavor, node) for node in nodes)
        return too_few_nodes(snapshot, ledger, flavor, pod_set, found=len(nodes))
    known = ledger.known_no_room(flavor, shape)
    node = None if known is not None else ledger.find_node(flavor, shape)
    if node is not None:
        return (Placement(flavor, node),)
    return known or ledger.note_no_room(shape, no_node(snapshot, ledger, flavor, shape))


def _never(snapshot: Snapshot, found: Blocker, shape: Shape) -> bool:
    """Say whether it is no use to wait for this flavor."""
    if found.reason is Reason.NO_CAPACITY:
        flavor = snapshot.queues.flavors[found.flavor]
        unfit = None if flavor.is_summed else unfit_nodes(snapshot, flavor, shape)
        return unfit is not None and unfit.reason is Reason.NEVER_FITS
    return found.reason is Reason.MIX_LIMIT or found.reason in _PASSED_OVER
