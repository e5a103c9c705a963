"""Small worlds drawn at random: keys, values and sizes collide often, so that every rule meets others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

from tests.oracle.contention import borrowed, contended, of_two_resources
from tests.oracle.worlds import (
    GPU,
    Amounts,
    Columns,
    Door,
    Flavor,
    Make,
    Node,
    Pod,
    Queue,
    Requirement,
    Running,
    World,
)

_PLENTY = {"cpu": 16000, "memory": 64, "pods": 110, GPU: 4}
_POOLS, _ZONES = ("spot", "steady"), ("a", "b")
_FLAVORS = ("first", "second")
_NAMESPACES = {"dev": {"stage": "dev"}, "prod": {"stage": "prod"}}


def draw_world(chance: Random) -> World:
    """Draw one world. In some there is room for all: then what matters is quota."""
    has_room = chance.random() < 0.5
    quota = _small_quota if has_room else _quota
    ends = tuple(_queue(chance, f"queue-{number}", quota) for number in range(chance.choice((1, 2, 2, 3, 3))))
    inner = tuple(_inner(chance, f"inner-{number}", quota) for number in range(chance.choice((0, 1, 1, 2, 2))))
    queues = _planted(chance, ends, inner)
    nodes, flavors = _plenty() if has_room else _scarcity(chance)
    doors = tuple(
        Door(namespace, queue.name, queue.name if chance.random() < 0.98 else "gone", is_held=_rarely(chance))
        for queue in queues
        for namespace in _NAMESPACES
        if not _rarely(chance)
    )
    # often all alike: then what matters is order and sums
    make = _make(chance, is_plain=has_room) if chance.random() < 0.3 else None
    pods = tuple(
        _pod(chance, number, ends if chance.random() < 0.97 else queues, make or _make(chance, is_plain=has_room))
        for number in range(chance.choice((1, 2, 3, 4, 5, 6, 6)))
    )
    running = tuple(_running(chance, number, nodes, queues) for number in range(chance.randint(0, 2)) if nodes)
    queues = tuple(_choosing(chance, queue, flavors) for queue in queues)
    world = World(pods, running, nodes, flavors, queues, doors, _NAMESPACES)
    if chance.random() < 0.35:
        is_shared = chance.random() < 0.3
        if is_shared:
            world = replace(world, queues=tuple(_sharing(chance, _of_one_flavor(queue)) for queue in world.queues))
        is_short_of_quota = is_shared and has_room and chance.random() < 0.7
        world = (borrowed if is_short_of_quota else contended)(chance, world, dict(zip(_POOLS, _FLAVORS, strict=True)))
        if has_room and not is_short_of_quota and chance.random() < 0.5:
            world = of_two_resources(chance, world)
    elif chance.random() < 0.4:
        root = tuple((name, {"cpu": 1000 * chance.randint(2, 5), "memory": 64, GPU: 2}) for name in _FLAVORS)
        is_tight = chance.random() < 0.6
        made = (_tight(chance, one, root) if is_tight else one for one in world.queues)
        world = replace(world, queues=tuple(_sharing(chance, queue) for queue in made))
    return _with_gangs(chance, world)


def _plenty() -> tuple[tuple[Node, ...], tuple[Flavor, ...]]:
    nodes = tuple(Node(f"node-{pool}", {"pool": pool}, _PLENTY) for pool in _POOLS)
    flavors = (
        Flavor(name, {"pool": pool}, is_spot=pool == "spot") for name, pool in zip(_FLAVORS, _POOLS, strict=True)
    )
    return nodes, tuple(flavors)


def _scarcity(chance: Random) -> tuple[tuple[Node, ...], tuple[Flavor, ...]]:
    nodes = tuple(_node(chance, f"node-{number}") for number in range(chance.choice((0, 1, 2, 2, 3, 3, 3, 3))))
    return nodes, tuple(_flavor(chance, name) for name in chance.sample(_FLAVORS, 2) if chance.random() < 0.98)


def _choosing(chance: Random, queue: Queue, flavors: tuple[Flavor, ...]) -> Queue:
    """Some queues leave the choice of the flavor to the scheduler, others mix their pods."""
    drawn = chance.random()
    if len(queue.quotas) < 2:
        return queue
    if drawn < 0.15 and not any(one.static is not None for one in flavors):
        return replace(queue, is_any=True, tries_next=False)
    if drawn > 0.8:
        base, percent = chance.choice((None, 0, 1, 2)), chance.choice((None, 0, 30, 50, 50, 70, 100))
        return replace(queue, on_demand_base=base, spot_percent=percent)
    return queue


def _tight(chance: Random, queue: Queue, root: tuple[tuple[str, Amounts], ...]) -> Queue:
    """So that there is one place less than pods, and shares say whose it is."""
    if not queue.parent:
        return replace(queue, quotas=root if queue.name.startswith("inner") else queue.quotas, limits={})
    quotas = tuple((name, {**given, "cpu": chance.choice((0, 0, 1000))}) for name, given in queue.quotas)
    return replace(queue, quotas=quotas, limits={}, borrowing={}, lending={}, namespaces=())


def _of_one_flavor(queue: Queue) -> Queue:
    """So that it is known in which flavor a workload of this queue competes for which others would go."""
    names = {name for name, _ in queue.quotas[:1]}
    borrowing = {column: limit for column, limit in queue.borrowing.items() if column[0] in names}
    lending = {column: limit for column, limit in queue.lending.items() if column[0] in names}
    plain = replace(queue, is_any=False, on_demand_base=None, spot_percent=None)
    return replace(plain, quotas=queue.quotas[:1], borrowing=borrowing, lending=lending)


def _sharing(chance: Random, queue: Queue) -> Queue:
    if not queue.parent:
        return replace(queue, is_fair=True)
    return replace(queue, weight=chance.choice((Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(0))))


def _with_gangs(chance: Random, world: World) -> World:
    for group in ("gang", "band"):
        if chance.random() < 0.3:
            world = _grouped(chance, group, world)
    return world


def _rarely(chance: Random) -> bool:
    return chance.random() < 0.02


def _node(chance: Random, name: str) -> Node:
    return Node(
        name,
        {"pool": chance.choice(_POOLS), "zone": chance.choice(_ZONES), "cores": str(chance.randint(1, 3))},
        {
            "cpu": chance.choice((2000, 3000, 4000)),
            "memory": chance.choice((2, 4, 16, 16)),
            "pods": chance.choice((2, 110)),
            **({GPU: chance.choice((1, 2))} if chance.random() < 0.3 else {}),
        },
        is_tainted=chance.random() < 0.1,
        is_ready=chance.random() < 0.95,
        is_cordoned=chance.random() < 0.05,
    )


def _flavor(chance: Random, name: str) -> Flavor:
    labels: dict[str, str] = {}
    if chance.random() < 0.7:
        # mostly of its own nodes; now and then both are of the same
        labels["pool"] = _POOLS[_FLAVORS.index(name)] if chance.random() < 0.8 else chance.choice(_POOLS)
    requirements = tuple(_requirement(chance) for _ in range(chance.choice((0,) * 8 + (1, 2))))
    static = None
    if chance.random() < 0.2:
        static = {"cpu": chance.choice((1000, 3000)), "memory": chance.choice((2, 8))}
        static.update({"pods": 2} if chance.random() < 0.3 else {})
    return Flavor(
        name,
        labels,
        requirements,
        tolerates=chance.random() < 0.3,
        static=static,
        is_spot=chance.random() < 0.5,
    )


def _requirement(chance: Random) -> Requirement:
    key = chance.choice(("pool", "zone", "cores"))
    values: tuple[str, ...] = {"pool": _POOLS, "zone": _ZONES, "cores": ("1", "2", "3")}[key]
    operator = chance.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", *(("Gt", "Lt") if key == "cores" else ())))
    match operator:
        case "In" | "NotIn":
            return key, operator, tuple(chance.sample(values, chance.randint(1, len(values))))
        case "Gt" | "Lt":
            return key, operator, (chance.choice(values),)
        case _:
            return key, operator, ()


def _queue(chance: Random, name: str, quota: Callable[[Random], Amounts]) -> Queue:
    flavors = chance.sample(_FLAVORS, chance.choice((1, 2, 2)))
    namespaces: tuple[Requirement, ...] | None = ()
    if chance.random() < 0.1:
        namespaces = chance.choice((None, (("stage", "In", ("dev",)),), (("stage", "NotIn", ("dev",)),)))
    return Queue(
        name,
        tuple((flavor, quota(chance)) for flavor in flavors),
        is_strict=chance.random() < 0.35,
        is_held=_rarely(chance),
        namespaces=namespaces,
        limits=_limits(chance),
    )


def _limits(chance: Random) -> Amounts:
    if chance.random() < 0.85:
        return {}
    return dict(chance.sample((("pods", chance.randint(1, 4)), ("cpu", 1000 * chance.randint(1, 5)), (GPU, 1)), 2))


def _inner(chance: Random, name: str, quota: Callable[[Random], Amounts]) -> Queue:
    """A queue to hang others on: what it owns beside them is mostly little."""
    return Queue(
        name,
        tuple(
            (flavor, {resource: amount if chance.random() < 0.3 else 0 for resource, amount in quota(chance).items()})
            for flavor in chance.sample(_FLAVORS, chance.choice((0, 0, 1, 2)))
        ),
        is_held=_rarely(chance),
        limits=_limits(chance),
    )


def _planted(chance: Random, queues: tuple[Queue, ...], inner: tuple[Queue, ...]) -> tuple[Queue, ...]:
    """Hang most of the queues on others, below which they borrow; now and then on what is not there, or below it."""
    above = [one.name for one in inner]
    parents = {queue.name: chance.choice(above) for queue in queues if above and chance.random() < 0.9}
    if len(above) > 1 and chance.random() < 0.7:
        parents[above[1]] = above[0]
    for name in above[:1]:
        if _rarely(chance):
            # a circle, alone or with the other
            parents[name] = above[-1]
    for queue in (*queues, *inner):
        if _rarely(chance):
            parents[queue.name] = "gone"
    return tuple(_hung(chance, queue, parents.get(queue.name, "")) for queue in (*queues, *inner))


def _hung(chance: Random, queue: Queue, parent: str) -> Queue:
    if not parent:
        return queue
    return replace(
        queue,
        parent=parent,
        borrowing=_column_limits(chance, queue),
        lending=_column_limits(chance, queue),
        tries_next=chance.random() < 0.5,
    )


def _column_limits(chance: Random, queue: Queue) -> Columns:
    sizes = {"cpu": (0, 1000, 2000, 3000), "memory": (0, 2, 4), "pods": (0, 1), GPU: (0, 1)}
    return {
        (flavor, resource): chance.choice(sizes[resource])
        for flavor, amounts in queue.quotas
        for resource in amounts
        if chance.random() < (0.3 if resource == "cpu" else 0.15)
    }


def _quota(chance: Random) -> Amounts:
    return {
        "cpu": chance.choice((0, 1000, 2000, 2000, 3000, 4000, 8000)),
        "memory": chance.choice((2, 6, 64, 64)),
        **({"pods": chance.choice((1, 2, 4))} if chance.random() < 0.2 else {}),
        **({GPU: chance.choice((1, 4))} if chance.random() < 0.6 else {}),
    }


def _small_quota(chance: Random) -> Amounts:
    """So that it has to be borrowed."""
    return {
        "cpu": chance.choice((0, 1000, 1000, 2000, 3000)),
        "memory": 64,
        **({"pods": chance.choice((0, 1, 2))} if chance.random() < 0.1 else {}),
        **({GPU: chance.choice((0, 1, 2))} if chance.random() < 0.8 else {}),
    }


def newcomer(chance: Random, world: World) -> Pod:
    """A pod that comes later, to one of the queues that take any."""
    queues = tuple(one for one in world.queues if one.quotas)
    taken = [int(one.name.partition("-")[2]) for one in world.pods] + [0]
    named = [int(one.name.partition("-")[2]) for one in world.running if one.name.startswith("pod-")]
    return _pod(chance, max((*taken, *named)) + 1, queues or world.queues, _make(chance))


def _make(chance: Random, *, is_plain: bool = False) -> Make:
    requests = {"cpu": chance.choice((500, 1000, 1000, 1000, 2000, 3000)), "memory": chance.choice((0, 0, 0, 1, 3))}
    if chance.random() < 0.1:
        requests[GPU] = 1
    if is_plain:
        # the last thing of its kind is soon gone: where a sum is off by one, it shows
        return Make(_asked({**requests, GPU: chance.choice((0, 0, 0, 0, 0, 1))}), {}, (), tolerates=False)
    selector = {"zone": chance.choice(_ZONES)} if chance.random() < 0.1 else {}
    if chance.random() < 0.05:
        selector["pool"] = chance.choice(_POOLS)
    terms: tuple[tuple[Requirement, ...], ...] = ()
    if chance.random() < 0.15:
        terms = tuple(
            tuple(_requirement(chance) for _ in range(chance.randint(1, 2))) for _ in range(chance.randint(1, 2))
        )
    return Make(_asked(requests), selector, terms, tolerates=chance.random() < 0.2)


def _asked(requests: Amounts) -> Amounts:
    return {resource: amount for resource, amount in requests.items() if amount}


def _pod(chance: Random, number: int, queues: tuple[Queue, ...], make: Make) -> Pod:
    return Pod(
        f"pod-{number}",
        chance.choice(tuple(_NAMESPACES)),
        chance.choice(queues).name if chance.random() < 0.98 else "nowhere",
        make,
        priority=chance.choice((0, 0, 0, 1)),
        created=chance.randint(0, 3),
        has_foreign_gate=_rarely(chance),
    )


def _grouped(chance: Random, name: str, world: World) -> World:
    """Make a gang of some of the pods, mostly all alike and of as many as there are; now and then it has begun."""
    pods = world.pods
    chosen = {pod.name for pod in chance.sample(pods, min(len(pods), chance.choice((1, 2, 2, 3, 3, 4))))}
    first = next(pod for pod in pods if pod.name in chosen)
    behind = next((one.queue for one in world.doors if (one.namespace, one.name) == (first.namespace, first.queue)), "")
    free = [one for one in world.running if not one.group and behind and one.queue == behind]
    begun = {one.name for one in free if chance.random() < 0.7}
    size = max(1, len(chosen) + len(begun) + chance.choice((0,) * 8 + (-1, -1, 1)))
    # by shares, where each set of a gang goes says whose turn it is
    are_alike = chance.random() < 0.6 or any(queue.is_fair for queue in world.queues)

    # of unlike ones some go to one flavor alone, others to another
    are_apart = not are_alike and chance.random() < 0.5

    def joined(pod: Pod) -> Pod:
        stated = size + 1 if _rarely(chance) and not begun else size
        make = first.make if are_alike or chance.random() < 0.4 else pod.make
        if are_apart:
            make = replace(make, selector={"pool": chance.choice(_POOLS)}, terms=())
        member = replace(pod, make=make, group=name, size=stated)
        if _rarely(chance) and not begun:
            return member
        return replace(member, namespace=first.namespace, queue=first.queue)

    running = tuple(
        replace(one, namespace=first.namespace, door=first.queue, group=name, size=size) if one.name in begun else one
        for one in world.running
    )
    return replace(world, pods=tuple(joined(pod) if pod.name in chosen else pod for pod in pods), running=running)


def _running(chance: Random, number: int, nodes: tuple[Node, ...], queues: tuple[Queue, ...]) -> Running:
    owner = chance.choice(queues) if chance.random() < 0.6 else None
    flavor = chance.choice(owner.quotas or ((_FLAVORS[0], {}),))[0] if owner is not None else ""
    return Running(
        f"run-{number}", _make(chance).requests, chance.choice(nodes).name, owner.name if owner else "", flavor
    )
