"""The rules of admission read from the documents, not from the core: slow, without sums that are kept, and plain.

Whatever is asked is worked out from the world and the list of who is placed where. A question whose answer the rules
leave open (which of two true reasons is told, which node) is answered by all that they allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from tests.oracle import mixture
from tests.oracle.tree import Column, Placed, children, limit_faults, path
from tests.oracle.worlds import Amounts, Door, Flavor, Labels, Make, Node, Pod, Queue, Requirement, World

Place = tuple[int, int, str]
OR = " or "
"""Between flavors of which all are open to a pod."""
MILDEST_FIRST = ("NoCapacity", "QuotaExceeded", "ParentQueueLimit", "MixLimit", "NeverFits")


def place_in_line(pod: Pod) -> Place:
    """Ascending is first come."""
    return (-pod.priority, pod.created, f"{pod.namespace}/{pod.name}")


def demand(requests: Amounts, count: int = 1) -> Amounts:
    """What so many pods take: what each asks for, and one of `pods`."""
    return {**{resource: amount * count for resource, amount in requests.items() if amount}, "pods": count}


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
    reasons, way = set(), path(world, queue)
    if door.is_held or any(one.is_held for one in way or (queue,)):
        reasons.add("QueueStopped")
    labels = world.namespaces[pod.namespace]
    if queue.namespaces is None or not all(matches(one, labels) for one in queue.namespaces):
        reasons.add("NamespaceNotSelected")
    if not way or not queue.quotas or children(world, queue) or not _has_flavors(world, queue, way):
        reasons.add("QueueInvalid")
    return reasons


def _has_flavors(world: World, queue: Queue, way: Iterable[Queue]) -> bool:
    """Whether the flavors are there that it and those above it name, and go together where all of them are open."""
    if {name for one in way for name, _ in one.quotas} - {flavor.name for flavor in world.flavors}:
        return False
    return not queue.is_any or _go_together([one for one in world.flavors if one.name in dict(queue.quotas)])


def _go_together(flavors: Sequence[Flavor]) -> bool:
    """Whether one requirement can say which of them, by the one label in whose value they differ."""
    first, *others = flavors
    for other in others:
        if first.labels.keys() != other.labels.keys() or {*first.requirements} != {*other.requirements}:
            return False
        if sum(first.labels[key] != value for key, value in other.labels.items()) != 1:
            return False
    return True


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
    "cores": (None, "0", "1", "2", "3", "01", "02", "03", "9", "many"),
}
"""Every value that some requirement of these worlds can tell from others; 02 is the number 2, and is not In 2."""
EVERY_LABELS = tuple(
    {key: value for key, value in zip(_VALUES, values, strict=True) if value is not None}
    for values in product(*_VALUES.values())
)


def contradict(make: Make, flavor: Flavor) -> bool:
    """Whether no node at all, with whatever labels, could be of the flavor and suit the pod."""
    return not any(_is_of(flavor, labels) and _suits(make, labels) for labels in EVERY_LABELS)


# -- quota and room ------------------------------------------------------------------------------------------------


def quota_faults(
    world: World, placed: Iterable[Placed], queue: Queue, flavor: str, quota: Amounts, need: Amounts
) -> set[str]:
    """Why the tree does not give the queue `need` of a flavor on top of what it gave; empty: it does.

    What can never be had is told before what is short for now, and of that the first by name.
    """
    for resource, amount in need.items():
        if resource not in quota and resource != "pods":
            return {"NeverFits"}
        if resource in quota and amount > Column(world, (), flavor, resource).left(queue):
            return {"NeverFits"}
    for resource in sorted(need.keys() & quota.keys()):
        column = Column(world, tuple(placed), flavor, resource)
        if need[resource] > column.left(queue):
            return column.shortage(queue)
    return set()


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
    return {"NeverFits"} if "NeverFits" in reasons else reasons


def nodes_of(world: World, flavor: Flavor) -> list[Node]:
    """The flavor's nodes; one that several select is that one's that asks most of it, then comes first."""

    def owner(node: Node) -> str | None:
        found = [one for one in world.flavors if one.static is None and _is_of(one, node.labels)]
        most = max((_says(one) for one in found), default=0)
        names = sorted(one.name for one in found if _says(one) == most)
        return min(names, key=lambda name: sum(_comes_before(world, one, name) for one in names), default=None)

    return [node for node in world.nodes if owner(node) == flavor.name]


def _says(flavor: Flavor) -> int:
    return len(flavor.labels) + len(flavor.requirements)


def _comes_before(world: World, one: str, other: str) -> bool:
    """Whether more of the queues that list both list the one first."""
    orders = [[name for name, _ in queue.quotas] for queue in world.queues]
    both = [order for order in orders if one in order and other in order]
    return one != other and 2 * sum(order.index(one) < order.index(other) for order in both) > len(both)


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


def _fit_on(node: Node, placed: Iterable[Placed], need: Amounts) -> int:
    """How many pods that need so much fit there beside what is."""
    taken = [one.requests for one in placed if one.node == node.name]
    free = {resource: node.amounts.get(resource, 0) - _sum(taken, resource) for resource in need}
    return max(0, min(free[resource] // amount for resource, amount in need.items()))


def node_faults(world: World, placed: Iterable[Placed], flavor: Flavor, make: Make, count: int) -> set[str]:
    """Why the nodes of the flavor do not take so many such pods now; empty: they do."""
    standing, nodes, need = list(placed), open_nodes(world, flavor, make), demand(make.requests)
    if sum(_fit_on(node, standing, need) for node in nodes) >= count:
        return set()
    if not nodes:
        return {"NeverFits" if any(node.is_usable for node in nodes_of(world, flavor)) else "NoCapacity"}
    if sum(_fit_on(node, (), need) for node in nodes) >= count:
        return {"NoCapacity"}
    # each amount alone may be had, but on different nodes: the documents do not say which of the two that is
    amounts = {resource: [node.amounts.get(resource, 0) for node in nodes] for resource in need}
    is_too_large = any(
        amount > max(amounts[resource]) or amount * count > sum(amounts[resource]) for resource, amount in need.items()
    )
    return {"NeverFits"} if is_too_large else {"NeverFits", "NoCapacity"}


def places(world: World, placed: Sequence[Placed], flavor: Flavor, make: Make) -> list[str | None]:
    """The nodes with room for one more such pod; no node at all, where the flavor is Static and has that much left."""
    if flavor.static is not None:
        return [] if static_faults(placed, flavor, demand(make.requests)) else [None]
    return [*nodes_with_room(world, placed, flavor, make)]


# -- a turn --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """What becomes of a workload if it is its turn: flavors that each of its pods may get, or reasons; both: either.

    `nodes` are those that the first of them may get (None: no node). `borrows` is how far up the tree it borrows at
    least, in whichever flavor takes it.
    """

    flavors: tuple[str, ...] = ()
    nodes: tuple[str | None, ...] = ()
    reasons: frozenset[str] = frozenset()
    borrows: int = 0


def turn(world: World, placed: Sequence[Placed], queue: Queue, make: Make, count: int) -> Turn:
    """Of so many pods alike: the flavor of those with quota and room that the queue wants first, or every reason."""
    need = demand(make.requests, count)
    found = limit_faults(world, placed, queue, need)
    if found:
        return Turn(reasons=frozenset(found))
    possible: set[str] = set()
    takes: list[tuple[int, Flavor]] = []
    for name, quota in queue.quotas:
        flavor = next(one for one in world.flavors if one.name == name)
        found = _faults(world, placed, queue, flavor, quota, make, count)
        if not found:
            takes.append((_borrows(world, placed, queue, flavor, quota, need), flavor))
        elif possible:
            possible = {min(pair, key=MILDEST_FIRST.index) for pair in product(possible, found)}
        else:
            possible = found
    if not takes:
        return Turn(reasons=frozenset(possible))
    least = min(borrows for borrows, _ in takes)
    if queue.is_any:
        names = OR.join(flavor.name for _, flavor in takes)
        return Turn((names,), tuple(places(world, placed, takes[0][1], make)), borrows=least)
    flavor = next(flavor for borrows, flavor in takes if borrows == least or not queue.tries_next)
    return Turn((flavor.name,), tuple(places(world, placed, flavor, make)), borrows=least)


def _borrows(
    world: World, placed: Sequence[Placed], queue: Queue, flavor: Flavor, quota: Amounts, need: Amounts
) -> int:
    return max(
        (
            Column(world, tuple(placed), flavor.name, resource).borrows(queue, amount)
            for resource, amount in need.items()
            if resource in quota
        ),
        default=0,
    )


def _faults(
    world: World, placed: Sequence[Placed], queue: Queue, flavor: Flavor, quota: Amounts, make: Make, count: int
) -> set[str]:
    """What stands against one flavor: what no waiting would change, then quota, then room."""
    if contradict(make, flavor):
        return {"NeverFits"}
    need = demand(make.requests, count)
    mixed = mixture.faults(world, placed, queue, flavor, count)
    found = quota_faults(world, placed, queue, flavor.name, quota, need)
    if not found and flavor.static is not None:
        found = static_faults(placed, flavor, need)
    elif not found:
        found = node_faults(world, placed, flavor, make, count)
    elif flavor.static is not None:
        never = static_faults((), flavor, need)
        found = never or found
    else:
        # whatever runs there: what even empty nodes do not take is told before quota
        empty = node_faults(world, (), flavor, make, count)
        found = {"NeverFits"} if empty == {"NeverFits"} else found | (empty & {"NeverFits"})
    # of one flavor either may be told, where both are in the way
    return mixed | found
