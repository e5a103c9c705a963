"""Large worlds for the benchmark of the decision, drawn from a seed: the same recipe is always the same world.

Jobs of about eight pods each are spread over the queues, so that classes of workloads are as long as they are in life.
Every node runs 100 pods; ten of them are known one by one, the last of them with what the other ninety take, for a
decision sees only their sum. So a world of scale 1 has 50,000 pods that wait and 50,000 that are bound.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.keys import GATE
from controller.core.kubernetes.amounts import CPU, PODS, Requests, as_requests
from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement, Term
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.taints import Taint, Toleration
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota, LocalQueue
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Constraints, Shape
from tests.support.constraints import allows

GPU = "nvidia.com/gpu"
MEMORY = "memory"
GI, MI = 2**30, 2**20
ZONE, RACK, POOL = "topology.kubernetes.io/zone", "rack", "pool"
ZONES = ("zone-a", "zone-b", "zone-c")
_RACKS = 120
_TREES, _DEPARTMENTS = 10, 5
"""Queues are the leaves of ten trees, five departments each."""
_FIFTH = 5
"""One queue, shape and node in five is of the GPU kind."""
_KNOWN_PER_NODE = 10
_PODS_PER_NODE = 100
_PODS_PER_JOB = 8
_FREE_AT_MOST = 0.95
_START = 1_780_000_000
NOW = _START + 86_400
"""When all that waits has come, seconds since 1970."""
NUMBERS = ("pods", "queues", "nodes")
"""What a world has so many of."""
_TOLERATIONS = tuple(
    Toleration(key=f"node.kubernetes.io/{what}", operator="Exists", effect="NoExecute", seconds=300)
    for what in ("not-ready", "unreachable")
)
_SIZES = {
    "spot": {CPU: 64_000, MEMORY: 256 * GI, PODS: 250},
    "steady": {CPU: 64_000, MEMORY: 256 * GI, PODS: 250},
    "gpu": {CPU: 96_000, MEMORY: 768 * GI, GPU: 8, PODS: 250},
}
_POOLS = ("spot", "steady", "spot", "steady", "gpu")
_CHOICES = (("spot", "steady"), ("steady",), ("spot", "steady"), ("steady", "spot"), ("gpu",))
"""Pools of nodes, and flavors of queues in their order, each by number in five."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a world is drawn from. `quota` is what queues have left, `room` what nodes have left, of what is asked.

    With infinite room nothing runs yet on any node. `scale` multiplies pods, queues and nodes; `more` one of them.
    """

    shapes: int = 60
    scale: float = 1.0
    quota: float = 1.0
    room: float = 1.0
    seed: int = 1
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def queued(self) -> int:
        """Pods that wait."""
        return round(50_000 * self.scale * self.more.get("pods", 1))

    @property
    def queues(self) -> int:
        """Cluster queues, with a local queue each."""
        return round(1_000 * self.scale * self.more.get("queues", 1))

    @property
    def nodes(self) -> int:
        """Nodes of all flavors."""
        return round(5_000 * self.scale * self.more.get("nodes", 1))


@dataclass(slots=True)
class World:
    """All objects of a cluster. `asked` and `used` are amounts by (cluster queue, flavor, resource)."""

    flavors: list[Flavor]
    nodes: list[Node] = field(default_factory=list)
    queues: list[ClusterQueue] = field(default_factory=list)
    queued: list[Pod] = field(default_factory=list)
    bound: list[Pod] = field(default_factory=list)
    asked: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    used: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def draw(recipe: Recipe) -> World:
    """Draw the world of this recipe."""
    chance = random.Random(recipe.seed)  # noqa: S311 - worlds, not secrets
    shapes = list(_shapes(chance, recipe.shapes))
    world = World([_flavor(name) for name in _SIZES])
    _queue_pods(world, chance, recipe, shapes)
    _bind_pods(world, chance, recipe, shapes)
    world.queues = [
        ClusterQueue(
            name=_team(number),
            parent=f"department-{number % (_TREES * _DEPARTMENTS)}",
            flavors=tuple(_quota(name, _nominal(world, recipe, number, name)) for name in _flavors_of(number)),
            namespaces=LabelSelector(),
        )
        for number in range(recipe.queues)
    ]
    for number in range(_TREES * _DEPARTMENTS):
        world.queues.append(ClusterQueue(name=f"department-{number}", parent=f"company-{number % _TREES}"))
    world.queues += [ClusterQueue(name=f"company-{number}") for number in range(_TREES)]
    return world


def _quota(flavor: str, nominal: Mapping[str, int]) -> FlavorQuota:
    """A quota of which half may be borrowed beside it."""
    return FlavorQuota(flavor, nominal, borrowing={name: amount // 2 for name, amount in nominal.items()})


def load(
    world: World, on_change: Callable[[], None] = lambda: None, *, backfill_depth: int = USUAL_DEPTH
) -> ClusterCache:
    """Feed a cache with the world, in the order in which a controller that starts lists it."""
    cache = ClusterCache(on_change, backfill_depth=backfill_depth)
    cache.advance(NOW)
    for queue in world.queues:
        cache.set_namespace(queue.name, {})
    for node in world.nodes:
        cache.put_node(node)
    for flavor in world.flavors:
        cache.set_flavor(flavor.name, flavor)
    for queue in world.queues:
        cache.set_cluster_queue(queue.name, queue)
        cache.set_local_queue(
            (queue.name, "main"), LocalQueue(namespace=queue.name, name="main", cluster_queue=queue.name)
        )
    for _ in PodSink(cache).replace([*world.queued, *world.bound]):
        pass
    return cache


# -- shapes --------------------------------------------------------------------------------------------------------


def _shapes(chance: random.Random, count: int) -> Iterator[Shape]:
    """Distinct shapes; few are round numbers, as people write them, many are odd ones, as programs do."""
    seen: set[Shape] = set()
    while len(seen) < count:
        shape = Shape(_requests(chance, len(seen), is_round=count <= 100), _constraints(chance))
        if shape not in seen:
            seen.add(shape)
            yield shape


def _requests(chance: random.Random, number: int, *, is_round: bool) -> tuple[tuple[str, int], ...]:
    cpu = int(250 * 64 ** chance.random())
    memory = int(cpu * chance.choice((1, 2, 4, 4, 4, 8)) * GI / 1000)
    step, unit = (250, 256 * MI) if is_round else (1, MI)
    amounts = {CPU: cpu // step * step, MEMORY: memory // unit * unit, PODS: 1}
    if _is_gpu(number):
        amounts[GPU] = chance.choice((1, 1, 2, 4, 8))
    return as_requests(amounts)


def _constraints(chance: random.Random) -> Constraints:
    """Half may run anywhere; others want a zone, one of two zones, or, one in twenty, one of three racks."""
    draw_of = chance.random()
    if draw_of < 0.5:
        return _running_in()
    if draw_of < 0.8:
        return _running_in(((ZONE, chance.choice(ZONES)),))
    if draw_of < 0.95:
        return _wanting(ZONE, chance.sample(ZONES, 2))
    return _wanting(RACK, [_rack(number) for number in chance.sample(range(_RACKS), 3)])


def _wanting(key: str, values: Sequence[str]) -> Constraints:
    term = Term((Requirement(key, Operator.IN, tuple(sorted(values))),))
    return _running_in(terms=(term,))


@cache
def _running_in(selector: tuple[tuple[str, str], ...] = (), terms: tuple[Term, ...] | None = None) -> Constraints:
    """Return one object for all that are equal, as the decoder of pods does."""
    return Constraints(selector, terms, _TOLERATIONS)


@cache
def _anywhere(requests: Requests) -> Shape:
    """Return one object for all pods that ask for this, as the decoder of pods does."""
    return Shape(requests, _running_in())


# -- who waits -----------------------------------------------------------------------------------------------------


def _queue_pods(world: World, chance: random.Random, recipe: Recipe, shapes: Sequence[Shape]) -> None:
    """Deal the shapes to jobs one after the other, so that each is there, and the jobs to queues by lot."""
    job = 0
    while len(world.queued) < recipe.queued:
        shape = shapes[job % len(shapes)]
        team = _draw_queue(chance, recipe.queues, is_gpu=_is_gpu(job % len(shapes)))
        size = min(recipe.queued - len(world.queued), 1 + int(chance.expovariate(1 / (_PODS_PER_JOB - 1))))
        created, priority = _START + chance.randrange(86_400), chance.choice((0, 0, 0, 10, 100))
        for _ in range(size):
            world.queued.append(_pod(chance, job, shape, team, created=float(created), priority=priority))
        for name in _flavors_of(team):
            for resource, amount in shape.requests:
                world.asked[(_team(team), name, resource)] += size * amount // len(_flavors_of(team))
        job += 1


def _draw_queue(chance: random.Random, queues: int, *, is_gpu: bool) -> int:
    while True:
        number = chance.randrange(queues)
        if _is_gpu(number) == is_gpu:
            return number


def _pod(chance: random.Random, job: int, shape: Shape, team: int, *, created: float, priority: int) -> Pod:
    bits = f"{chance.getrandbits(128):032x}"
    return Pod(
        uid=f"{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:]}",
        namespace=_team(team),
        name=f"job-{job}-{bits[:5]}",
        shape=shape,
        generation=1,
        resource_version=str(chance.randrange(10**7, 10**8)),
        queue="main",
        gates=(GATE,),
        priority=priority,
        created=created,
    )


# -- who runs ------------------------------------------------------------------------------------------------------


def _bind_pods(world: World, chance: random.Random, recipe: Recipe, shapes: Sequence[Shape]) -> None:
    free = _free_shares(world, recipe)
    for number in range(recipe.nodes):
        node = _node(number)
        world.nodes.append(node)
        if recipe.room < inf:
            share = min(_FREE_AT_MOST, free[node.labels[POOL]] * chance.uniform(0.5, 1.5))
            world.bound += _fill(world, chance, recipe, shapes, node, share)


def _free_shares(world: World, recipe: Recipe) -> dict[str, float]:
    """Say how much of each flavor's nodes has to be free for the room that the recipe wants."""
    shares = {}
    for name, size in _SIZES.items():
        resource = GPU if GPU in size else CPU
        asked = sum(amount for (_, flavor, of), amount in world.asked.items() if (flavor, of) == (name, resource))
        capacity = size[resource] * recipe.nodes * _POOLS.count(name) // _FIFTH
        shares[name] = recipe.room * asked / capacity
    return shares


def _fill(
    world: World, chance: random.Random, recipe: Recipe, shapes: Sequence[Shape], node: Node, share: float
) -> Iterator[Pod]:
    """Yield pods that leave this share of the node free: of queues where they fit, and others for the rest."""
    left = {r: int(amount * (1 - share) * chance.uniform(0.8, 1.0)) for r, amount in node.allocatable.items()}
    left[PODS] = _PODS_PER_NODE
    flavor = node.labels[POOL]
    for nth in range(_KNOWN_PER_NODE):
        number, team = chance.randrange(len(shapes)), chance.randrange(recipe.queues)
        shape, is_last = shapes[number], nth == _KNOWN_PER_NODE - 1
        fits = all(left.get(resource, 0) >= need for resource, need in shape.requests)
        fits = fits and _is_gpu(number) == _is_gpu(team) and allows(shape.constraints, node.name, node.labels)
        is_ours = fits and flavor in _flavors_of(team) and not is_last
        if not is_ours:
            rest = as_requests(left if is_last else {PODS: 1})
            shape = _anywhere(rest)
        for resource, amount in shape.requests:
            left[resource] -= amount
            if is_ours:
                world.used[(_team(team), flavor, resource)] += amount
        pod = replace(_pod(chance, nth, shape, team, created=float(_START), priority=0), gates=(), node=node.name)
        yield replace(pod, cluster_queue=_team(team), flavor=flavor) if is_ours else replace(pod, queue=None)


# -- nodes, flavors, quotas ----------------------------------------------------------------------------------------


def _node(number: int) -> Node:
    name, pool = f"node-{number:05}", _POOLS[number % _FIFTH]
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        POOL: pool,
        ZONE: ZONES[number // _FIFTH % len(ZONES)],
        RACK: _rack(number // _FIFTH % _RACKS),
    }
    taints = () if pool == "steady" else (Taint(pool, "true", "NoSchedule"),)
    return Node(name=name, labels=labels, taints=taints, allocatable=_SIZES[pool])


def _flavor(name: str) -> Flavor:
    return Flavor(name=name, node_labels=((POOL, name),), tolerations=(Toleration(key=name, operator="Exists"),))


def _nominal(world: World, recipe: Recipe, number: int, flavor: str) -> dict[str, int]:
    keys = {resource: (_team(number), flavor, resource) for resource in _SIZES[flavor] if resource != PODS}
    return {resource: world.used[key] + int(recipe.quota * world.asked[key]) for resource, key in keys.items()}


def _flavors_of(team: int) -> tuple[str, ...]:
    return _CHOICES[team % _FIFTH]


def _is_gpu(number: int) -> bool:
    return number % _FIFTH == _FIFTH - 1


def _team(number: int) -> str:
    return f"team-{number:04}"


def _rack(number: int) -> str:
    return f"rack-{number:03}"
