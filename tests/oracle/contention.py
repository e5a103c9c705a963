"""Worlds in which pods run that others may preempt, drawn from worlds in which few do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

from tests.oracle.worlds import GPU, Amounts, Node, Pod, Preemption, Queue, Running, World

_RECLAIM = ("Never", "LowerPriority", "Any", "Any")


def contended(chance: Random, world: World, flavor_of: dict[str, str]) -> World:
    """Let the queues preempt, and fill the nodes; `flavor_of` says which flavor goes with which pool."""
    queues = tuple(
        replace(one, preemption=_policy(chance, one), gives_bare_pods=_seldom(chance)) for one in world.queues
    )
    owners = [one for one in queues if one.quotas and not any(other.parent == one.name for other in queues)]
    if not world.nodes or not owners:
        return world
    if chance.random() < 0.4:
        return _in_one_queue(chance, world, chance.choice(owners), flavor_of)
    running = [
        _resident(chance, number, world.nodes, owners, flavor_of) for number in range(chance.choice((1, 2, 3, 4, 5)))
    ]
    if len(running) > 1 and chance.random() < 0.25:
        running[:2] = [replace(one, queue=running[0].queue, group="troupe", size=2) for one in running[:2]]
    return replace(world, queues=queues, running=tuple(running), pods=_ranked(chance, world))


def borrowed(chance: Random, world: World, flavor_of: dict[str, str]) -> World:
    """There is room for all, but some of a tree have taken all of its quota: shares say who gives it back."""
    owners = [one for one in world.queues if one.quotas and one.parent]
    if not owners:
        return contended(chance, world, flavor_of)
    flavor = owners[0].quotas[0][0]
    queues = tuple(_borrowing(chance, one, flavor) for one in world.queues)
    takers = [one for one in queues if one.parent and not any(other.parent == one.name for other in queues)]
    owned = sum(dict(one.quotas)[flavor]["cpu"] for one in queues if one.quotas)
    running: list[Running] = []
    while takers and sum(one.requests["cpu"] for one in running) < owned and len(running) < 6:
        made = _resident(chance, len(running), world.nodes, takers, flavor_of)
        cpu = chance.choice((500, 1000, 1000))
        running.append(
            replace(made, requests={"cpu": cpu, "memory": 0}, flavor=flavor, is_replaced=not _seldom(chance))
        )
    return replace(world, queues=queues, running=tuple(running), pods=_ranked(chance, world))


def of_two_resources(chance: Random, world: World) -> World:
    """One of them is short, often not the one that others have borrowed; who runs has borrowed in either flavor."""
    amounts = (0, 0, 1, 1, 2)
    queues = tuple(
        replace(
            one,
            quotas=tuple(
                (name, {**given, "cpu": 1000 * chance.choice((0, 1, 2, 3, 4)), GPU: chance.choice((0, 1, 2))})
                for name, given in one.quotas
            ),
            limits={},
            borrowing={} if chance.random() < 0.7 else one.borrowing,
        )
        for one in world.queues
    )
    running = tuple(
        replace(one, requests={"cpu": 1000 * chance.choice((0, 1, 1, 2)), "memory": 0, GPU: chance.choice(amounts)})
        for one in world.running
    )
    made = {
        str(pod.make): replace(pod.make, requests={"cpu": 1000 * chance.choice((1, 1, 2)), GPU: chance.choice(amounts)})
        for pod in world.pods
    }
    asked = {key: replace(make, requests=_without_nothing(make.requests)) for key, make in made.items()}
    pods = tuple(replace(pod, make=asked[str(pod.make)]) for pod in world.pods)
    return replace(world, queues=queues, running=running, pods=pods)


def _without_nothing(requests: Amounts) -> Amounts:
    return {resource: amount for resource, amount in requests.items() if amount}


def _borrowing(chance: Random, queue: Queue, flavor: str) -> Queue:
    """Most is owned high up in the tree, little by those who use it."""
    cpu = chance.choice((0, 0, 1000)) if queue.parent else chance.choice((1000, 2000, 3000))
    reclaim = chance.choice(("Any", "Any", "LowerPriority", "Never")) if queue.parent else "Never"
    policy = Preemption(within=chance.choice(("Never", "LowerPriority")), reclaim=reclaim)
    quotas = ((flavor, {"cpu": cpu, "memory": 64}),)
    return replace(queue, quotas=quotas, borrowing={}, lending={}, limits={}, preemption=policy)


def _in_one_queue(chance: Random, world: World, owner: Queue, flavor_of: dict[str, str]) -> World:
    """All in a queue that just has room for them, and preempts its own pods alone: then there is but one choice."""
    running = tuple(
        replace(_resident(chance, number, world.nodes, [owner], flavor_of), is_replaced=True, is_ending=False)
        for number in range(chance.choice((2, 3, 4, 5)))
    )
    within = chance.choice(("LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"))
    quotas = tuple(
        (name, {**given, "cpu": _sum(running, name) + chance.choice((0, 0, 500))}) for name, given in owner.quotas
    )
    alone = replace(owner, parent="", borrowing={}, lending={}, limits={}, weight=Fraction(1))
    queue = replace(alone, quotas=quotas, preemption=Preemption(within))
    namespace = chance.choice(tuple(world.namespaces))
    pods = tuple(
        replace(pod, namespace=namespace, queue=queue.name, priority=chance.choice((1, 2, 3)))
        for pod in world.pods[: chance.choice((1, 1, 2))]
    )
    queues = (queue, *(one for one in world.queues if one.parent != owner.name and one.name != owner.name))
    return replace(world, queues=queues, running=running, pods=pods)


def _sum(running: tuple[Running, ...], flavor: str) -> int:
    return sum(one.requests["cpu"] for one in running if one.flavor == flavor)


def _ranked(chance: Random, world: World) -> tuple[Pod, ...]:
    return tuple(replace(pod, priority=chance.choice((0, 1, 1, 2, 3))) for pod in world.pods)


def _seldom(chance: Random) -> bool:
    return chance.random() < 0.1


def _policy(chance: Random, queue: Queue) -> Preemption:
    reclaim = chance.choice(_RECLAIM) if queue.parent else "Never"
    return Preemption(
        within=chance.choice(("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority")),
        reclaim=reclaim,
        threshold=chance.choice((None, 0, 1, 9)) if reclaim != "Never" else None,
        spares=chance.choice((None, None, None, 10)),
    )


def _resident(
    chance: Random, number: int, nodes: tuple[Node, ...], owners: list[Queue], flavor_of: dict[str, str]
) -> Running:
    node, queue = chance.choice(nodes), chance.choice(owners)
    listed = [name for name, _ in queue.quotas]
    flavor = flavor_of.get(node.labels["pool"], "")
    requests = {"cpu": chance.choice((500, 1000, 1000, 2000, 3000)), "memory": chance.choice((0, 0, 0, 1))}
    if _seldom(chance):
        requests[GPU] = 1
    return Running(
        f"run-{number}",
        requests,
        node.name,
        queue.name,
        flavor if flavor in listed or _seldom(chance) else listed[0],
        priority=chance.choice((0, 0, 1, 2)),
        created=chance.randint(0, 3),
        minutes=chance.choice((5, 15)) + number,
        is_replaced=chance.random() < 0.85,
        is_ending=_seldom(chance),
    )
