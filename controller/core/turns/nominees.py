"""What the head of a line would take: of which columns, on which nodes. For trees that share fairly (`fair_turns`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from controller.core.fitting.placement import Placement, Placements
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.turns.nominations import Nominee, RoomKey, Takes, Turn
from controller.core.workloads.workload import WorkloadClass


def taken_by(kind: WorkloadClass, placed: Placements) -> Takes:
    """Return what a workload takes where it was placed, or where something is held for it; nowhere: nothing."""
    if not placed:
        return Takes({})
    if kind.size == len(placed) == 1 and not placed[0].among:
        name, places = placed[0].flavor.name, _room_keys(placed[0])
        rooms = {(place, resource): need for place in places for resource, need in kind.requests}
        return Takes({(name, resource): need for resource, need in kind.requests}, rooms)
    amounts: Counter[Column] = Counter()
    room: Counter[tuple[RoomKey, str]] = Counter()
    for shape, one in zip(kind.shapes(len(placed)), placed, strict=True):
        places = _room_keys(one)
        for resource, need in shape.requests:
            for flavor in (one.flavor, *one.also):
                amounts[flavor.name, resource] += need
            for place in places:
                room[place, resource] += need
    return Takes(amounts, room)


def taken_in_stretch(kind: WorkloadClass, first: Placement, nodes: Sequence[str | None]) -> Takes:
    """Return what pods of one class take: the first where it was placed, others of its flavor on these nodes."""
    flavor, requests, count = first.flavor, kind.requests, 1 + len(nodes)
    amounts: dict[Column, int] = {(flavor.name, resource): need * count for resource, need in requests}
    room: dict[tuple[RoomKey, str], int] = {}
    for node, number in Counter((first.node, *nodes)).items():
        for place in _room_keys_at(node, (flavor,)):
            room.update({(place, resource): need * number for resource, need in requests})
    return Takes(amounts, room)


def _room_keys(placed: Placement) -> list[RoomKey]:
    """Return where it takes room: on its node, and of each flavor that pays for it or holds quota for it by sums."""
    return _room_keys_at(placed.node, (placed.flavor, *placed.also))


def _room_keys_at(node: str | None, flavors: Sequence[Flavor]) -> list[RoomKey]:
    nodes: list[RoomKey] = [] if node is None else [("node", node)]
    return nodes + [("sum", one.name) for one in flavors if one.is_summed]


def placed_head(
    tree: QuotaTree, ledger: Ledger, queue: ClusterQueue, turn: Turn, kind: WorkloadClass, placed: Placements
) -> Nominee:
    """Return a head for which there is quota and room.

    It rests on a node that fills up late, while pods go to the fullest: else every node that is full would end the
    nominations of all.
    """
    if kind.is_free and placed[0].node is not None and not placed[0].among:
        flavor = placed[0].flavor
        last = ledger.emptiest_node(flavor, kind.pod_sets[0].shape)
        placed = placed if last is None else (Placement(flavor, last),)
    is_limited = queue.mix is not None or any(
        tree.limits(name) or tree.user_limits(name) for name in tree.path(queue.name)
    )
    may_move = not queue.takes_first_flavor and len(queue.flavors) > 1
    return Nominee(turn, kind, taken_by(kind, placed), placed, is_touchy=is_limited or may_move)


def as_nominated(ledger: Ledger, nominee: Nominee, kind: WorkloadClass) -> Placements | None:
    """Return where a head of this class goes as was found for the nominee: it has quota, and only its node is open."""
    if not nominee.is_lasting or not nominee.placed or nominee.kind != kind:
        return None
    if nominee.placed[0].among or kind.topology is not None or kind.pod_sets[0].slices is not None:
        return None
    flavor = nominee.placed[0].flavor
    node = None if flavor.is_summed else ledger.find_node(flavor, kind.pod_sets[0].shape)
    return (Placement(flavor, node),) if node is not None or flavor.is_summed else None


def preempting_head(turn: Turn, kind: WorkloadClass, onto: Sequence[str]) -> Nominee:
    """Return a head for which others would go, in these flavors: one for all, or for each of its sets, or its pods."""
    sizes = [1] * kind.size if len(onto) == kind.size else [one.count for one in kind.pod_sets]
    shapes = [one.shape for one in kind.pod_sets for _ in range(one.count)]
    flavors = [flavor for flavor, size in zip(onto, sizes, strict=True) for _ in range(size)]
    amounts: Counter[Column] = Counter()
    for shape, flavor in zip(shapes, flavors, strict=True):
        for resource, need in shape.requests:
            amounts[flavor, resource] += need
    return Nominee(turn, kind, Takes(amounts))
