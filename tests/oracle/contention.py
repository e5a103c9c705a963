"""Worlds in which pods run that others may preempt, drawn from worlds in which few do."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.oracle.worlds import GPU, Node, Preemption, Queue, Running, World

_RECLAIM = ("Never", "LowerPriority", "Any", "Any")


def contended(chance: Random, world: World, flavor_of: dict[str, str]) -> World:
    """Let the queues preempt, and fill the nodes; `flavor_of` says which flavor goes with which pool."""
    queues = tuple(
        replace(one, preemption=_policy(chance, one), gives_bare_pods=_seldom(chance)) for one in world.queues
    )
    owners = [one for one in queues if one.quotas and not any(other.parent == one.name for other in queues)]
    if not world.nodes or not owners:
        return world
    running = [
        _resident(chance, number, world.nodes, owners, flavor_of) for number in range(chance.choice((1, 2, 3, 4, 5)))
    ]
    if len(running) > 1 and chance.random() < 0.25:
        running[:2] = [replace(one, queue=running[0].queue, group="troupe", size=2) for one in running[:2]]
    pods = tuple(replace(pod, priority=chance.choice((0, 1, 1, 2, 3))) for pod in world.pods)
    return replace(world, queues=queues, running=tuple(running), pods=pods)


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
