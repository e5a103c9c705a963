"""In which domains the slices of a gang stand, and on which nodes; and why there is not room for all of them.

Mirrors Kueue's topology-aware scheduling of slices for one level: the fewest domains, the largest first, and for what
is left at the end the smallest that holds it (`tas_flavor_snapshot.go`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from controller.core.fitting.domains import Sizes, room_if_empty, room_in
from controller.core.fitting.shortages import no_node, unfit_nodes
from controller.core.ledgers.booked import AnyLedger
from controller.core.queueing.queues import Flavor
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker
from controller.core.workloads.topology import Domain, Slices, held_to
from controller.core.workloads.workload import PodSet

DomainShare = tuple[str, int]
"""A domain, and how many pods of a slice are in it: all of them, of the last slice what is left."""


def find_slices(
    snapshot: Snapshot, ledger: AnyLedger, flavor: Flavor, pod_set: PodSet, slices: Slices
) -> list[tuple[Domain, str]] | Blocker:
    """Return for each pod of a set, slice by slice, its domain and a node with room; or say what is short."""
    if flavor.is_summed:
        detail = "its nodes are not known before they come, so no slice of a gang can be planned there"
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=detail)
    if slices.value:
        domain = Domain(slices.key, slices.value)
        shape = held_to(pod_set.shape, domain)
        node = ledger.find_node(flavor, shape)
        return no_node(snapshot, ledger, flavor, shape) if node is None else [(domain, node)]
    sizes = room_in(snapshot, ledger, flavor, pod_set, slices.key)
    standing = stand(sizes, pod_set.count, slices.size) or ()
    found = list(_on_nodes(ledger, flavor, pod_set, slices.key, standing))
    # what is free may be kept for others
    return found if len(found) == pod_set.count else _shortage(snapshot, flavor, pod_set, slices, sizes)


def stand(sizes: Sizes, count: int, size: int) -> list[DomainShare] | None:
    """Divide so many pods among domains with room for so many, in slices of this size; None: there is not room for all.

    None only where no other way would do either: a domain has room for as many slices as are in it whole, and what the
    last one has less fits where one more is in, or into what is left of one.
    """
    left, room = count, dict(sizes)
    found: list[DomainShare] = []
    while left:
        wide = [(amount, value) for value, amount in room.items() if amount >= left]
        # of equal ones the one with the least left over; the name last, so that everybody comes to the same
        value = min(wide)[1] if wide else min(room, key=lambda one: (-(room[one] // size), room[one], one), default="")
        taken = left if wide else min(left, room.get(value, 0)) // size * size
        if not taken:
            return None
        room[value] -= taken
        found += [(value, min(size, taken - start)) for start in range(0, taken, size)]
        left -= taken
    return found


def _on_nodes(
    ledger: AnyLedger, flavor: Flavor, pod_set: PodSet, key: str, standing: Sequence[DomainShare]
) -> Iterator[tuple[Domain, str]]:
    in_all = Counter[str]()
    for value, count in standing:
        in_all[value] += count
    nodes = {
        value: iter(ledger.find_nodes(flavor, held_to(pod_set.shape, Domain(key, value)), count))
        for value, count in in_all.items()
    }
    for value, count in standing:
        yield from ((Domain(key, value), node) for node in islice(nodes[value], count))


def _shortage(snapshot: Snapshot, flavor: Flavor, pod_set: PodSet, slices: Slices, now: Sizes) -> Blocker:
    unfit = unfit_nodes(snapshot, flavor, pod_set.shape)
    if unfit is not None:
        return unfit
    key, size, most = slices.key, slices.size, room_if_empty(snapshot, flavor, pod_set, slices.key)
    if not most:
        detail = f"none of its nodes that suit the pods has the label {key}"
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=detail)
    needed = -(-pod_set.count // size)
    slices_told = f"{needed} slice{'s' * (needed > 1)} of {size} pods, each in one {key}"
    if stand(most, pod_set.count, size) is None:
        detail = f"room for {_whole(most, size, needed)} of the {slices_told}, even when nothing else runs there"
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=detail)
    there_is = f"room for {_whole(now, size, needed)} of the {slices_told}, now"
    return Blocker(flavor.name, Reason.NO_CAPACITY, detail=f"no room for all {slices_told}", now=there_is)


def _whole(sizes: Sizes, size: int, needed: int) -> int:
    """How many slices there is room for, less than are needed: what is short may be room for the last, smaller one."""
    return min(needed - 1, sum(amount // size for amount in sizes.values()))
