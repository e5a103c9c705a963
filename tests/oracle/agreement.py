"""What the core decides in a small world, held to the rules turn by turn; a disagreement made small, for people."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import yaml

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.workloads.decisions import Plan
from tests.oracle.documents import document
from tests.oracle.rules import OR
from tests.oracle.turns import Decided, Fault, follow
from tests.oracle.worlds import World
from tests.scenarios.events import Stage

_ORDER = ("time", "namespaces", "flavors", "clusterQueues", "localQueues", "nodes", "foreign", "terminate", "create")
UNLIMITED = 10_000


def decided(world: World) -> Decided:
    """Let the core read the world as it reads a cluster, and decide once."""
    stage = begin(world)
    cache = stage.cluster.cache
    cache.advance(stage.cluster.now)
    plan = decide(cache.snapshot(), index=cache.feasibility, limit=UNLIMITED)
    return read(cache, plan)


def begin(world: World) -> Stage:
    """Let the core read the world."""
    stage, written = Stage(), document(world)
    for event in _ORDER:
        stage.happen(event, written[event])
    return stage


def read(cache: ClusterCache, plan: Plan) -> Decided:
    """Return what a plan says, and what was told before to those who were not looked at."""
    admitted = tuple((cache.pods[one.uid].name, OR.join(one.flavors or (one.flavor,)), one.node) for one in plan.admits)
    released = {name for name, _, _ in admitted}
    waiting = {}
    for pod in cache.pods.values():
        workload = cache.backlog.of_pod(pod.uid)
        if workload is not None and pod.name not in released:
            wait = plan.waits.get(workload.kind) or cache.reasons.of(workload.kind)
            waiting[pod.name] = wait.reason.value
    evicted = tuple(evict.pod.name for evict in plan.evicts)
    preemptors = {cache.pods[uid].name for one in plan.preemptors for uid in _pods(cache, one)}
    return Decided(admitted, waiting, evicted, frozenset(preemptors))


def _pods(cache: ClusterCache, workload: str) -> tuple[str, ...]:
    found = cache.backlog.get(workload)
    return () if found is None else found.pods


def disagreement(world: World) -> str:
    """Say where the core and the rules part; empty: nowhere."""
    try:
        follow(world, decided(world))
    except Fault as fault:
        return str(fault)
    return ""


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
    queues, nodes = {"", "gone", *(queue.name for queue in world.queues)}, {node.name for node in world.nodes}
    named = {*(door.queue for door in world.doors), *(queue.parent for queue in world.queues)}
    return all(one.node in nodes for one in world.running) and named <= queues


def report(world: World) -> str:
    """Say where core and rules part in the smallest world where they do, as a scenario to begin with."""
    small = smallest(world)
    written = document(small)
    step = {key: written.pop(key, {}) for key in ("terminate", "create") if written[key]}
    body = {"title": "…", "rule": "…", "world": written, "steps": [{**step, "admitted": {}}]}
    return f"{disagreement(small)}\n\n{yaml.safe_dump(body, sort_keys=False, default_flow_style=None, width=120)}"
