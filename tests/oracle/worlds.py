"""Small worlds in plain values, drawn at random: keys, values and sizes collide often, so that every rule meets others.

Nothing here is of the core: amounts are whole numbers of one unit a resource (`UNITS`), labels are dicts, names text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

Amounts = Mapping[str, int]
Labels = Mapping[str, str]
Requirement = tuple[str, str, tuple[str, ...]]
"""Key, operator, values."""

UNITS = {"cpu": "m", "memory": "Gi", "pods": "", "example.com/gpu": ""}
GPU = "example.com/gpu"
TAINT = "spot"
"""The key of the one taint that there is; it repels."""


@dataclass(frozen=True, slots=True)
class Make:
    """What pods of one make share. `terms` are alternatives, each a conjunction; none: no required affinity."""

    requests: Amounts
    selector: Labels
    terms: tuple[tuple[Requirement, ...], ...]
    tolerates: bool


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that waits; `created` in seconds."""

    name: str
    namespace: str
    queue: str
    make: Make
    priority: int
    created: int
    has_foreign_gate: bool


@dataclass(frozen=True, slots=True)
class Running:
    """A pod that takes room on a node, and (`queue`, `flavor`) quota, unless it is a stranger's."""

    name: str
    requests: Amounts
    node: str
    queue: str = ""
    flavor: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node."""

    name: str
    labels: Labels
    amounts: Amounts
    is_tainted: bool = False
    is_ready: bool = True
    is_cordoned: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether anybody may be put there."""
        return self.is_ready and not self.is_cordoned


@dataclass(frozen=True, slots=True)
class Flavor:
    """A flavor: of nodes where `static` is None."""

    name: str
    labels: Labels
    requirements: tuple[Requirement, ...] = ()
    tolerates: bool = False
    static: Amounts | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue: quotas by flavor in order of preference. `namespaces` None selects none, () all."""

    name: str
    quotas: tuple[tuple[str, Amounts], ...]
    is_strict: bool = False
    is_held: bool = False
    namespaces: tuple[Requirement, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Door:
    """A LocalQueue."""

    namespace: str
    name: str
    queue: str
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """Up to 6 pods, 3 queues, 2 flavors and 3 nodes, and what runs already."""

    pods: tuple[Pod, ...]
    running: tuple[Running, ...]
    nodes: tuple[Node, ...]
    flavors: tuple[Flavor, ...]
    queues: tuple[Queue, ...]
    doors: tuple[Door, ...]
    namespaces: Mapping[str, Labels]


_POOLS, _ZONES = ("spot", "steady"), ("a", "b")
_FLAVORS = ("first", "second")
_NAMESPACES = {"dev": {"stage": "dev"}, "prod": {"stage": "prod"}}


def draw_world(chance: Random) -> World:
    """Draw one world."""
    nodes = tuple(_node(chance, f"node-{number}") for number in range(chance.choice((0, 1, 2, 2, 3, 3, 3, 3))))
    queues = tuple(_queue(chance, f"queue-{number}") for number in range(chance.randint(1, 3)))
    flavors = tuple(_flavor(chance, name) for name in chance.sample(_FLAVORS, 2) if chance.random() < 0.98)
    doors = tuple(
        Door(namespace, queue.name, queue.name if chance.random() < 0.98 else "gone", is_held=_rarely(chance))
        for queue in queues
        for namespace in _NAMESPACES
        if not _rarely(chance)
    )
    # often all alike: then what matters is order and sums
    make = _make(chance) if chance.random() < 0.3 else None
    return World(
        pods=tuple(_pod(chance, number, queues, make) for number in range(chance.randint(1, 6))),
        running=tuple(_running(chance, number, nodes, queues) for number in range(chance.randint(0, 2)) if nodes),
        nodes=nodes,
        flavors=flavors,
        queues=queues,
        doors=doors,
        namespaces=_NAMESPACES,
    )


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
    return Flavor(name, labels, requirements, tolerates=chance.random() < 0.3, static=static)


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


def _queue(chance: Random, name: str) -> Queue:
    flavors = chance.sample(_FLAVORS, chance.choice((1, 2, 2)))
    namespaces: tuple[Requirement, ...] | None = ()
    if chance.random() < 0.1:
        namespaces = chance.choice((None, (("stage", "In", ("dev",)),), (("stage", "NotIn", ("dev",)),)))
    return Queue(
        name,
        tuple((flavor, _quota(chance)) for flavor in flavors),
        is_strict=chance.random() < 0.35,
        is_held=_rarely(chance),
        namespaces=namespaces,
    )


def _quota(chance: Random) -> Amounts:
    return {
        "cpu": chance.choice((0, 2000, 3000, 4000, 8000)),
        "memory": chance.choice((2, 6, 64, 64)),
        **({"pods": chance.choice((1, 2, 4))} if chance.random() < 0.2 else {}),
        **({GPU: chance.choice((1, 4))} if chance.random() < 0.6 else {}),
    }


def _make(chance: Random) -> Make:
    requests = {"cpu": chance.choice((500, 1000, 1000, 1000, 2000, 3000)), "memory": chance.choice((0, 0, 0, 1, 3))}
    if chance.random() < 0.1:
        requests[GPU] = 1
    selector = {"zone": chance.choice(_ZONES)} if chance.random() < 0.1 else {}
    if chance.random() < 0.05:
        selector["pool"] = chance.choice(_POOLS)
    terms: tuple[tuple[Requirement, ...], ...] = ()
    if chance.random() < 0.15:
        terms = tuple(
            tuple(_requirement(chance) for _ in range(chance.randint(1, 2))) for _ in range(chance.randint(1, 2))
        )
    return Make(requests, selector, terms, tolerates=chance.random() < 0.2)


def _pod(chance: Random, number: int, queues: tuple[Queue, ...], make: Make | None) -> Pod:
    return Pod(
        f"pod-{number}",
        chance.choice(tuple(_NAMESPACES)),
        chance.choice(queues).name if chance.random() < 0.98 else "nowhere",
        make or _make(chance),
        priority=chance.choice((0, 0, 0, 1)),
        created=chance.randint(0, 3),
        has_foreign_gate=_rarely(chance),
    )


def _running(chance: Random, number: int, nodes: tuple[Node, ...], queues: tuple[Queue, ...]) -> Running:
    owner = chance.choice(queues) if chance.random() < 0.6 else None
    flavor = chance.choice(owner.quotas)[0] if owner is not None else ""
    return Running(
        f"run-{number}", _make(chance).requests, chance.choice(nodes).name, owner.name if owner else "", flavor
    )
