"""What the core decides in a small world, held to the rules turn by turn; a disagreement made small, for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import yaml

from controller.core.decide import decide
from tests.oracle import rules
from tests.oracle.documents import document
from tests.oracle.rules import Placed
from tests.oracle.worlds import Pod, World
from tests.scenarios.events import Stage

_ORDER = ("namespaces", "flavors", "clusterQueues", "localQueues", "nodes", "foreign", "create")
_UNLIMITED = 10_000


@dataclass(frozen=True, slots=True)
class Decided:
    """What the core says: (pod, flavor, node) in order of admission, and the reason of each who waits."""

    admitted: tuple[tuple[str, str, str | None], ...]
    waiting: dict[str, str]


def decided(world: World) -> Decided:
    """Let the core read the world as it reads a cluster, and decide once."""
    stage, written = Stage(), document(world)
    for event in _ORDER:
        stage.happen(event, written[event])
    cache = stage.cluster.cache
    plan = decide(cache.snapshot(), limit=_UNLIMITED)
    admitted = tuple((cache.pods[one.workload.uid].name, one.flavor, one.node) for one in plan.admits)
    released = {name for name, _, _ in admitted}
    waiting = {}
    for pod in cache.pods.values():
        workload = cache.backlog.get(pod.uid)
        if workload is not None and pod.name not in released:
            waiting[pod.name] = plan.waits[workload.kind].reason.value
    return Decided(admitted, waiting)


def disagreement(world: World) -> str:
    """Say where the core and the rules part; empty: nowhere."""
    return next(_disagreements(world, decided(world)), "")


def _disagreements(world: World, found: Decided) -> Iterator[str]:
    """Follow the core's choice of nodes, which the rules leave open, and hold everything else to them."""
    admitted = {name: (flavor, node) for name, flavor, node in found.admitted}
    placed = [Placed(rules.demand(one.requests), one.queue, one.flavor, one.node) for one in world.running]
    line = sorted(world.pods, key=rules.place_in_line)
    held_up: set[str] = set()
    told: dict[tuple[object, ...], str] = {}
    for pod in line:
        queue, reasons = rules.queue_of(world, pod), rules.closed(world, pod)
        result = rules.Turn(reasons=frozenset(reasons))
        if queue is not None and not reasons:
            result = rules.Turn(reasons=frozenset({"Priority"}))
            if queue.name not in held_up:
                result = rules.turn(world, placed, queue, pod.make)
            if queue.is_strict and result.reasons:
                held_up.add(queue.name)
        yield from _held_to(pod, result, admitted.get(pod.name), found.waiting.get(pod.name), told)
        if pod.name in admitted and queue is not None:
            placed.append(Placed(rules.demand(pod.make.requests), queue.name, *admitted[pod.name]))
    in_line = [pod.name for pod in line if pod.name in admitted]
    if [name for name, _, _ in found.admitted] != in_line:
        yield f"admitted in the order {[name for name, _, _ in found.admitted]}; the rules: {in_line}"


def _held_to(
    pod: Pod,
    result: rules.Turn,
    admitted: tuple[str, str | None] | None,
    waiting: str | None,
    told: dict[tuple[object, ...], str],
) -> Iterator[str]:
    """Hold one pod to its turn. Pods alike share one reason, that of the first of them who has to wait."""
    alike = (pod.namespace, pod.queue, str(pod.make), pod.has_foreign_gate)
    if result.flavor:
        if admitted is None:
            yield f"{pod.name}: waits with {waiting}; by the rules it goes onto {result.flavor}, on {result.nodes}"
        elif admitted[0] != result.flavor or admitted[1] not in result.nodes:
            yield f"{pod.name}: went onto {admitted}; by the rules it goes onto {result.flavor}, on {result.nodes}"
    elif admitted is not None:
        yield f"{pod.name}: went onto {admitted}; by the rules it waits with {sorted(result.reasons)}"
    elif alike in told and told[alike] != waiting:
        yield f"{pod.name}: waits with {waiting}, another pod that is just alike with {told[alike]}"
    elif alike not in told and waiting not in result.reasons:
        yield f"{pod.name}: waits with {waiting}; by the rules with {sorted(result.reasons)}"
    if admitted is None and waiting is not None:
        told[alike] = waiting


# -- for people ----------------------------------------------------------------------------------------------------

_PARTS = ("pods", "running", "nodes", "doors", "queues", "flavors")


def smallest(world: World) -> World:
    """Take away whatever this disagreement does without."""
    sort = _sort(disagreement(world))
    for part in _PARTS:
        for one in getattr(world, part):
            left: Any = {part: tuple(other for other in getattr(world, part) if other is not one)}
            kept = replace(world, **left)
            if _is_whole(kept) and _sort(disagreement(kept)) == sort:
                world = kept
    return world


def _sort(told: str) -> str:
    """What is wrong, whichever pods and nodes it is about: another fault must not take its place."""
    return re.sub(r"\(.*?\)|\[.*?\]|pod-\d+", "", told)


def _is_whole(world: World) -> bool:
    """A queue that is named must not go, nor a node on which something runs: that would be another disagreement."""
    queues, nodes = {queue.name for queue in world.queues}, {node.name for node in world.nodes}
    return all(one.node in nodes for one in world.running) and {d.queue for d in world.doors} <= {*queues, "gone"}


def report(world: World) -> str:
    """Say where core and rules part in the smallest world where they do, as a scenario to begin with."""
    small = smallest(world)
    written = document(small)
    create = written.pop("create")
    body = {"title": "…", "rule": "…", "world": written, "steps": [{"create": create, "admitted": {}}]}
    return f"{disagreement(small)}\n\n{yaml.safe_dump(body, sort_keys=False, default_flow_style=None, width=120)}"
