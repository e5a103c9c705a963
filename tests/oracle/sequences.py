"""Small worlds in which something happens after each decision: what is decided then is held to the rules too.

The cache goes on from what it knows, as in the controller. So what a decision may skip is held to a look at everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import yaml

from controller.core.decision.decide import decide
from tests.oracle.agreement import UNLIMITED, begin, read
from tests.oracle.documents import document, queue_document
from tests.oracle.drawing import newcomer
from tests.oracle.rules import OR
from tests.oracle.turns import Decided, Fault, follow
from tests.oracle.worlds import Preemption, Running, World
from tests.scenarios.events import Stage

Event = dict[str, Any]
"""Keys of a step of a scenario."""
STEPS = 3


def disagreement(world: World, chance: Random) -> str:
    """Say where, in a sequence that is drawn for it, the core and the rules part; empty: nowhere.

    Nobody preempts in these: victims take their time, and what is kept meanwhile is the affair of `holding`.
    """
    world = replace(world, queues=tuple(replace(one, preemption=Preemption()) for one in world.queues))
    stage, events, told = begin(world), list[Event](), dict[tuple[object, ...], str]()
    first = document(world)
    for number in range(STEPS + 1):
        said = _decide(stage)
        try:
            told = {**told, **follow(world, said, told)}
        except Fault as fault:
            return (
                f"{fault}, in step {number}\n\n{yaml.safe_dump([first, *events], default_flow_style=None, width=120)}"
            )
        world = _after(world, said)
        known = {one.name for one in world.pods} | {one.name for one in world.running}
        for name in {*stage.cluster.pods} - known:
            raise AssertionError(f"{name} is nowhere")
        event, world = _happen(world, chance)
        for kind, value in event.items():
            stage.happen(kind, value)
        events.append(event)
    return ""


def _decide(stage: Stage) -> Decided:
    cache = stage.cluster.cache
    cache.advance(stage.cluster.now)
    plan = decide(cache.snapshot(), index=cache.feasibility, limit=UNLIMITED)
    said = read(cache, plan)
    cache.absorb(plan)
    stage.cluster.carry_out(plan)
    return said


def _after(world: World, said: Decided) -> World:
    """The world in which who was admitted runs, where room was found for it."""
    made = {pod.name: pod for pod in world.pods}
    behind = {(door.namespace, door.name): door.queue for door in world.doors}
    running = []
    for name, flavors, node in said.admitted:
        pod, (flavor, *also) = made.pop(name), flavors.split(OR)
        running.append(
            Running(
                name,
                pod.make.requests,
                node,
                behind[pod.namespace, pod.queue],
                flavor,
                pod.namespace,
                pod.queue,
                pod.group,
                pod.size,
                also=tuple(also),
            )
        )
    return replace(world, pods=tuple(made.values()), running=(*world.running, *running))


# -- what happens --------------------------------------------------------------------------------------------------


def _happen(world: World, chance: Random) -> tuple[Event, World]:
    kinds: list[Callable[[World, Random], tuple[Event, World]]] = [_comes]
    kinds += [_goes] * 3 if any(not one.group for one in world.running) else []
    kinds += [_node_goes, _node_closes, _node_closes] if world.nodes else []
    kinds += [_quota_moves] * 2 if any(one.quotas for one in world.queues) else []
    return chance.choice(kinds)(world, chance)


def _comes(world: World, chance: Random) -> tuple[Event, World]:
    pod = newcomer(chance, world)
    later = replace(world, pods=(*world.pods, pod))
    return {"create": {pod.name: document(later)["create"][pod.name]}}, later


def _goes(world: World, chance: Random) -> tuple[Event, World]:
    # a gang would keep the place of a member
    gone = chance.choice([one for one in world.running if not one.group])
    return {"delete": [gone.name]}, replace(world, running=tuple(one for one in world.running if one is not gone))


def _node_goes(world: World, chance: Random) -> tuple[Event, World]:
    gone = chance.choice(world.nodes)
    return {"nodes": {gone.name: None}}, replace(world, nodes=tuple(one for one in world.nodes if one is not gone))


def _node_closes(world: World, chance: Random) -> tuple[Event, World]:
    """Or opens."""
    was = chance.choice(world.nodes)
    now = replace(was, is_cordoned=not was.is_cordoned)
    event = {"nodes": {was.name: {"cordoned": now.is_cordoned}}}
    return event, replace(world, nodes=tuple(now if one is was else one for one in world.nodes))


def _quota_moves(world: World, chance: Random) -> tuple[Event, World]:
    was = chance.choice([one for one in world.queues if one.quotas])
    flavor = chance.choice(was.quotas)[0]
    quotas = tuple(
        (name, {**given, "cpu": 1000 * chance.choice((0, 1, 2, 4, 8))} if name == flavor else given)
        for name, given in was.quotas
    )
    now = replace(was, quotas=quotas)
    return {"clusterQueues": {was.name: queue_document(now)}}, replace(
        world, queues=tuple(now if one is was else one for one in world.queues)
    )
