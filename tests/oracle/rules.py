"""The rules of admission read from the documents, not from the core: slow, without sums that are kept, and plain.

Whatever is asked is worked out from the world and the list of who is placed where. A question whose answer the rules
leave open (which of two true reasons is told, which node) is answered by all that they allow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from tests.oracle.worlds import Amounts, Door, Flavor, Labels, Make, Node, Pod, Queue, Requirement, World

MILDEST_FIRST = ("NoCapacity", "QuotaExceeded", "NeverFits")


@dataclass(frozen=True, slots=True)
class Placed:
    """Who takes what: quota of a queue in a flavor (neither for a stranger), and room on a node (None: on none)."""

    requests: Amounts
    queue: str
    flavor: str
    node: str | None


def place_in_line(pod: Pod) -> tuple[int, int, str]:
    """Ascending is first come."""
    return (-pod.priority, pod.created, f"{pod.namespace}/{pod.name}")


def demand(requests: Amounts) -> Amounts:
    """What a pod takes: what it asks for, and one of `pods`."""
    return {**{resource: amount for resource, amount in requests.items() if amount}, "pods": 1}


# -- the way to a queue --------------------------------------------------------------------------------------------


def queue_of(world: World, pod: Pod) -> Queue | None:
    """The ClusterQueue behind the pod's label."""
    door = _door(world, pod)
    return next((one for one in world.queues if door is not None and one.name == door.queue), None)


def _door(world: World, pod: Pod) -> Door | None:
    return next((one for one in world.doors if (one.namespace, one.name) == (pod.namespace, pod.queue)), None)


def closed(world: World, pod: Pod) -> set[str]:
    """Every reason for which the pod is not even looked at; empty: it is."""
    if pod.has_foreign_gate:
        return {"ForeignGate"}
    door, queue = _door(world, pod), queue_of(world, pod)
    if door is None or queue is None:
        return {"QueueNotFound"}
    reasons = set()
    if door.is_held or queue.is_held:
        reasons.add("QueueStopped")
    labels = world.namespaces[pod.namespace]
    if queue.namespaces is None or not all(matches(one, labels) for one in queue.namespaces):
        reasons.add("NamespaceNotSelected")
    if {name for name, _ in queue.quotas} - {flavor.name for flavor in world.flavors}:
        reasons.add("QueueInvalid")
    return reasons


# -- labels --------------------------------------------------------------------------------------------------------


def matches(requirement: Requirement, labels: Labels) -> bool:
    """Whether labels meet a requirement, as Kubernetes has it."""
    key, operator, values = requirement
    value = labels.get(key)
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdecimal() and int(value) > int(values[0])
        case _:
            return value is not None and value.isdecimal() and int(value) < int(values[0])


def _is_of(flavor: Flavor, labels: Labels) -> bool:
    return all(labels.get(key) == value for key, value in flavor.labels.items()) and all(
        matches(one, labels) for one in flavor.requirements
    )


def _suits(make: Make, labels: Labels) -> bool:
    if any(labels.get(key) != value for key, value in make.selector.items()):
        return False
    return not make.terms or any(all(matches(one, labels) for one in term) for term in make.terms)


_VALUES: dict[str, tuple[str | None, ...]] = {
    "pool": (None, "spot", "steady", "other"),
    "zone": (None, "a", "b", "other"),
    "cores": (None, "0", "1", "2", "3", "9", "many"),
}
"""Every value that some requirement of these worlds can tell from others."""
_LABELS = tuple(
    {key: value for key, value in zip(_VALUES, values, strict=True) if value is not None}
    for values in product(*_VALUES.values())
)


def contradict(make: Make, flavor: Flavor) -> bool:
    """Whether no node at all, with whatever labels, could be of the flavor and suit the pod."""
    return not any(_is_of(flavor, labels) and _suits(make, labels) for labels in _LABELS)


# -- quota and room ------------------------------------------------------------------------------------------------


def quota_faults(placed: Iterable[Placed], queue: Queue, flavor: str, quota: Amounts, need: Amounts) -> set[str]:
    """Why the queue's quota of a flavor does not give `need` on top of what it gave; empty: it does.

    The one place that knows whose quotas hold for a queue.
    """
    given = [one.requests for one in placed if (one.queue, one.flavor) == (queue.name, flavor)]
    reasons = set()
    for resource, amount in need.items():
        if resource not in quota:
            reasons |= set() if resource == "pods" else {"NeverFits"}
        elif amount > quota[resource]:
            reasons.add("NeverFits")
        elif amount + _sum(given, resource) > quota[resource]:
            reasons.add("QuotaExceeded")
    return reasons


def _sum(requests: Iterable[Amounts], resource: str) -> int:
    return sum(one.get(resource, 0) for one in requests)


def static_faults(placed: Iterable[Placed], flavor: Flavor, need: Amounts) -> set[str]:
    """Why the sums of a Static flavor do not give `need`; empty: they do."""
    total = flavor.static or {}
    taken = [one.requests for one in placed if one.flavor == flavor.name]
    reasons = set()
    for resource, amount in need.items():
        if resource == "pods" and resource not in total:
            continue
        if amount > total.get(resource, 0):
            reasons.add("NeverFits")
        elif amount + _sum(taken, resource) > total[resource]:
            reasons.add("NoCapacity")
    return reasons


def nodes_of(world: World, flavor: Flavor) -> list[Node]:
    """The flavor's nodes; one that several select is the first's by name."""

    def owner(node: Node) -> str | None:
        return min((one.name for one in world.flavors if one.static is None and _is_of(one, node.labels)), default=None)

    return [node for node in world.nodes if owner(node) == flavor.name]


def open_nodes(world: World, flavor: Flavor, make: Make) -> list[Node]:
    """Those of the flavor's nodes that the pod may use at all, room aside."""
    tolerated = make.tolerates or flavor.tolerates
    return [
        node
        for node in nodes_of(world, flavor)
        if node.is_usable and (tolerated or not node.is_tainted) and _suits(make, node.labels)
    ]


def nodes_with_room(world: World, placed: Iterable[Placed], flavor: Flavor, make: Make) -> list[str]:
    """Where one more such pod fits now."""
    standing = list(placed)
    return [
        node.name
        for node in open_nodes(world, flavor, make)
        if _holds(node, demand(make.requests), [one.requests for one in standing if one.node == node.name])
    ]


def _holds(node: Node, need: Amounts, taken: Iterable[Amounts]) -> bool:
    others = list(taken)
    return all(amount + _sum(others, resource) <= node.amounts.get(resource, 0) for resource, amount in need.items())


def node_faults(world: World, placed: Iterable[Placed], flavor: Flavor, make: Make) -> set[str]:
    """Why no node of the flavor takes the pod now; empty: one does."""
    if nodes_with_room(world, placed, flavor, make):
        return set()
    nodes = open_nodes(world, flavor, make)
    if not nodes:
        return {"NeverFits" if any(node.is_usable for node in nodes_of(world, flavor)) else "NoCapacity"}
    need = demand(make.requests)
    if any(_holds(node, need, ()) for node in nodes):
        return {"NoCapacity"}
    # each amount alone may be had, but on different nodes: the documents do not say which of the two that is
    largest = {resource: max(node.amounts.get(resource, 0) for node in nodes) for resource in need}
    is_too_large = any(amount > largest[resource] for resource, amount in need.items())
    return {"NeverFits"} if is_too_large else {"NeverFits", "NoCapacity"}


# -- a pod's turn --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """What becomes of a pod when its turn comes: a flavor and the nodes to choose from (None: no node), or reasons."""

    flavor: str = ""
    nodes: tuple[str | None, ...] = ()
    reasons: frozenset[str] = frozenset()


def turn(world: World, placed: list[Placed], queue: Queue, make: Make) -> Turn:
    """The first of the queue's flavors with quota and room, or every reason that may be told."""
    possible: set[str] = set()
    for name, quota in queue.quotas:
        flavor = next(one for one in world.flavors if one.name == name)
        found = _faults(world, placed, queue, flavor, quota, make)
        if not found:
            static = flavor.static is not None
            return Turn(name, (None,) if static else tuple(nodes_with_room(world, placed, flavor, make)))
        possible = {min(pair, key=MILDEST_FIRST.index) for pair in product(possible, found)} if possible else found
    return Turn(reasons=frozenset(possible))


def _faults(world: World, placed: list[Placed], queue: Queue, flavor: Flavor, quota: Amounts, make: Make) -> set[str]:
    """What stands against one flavor; contradictions come before quota, and quota before room."""
    if contradict(make, flavor):
        return {"NeverFits"}
    found = quota_faults(placed, queue, flavor.name, quota, demand(make.requests))
    if found:
        return found
    if flavor.static is not None:
        return static_faults(placed, flavor, demand(make.requests))
    return node_faults(world, placed, flavor, make)
