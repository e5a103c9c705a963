"""In which domain there is room for a gang whose members stay together, and why none has.

The smallest domain that has room for the first of its pod sets is tried first (`workloads.topology`), as Kueue does:
the larger ones are left for larger gangs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.core.fitting.avoided import avoided
from controller.core.gate.narrowing import Conflict, narrow
from controller.core.ledgers.booked import AnyLedger
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker
from controller.core.workloads.topology import Domain, Topology
from controller.core.workloads.workload import PodSet, WorkloadClass

Sizes = Mapping[str, int]
"""For how many pods there is room, by domain."""


def domains(
    snapshot: Snapshot, ledger: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, topology: Topology
) -> Iterator[Domain]:
    """Yield the domains to try for a gang, those of the first flavor first.

    The flavors behind one that is still waited for are left out. Where nodes are yet to come, all domains of those that
    there are may do.
    """
    if topology.value:
        yield Domain(topology.key, topology.value, topology.is_required)
        return
    first, seen = kind.pod_sets[0], set[str]()
    for quota in queue.flavors:
        flavor = snapshot.queues.flavors[quota.flavor]
        if isinstance(narrow(first.shape.constraints, flavor), Conflict):
            continue
        if avoided(snapshot.nodes.dry, flavor.name, first.shape) is not None:
            continue
        sizes = room_in(snapshot, ledger, flavor, first, topology.key)
        wide = [(size, value) for value, size in sizes.items() if size >= first.count or flavor.is_summed]
        for _, value in sorted(wide):
            if value not in seen:
                seen.add(value)
                yield Domain(topology.key, value, topology.is_required)
        is_waited_for = quota.fallback_after > kind.waited
        if is_waited_for and domain_blocker(snapshot, ledger, flavor, kind, topology).reason is not Reason.NEVER_FITS:
            return


def domain_blocker(
    snapshot: Snapshot, ledger: AnyLedger, flavor: Flavor, kind: WorkloadClass, topology: Topology
) -> Blocker:
    """Say why no domain has room for all of a gang in a flavor that has room for them in several."""
    key, first = topology.key, kind.pod_sets[0]
    sizes = room_in(snapshot, ledger, flavor, first, key)
    if not sizes:
        detail = f"none of its nodes that suit the pods has the label {key}"
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=detail)
    most = room_if_empty(snapshot, flavor, first, key)
    largest = max(most.values())
    if largest < first.count and not flavor.is_summed:
        detail = f"no {key} holds more than {largest} of the {first.count} pods, even when nothing else runs there"
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=detail)
    size, value = max((size, value) for value, size in sizes.items())
    detail = f"no {key} has room for all {kind.size} pods"
    most_now = f": {value} has most, for {size}" if size < first.count else ""
    return Blocker(flavor.name, Reason.NO_CAPACITY, detail=detail, now=f"{detail} now{most_now}")


def room_in(snapshot: Snapshot, ledger: AnyLedger, flavor: Flavor, pod_set: PodSet, key: str) -> Sizes:
    """Return for how many pods of a set each domain has room now."""
    sizes: dict[str, int] = {}
    for node, value in _labelled(snapshot, flavor, pod_set, key):
        sizes[value] = sizes.get(value, 0) + ledger.fits_on(node, pod_set.shape.requests)
    return sizes


def room_if_empty(snapshot: Snapshot, flavor: Flavor, pod_set: PodSet, key: str) -> Sizes:
    """Return for how many pods of a set each domain has room when nothing runs there."""
    sizes: dict[str, int] = {}
    for node, value in _labelled(snapshot, flavor, pod_set, key):
        sizes[value] = sizes.get(value, 0) + snapshot.nodes.index.nodes[node].holds(pod_set.shape.requests)
    return sizes


def _labelled(snapshot: Snapshot, flavor: Flavor, pod_set: PodSet, key: str) -> Iterator[tuple[str, str]]:
    """Yield the nodes that the pods may use, and the domain of each; one without the label is in none."""
    for node in snapshot.nodes.index.allowed(flavor, pod_set.shape.constraints):
        value = snapshot.nodes.index.nodes[node].labels.get(key)
        if value:
            yield node, value
