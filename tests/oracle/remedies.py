"""What people would do about the reason that a pod is told: the world in which its cause is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.oracle import rules
from tests.oracle.tree import path
from tests.oracle.turns import Decided
from tests.oracle.worlds import GPU, Door, Flavor, Labels, Make, Node, Pod, Queue, World

_PLENTY = {"cpu": 10**6, "memory": 10**4, "pods": 10**4, GPU: 10**4}
_FLAVORS = (Flavor("first", {}), Flavor("second", {}))


def undone(world: World, pod: Pod, said: Decided) -> World:
    """The world without the cause of what the pod is told."""
    reason = said.waiting[pod.name]
    if reason == "Preempting":
        gone = {*said.evicted, *(one.name for one in world.running if one.is_ending)}
        return replace(world, running=tuple(one for one in world.running if one.name not in gone))
    return REMEDIES[reason](world, pod)


def _with_pods(world: World, pod: Pod, change: Callable[[Pod], Pod]) -> World:
    """Change the pod and all of its gang."""

    def is_with(one: Pod) -> bool:
        return one is pod or (pod.group != "" and (one.namespace, one.group) == (pod.namespace, pod.group))

    return replace(world, pods=tuple(change(one) if is_with(one) else one for one in world.pods))


def _with_queues(world: World, pod: Pod, change: Callable[[Queue], Queue]) -> World:
    """Change the pod's queue and all above it."""
    queue = rules.queue_of(world, pod)
    way = {one.name for one in (path(world, queue) or (queue,))} if queue is not None else set()
    return replace(world, queues=tuple(change(one) if one.name in way else one for one in world.queues))


def _without_gates(world: World, pod: Pod) -> World:
    return _with_pods(world, pod, lambda one: replace(one, has_foreign_gate=False))


def _with_door(world: World, pod: Pod) -> World:
    doors = [one for one in world.doors if (one.namespace, one.name) != (pod.namespace, pod.queue)]
    return replace(world, doors=(*doors, Door(pod.namespace, pod.queue, world.queues[0].name)))


def _open(world: World, pod: Pod) -> World:
    opened = replace(world, doors=tuple(replace(one, is_held=False) for one in world.doors))
    return _with_queues(opened, pod, lambda one: replace(one, is_held=False))


def _selected(world: World, pod: Pod) -> World:
    return _with_queues(world, pod, lambda one: replace(one, namespaces=()))


def _valid(world: World, pod: Pod) -> World:
    """A root of its own, below which nobody is, of flavors that there are."""
    queue = rules.queue_of(world, pod)
    assert queue is not None
    names = {one.name for one in world.flavors}
    flavors = (*world.flavors, *(one for one in _FLAVORS if one.name not in names))
    alone = Queue(queue.name, queue.quotas or (("first", {"cpu": 1000}),), is_strict=queue.is_strict)
    queues = tuple(
        alone if one is queue else replace(one, parent="" if one.parent == queue.name else one.parent)
        for one in world.queues
    )
    return replace(world, flavors=flavors, queues=queues)


def _richer(world: World, pod: Pod) -> World:
    """Quota for all that anybody may ask for, that nobody else may borrow."""
    queue = rules.queue_of(world, pod)
    assert queue is not None
    lending = {(flavor, resource): 0 for flavor, _ in queue.quotas for resource in _PLENTY} if queue.parent else {}
    rich = replace(queue, quotas=tuple((name, _PLENTY) for name, _ in queue.quotas), borrowing={}, lending=lending)
    return replace(world, queues=tuple(rich if one is queue else one for one in world.queues))


def _without_limits(world: World, pod: Pod) -> World:
    return _with_queues(world, pod, lambda one: replace(one, limits={}))


def _unmixed(world: World, pod: Pod) -> World:
    return _with_queues(world, pod, lambda one: replace(one, on_demand_base=None, spot_percent=None))


def _roomier(world: World, pod: Pod) -> World:
    """A large node of each flavor on which each pod of the gang could run; large sums, where there is none."""
    members = [one.make for one in world.pods if one.group == pod.group] if pod.group else [pod.make]
    nodes, flavors = list(world.nodes), []
    for flavor in world.flavors:
        found = [labels for make in members if (labels := _labels(world, flavor, make)) is not None]
        nodes += [Node(f"large-{flavor.name}-{number}", labels, _PLENTY) for number, labels in enumerate(found)]
        flavors.append(Flavor(flavor.name, {}, static=_PLENTY) if len(found) < len(members) else flavor)
    return replace(world, nodes=tuple(nodes), flavors=tuple(flavors))


def _labels(world: World, flavor: Flavor, make: Make) -> Labels | None:
    """Labels of a node that is the flavor's alone and that the pod may run on."""
    trial = (replace(world, nodes=(Node("trial", labels, _PLENTY),)) for labels in rules.EVERY_LABELS)
    return next((one.nodes[0].labels for one in trial if rules.open_nodes(one, flavor, make)), None)


def _possible(world: World, pod: Pod) -> World:
    """Nothing asked of the node, and of quota, limits, mix and room more than enough."""
    plain = _with_pods(world, pod, lambda one: replace(one, make=replace(one.make, selector={}, terms=())))
    now = next(one for one in plain.pods if one.name == pod.name)
    for remedy in (_richer, _without_limits, _unmixed, _roomier):
        plain = remedy(plain, now)
    return plain


def _passable(world: World, pod: Pod) -> World:
    """The queue lets others pass; the pod is of no gang that it would be too many for."""
    alone = replace(world, pods=tuple(replace(one, group="", size=0) if one is pod else one for one in world.pods))
    return _with_queues(alone, pod, lambda one: replace(one, is_strict=False))


def _complete(world: World, pod: Pod) -> World:
    count = sum((one.namespace, one.group) == (pod.namespace, pod.group) for one in world.pods)
    return _with_pods(world, pod, lambda one: replace(one, size=count))


def _agreed(world: World, pod: Pod) -> World:
    kept = tuple(one for one in world.running if (one.namespace, one.group) != (pod.namespace, pod.group))
    return _with_pods(replace(world, running=kept), pod, lambda one: replace(one, queue=pod.queue, size=pod.size))


REMEDIES: dict[str, Callable[[World, Pod], World]] = {
    "ForeignGate": _without_gates,
    "QueueNotFound": _with_door,
    "QueueStopped": _open,
    "NamespaceNotSelected": _selected,
    "QueueInvalid": _valid,
    "QuotaExceeded": _richer,
    "ParentQueueLimit": _richer,
    "QueueLimit": _without_limits,
    "MixLimit": _unmixed,
    "NoCapacity": _roomier,
    "NeverFits": _possible,
    "Priority": _passable,
    "GangIncomplete": _complete,
    "MembersNeverComplete": _complete,
    "GangInvalid": _agreed,
}
