"""For what each flavor says is short, the changes that may give it: quota, room, other nodes, or time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import ceil, inf
from typing import Final

from controller.core.capacity.room import Room
from controller.core.fitting.mixing import spot_and_total
from controller.core.kubernetes.labels import Operator
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.mix import Mix
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.workloads.decisions import Blocker, Wait
from controller.core.workloads.shapes import Constraints, Shape
from controller.visibility.changes.amounts import (
    HigherLimit,
    HigherUserLimit,
    MoreOfFlavor,
    MoreQuota,
    WiderMix,
)
from controller.visibility.changes.change import Change
from controller.visibility.changes.nodes import LabelNode, MoreNodes, UsableNode, enlarged
from controller.visibility.changes.own import AsksForLess, FirstPlace, GoesAnywhere, PrefersDomain, SaysRuntime
from controller.visibility.changes.waiting import FlavorsOpen, FlavorWet, TriedAgain
from controller.visibility.editing import Case
from controller.visibility.targets import target_of
from controller.visibility.trials import Proposal

_SHORT: Final = 60
"""Seconds: the least runtime that is proposed to pass a reservation with."""


def in_flavors(case: Case, wait: Wait) -> Iterator[Proposal]:
    """Yield what may help where each flavor says what is short, the flavors in their order."""
    queue = _queue(case)
    for one in wait.blockers:
        for change in _for(case, queue, one):
            yield Proposal(change, one.flavor)
    if wait.later is not None:
        at = case.workload.since + wait.later.after
        yield Proposal(FlavorsOpen(wait.later.flavor, wait.later.after, at), wait.later.flavor)


def _queue(case: Case) -> ClusterQueue:
    view = case.snapshot.queues
    return view.cluster_queues[view.local_queues[case.workload.kind.queue].cluster_queue]


def _for(case: Case, queue: ClusterQueue, one: Blocker) -> Iterator[Change]:
    if one.resource and one.reason in _AMOUNTS:
        yield _AMOUNTS[one.reason](queue, one)
        return
    match one.reason:
        case Reason.MIX_LIMIT:
            yield _wider_mix(case, queue)
        case Reason.FLAVOR_DRY:
            yield FlavorWet(one.flavor, case.snapshot.nodes.dry[one.flavor].until)
        case Reason.UNSCHEDULABLE:
            until = [it.until for part in case.workload.kind.pod_sets for it in part.shape.unschedulable]
            yield TriedAgain(one.flavor, max(until, default=case.snapshot.now))
        case Reason.WOULD_DELAY:
            yield from _passing(case, one)
        case Reason.NEVER_FITS:
            yield from _never(case, queue, one)
        case Reason.NO_CAPACITY:
            yield from _room(case, one)
        case _:
            pass


def _quota(queue: ClusterQueue, one: Blocker) -> Change:
    return MoreQuota(queue.name, one.resource or "", one.need - one.free, one.flavor)


def _limit(queue: ClusterQueue, one: Blocker) -> Change:
    return HigherLimit(one.at or queue.name, one.resource or "", one.need - one.free)


def _user_limit(queue: ClusterQueue, one: Blocker) -> Change:
    return HigherUserLimit(one.at or queue.name, one.resource or "", one.need - one.free)


_AMOUNTS: Final[Mapping[Reason, Callable[[ClusterQueue, Blocker], Change]]] = {
    Reason.QUOTA_EXCEEDED: _quota,
    Reason.PARENT_QUEUE_LIMIT: _quota,
    Reason.QUEUE_LIMIT: _limit,
    Reason.USER_LIMIT: _user_limit,
}


def _wider_mix(case: Case, queue: ClusterQueue) -> Change:
    """Return the largest on-demand base and part of spot that let the workload onto spot now."""
    spot, total = spot_and_total(case.snapshot.queues.flavors, case.snapshot.usage.in_tree, queue)
    mix, more = queue.mix or Mix(), case.workload.kind.size
    percent = max(mix.spot_percent, 1)
    base = total + more - ceil(100 * (spot + more) / percent)
    if base >= 0:
        return WiderMix(queue.name, Mix(min(base, mix.on_demand_base), percent))
    return WiderMix(queue.name, Mix(0, 100))


def _passing(case: Case, one: Blocker) -> Iterator[Change]:
    """It would delay whom something is kept for: a shorter runtime lets it pass, and so does the first place."""
    booking, runtime = one.booking, case.workload.kind.runtime
    left = inf if booking is None else booking.at - case.snapshot.now
    if _SHORT <= left < inf and not 0 < runtime <= left:
        yield SaysRuntime(int(left) // _SHORT * _SHORT)
    yield FirstPlace(target_of(case.snapshot, case.workload), case.workload.kind.queue[0])


def _never(case: Case, queue: ClusterQueue, one: Blocker) -> Iterator[Change]:
    if not one.flavor and one.resource:
        yield _user_limit(queue, one) if "each user" in one.detail else _limit(queue, one)
        return
    flavor = case.snapshot.queues.flavors[one.flavor]
    if one.at or one.detail.startswith("the queue has no quota"):
        yield _quota(queue, one)
    elif flavor.is_spot and queue.mix is not None and not queue.mix.spot_percent:
        yield WiderMix(queue.name, replace(queue.mix, spot_percent=100))
    elif flavor.is_summed and one.resource:
        yield MoreOfFlavor(flavor.name, one.resource, one.need - max(0, one.free))
    elif one.resource:
        if one.free > 0:
            yield AsksForLess(one.resource, one.free, f"the largest node of flavor {flavor.name}")
        yield from _larger_node(case, flavor, one.resource, one.need)
    else:
        yield from _other_nodes(case, flavor)


def _room(case: Case, one: Blocker) -> Iterator[Change]:
    flavor = case.snapshot.queues.flavors[one.flavor]
    if flavor.is_summed and one.resource:
        yield MoreOfFlavor(flavor.name, one.resource, one.need - max(0, one.free))
        return
    index = case.snapshot.nodes.index
    for node in index.nodes_of(flavor.name):
        if not node.is_usable:
            yield UsableNode(node)
            break
    yield from _more_nodes(case, flavor)
    if case.workload.kind.topology is not None and case.workload.kind.topology.is_required:
        yield PrefersDomain()


def _more_nodes(case: Case, flavor: Flavor) -> Iterator[Change]:
    like, enlarged_by = _origin(case, _like(case, flavor))
    if like is not None:
        yield MoreNodes(flavor.name, like, enlarged=enlarged_by, is_chosen=_chooses(case))


def _chooses(case: Case) -> bool:
    asked = case.workload.kind.pod_sets[0].shape.constraints
    return bool(asked.node_selector) or asked.terms is not None


def _origin(case: Case, node: Node | None) -> tuple[Node | None, str]:
    """Return a node under the name of the one that it is like, where it was added, and what it has beside, in words."""
    made = None if node is None else case.made.get(node.name)
    return (node, "") if node is None or made is None else (replace(node, name=made.like), made.enlarged)


def _like(case: Case, flavor: Flavor) -> Node | None:
    """Return the node of a flavor that more like it would be ordered of: the largest that the first pods may use."""
    index = case.snapshot.nodes.index
    shape = case.workload.kind.pod_sets[0].shape
    allowed = index.allowed(flavor, shape.constraints)
    nodes = [index.nodes[name] for name in sorted(allowed)] or list(index.nodes_of(flavor.name))
    if nodes:
        return max(nodes, key=lambda node: (node.holds(shape.requests), sorted(node.allocatable.items())))
    if flavor.requirements:
        return None
    labels = {**dict(shape.constraints.node_selector), **dict(flavor.node_labels)}
    amounts = {resource: need * 4 for resource, need in shape.requests}
    return Node(name=f"a node for {_words(shape)}", labels=labels, allocatable=amounts)


def _words(shape: Shape) -> str:
    return "four of its pods" if shape.requests else "pods"


def _larger_node(case: Case, flavor: Flavor, resource: str, need: int) -> Iterator[Change]:
    like, former = _origin(case, _like(case, flavor))
    if like is not None:
        node, words = enlarged(like, resource, need)
        both = f"{former} and {words}" if former else words
        yield MoreNodes(flavor.name, node, enlarged=both, is_chosen=_chooses(case))


def _other_nodes(case: Case, flavor: Flavor) -> Iterator[Change]:
    """No node matches what the pod asks of nodes, or too few do even when they are empty."""
    index, shape = case.snapshot.nodes.index, case.workload.kind.pod_sets[0].shape
    constraints = shape.constraints
    if not index.allowed(flavor, constraints):
        if constraints.node_selector or constraints.terms is not None:
            yield GoesAnywhere()
        yield from _labelled(case, flavor, shape)
        return
    yield from _more_nodes(case, flavor)
    if case.workload.kind.topology is not None or any(part.slices for part in case.workload.kind.pod_sets):
        yield PrefersDomain()


def _labelled(case: Case, flavor: Flavor, shape: Shape) -> Iterator[Change]:
    """Propose the labels that the pod asks for on the node that would do otherwise: the one with most room now.

    One that lacks a label goes before one that has another value of it: that value says something to others.
    """
    asked = dict(shape.constraints.node_selector)
    for term in shape.constraints.terms or ():
        asked |= {it.key: it.values[0] for it in term.expressions if it.operator is Operator.IN and it.values}
        break
    index = case.snapshot.nodes.index
    tolerated = index.allowed(flavor, Constraints(tolerations=shape.constraints.tolerations))
    nodes = [node for name in sorted(tolerated) if (node := index.nodes[name]).holds(shape.requests)]
    unlike = [node for node in nodes if any(node.labels.get(key) != value for key, value in asked.items())]
    if unlike:
        room = case.snapshot.nodes.room or Room(index, case.snapshot.nodes.used)
        best = max(unlike, key=lambda it: (asked.keys().isdisjoint(it.labels), _room_for(room, it, shape)))
        lacking = ((key, value) for key, value in sorted(asked.items()) if best.labels.get(key) != value)
        yield LabelNode(best.name, tuple(lacking))


def _room_for(room: Room, node: Node, shape: Shape) -> float:
    """Return how many of these pods a node has room for now, not rounded: of full nodes the emptiest has most."""
    free = room.free(node.name)
    return min((free.get(resource, 0) / need for resource, need in shape.requests), default=0.0)


def is_ended_by_others(one: Blocker) -> bool:
    """Say whether what is short comes back as others end."""
    return one.reason in QUOTA_REASONS or one.reason is Reason.NO_CAPACITY
