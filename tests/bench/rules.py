"""The rules that cost a decision most, turned on for all queues of a world of the benchmark."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import QueueingStrategy
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Shape
from tests.bench.worlds import NOW, World

_RUNTIMES = (600, 1_800, 3_600, 7_200, 28_800)
"""Seconds that pods say they run."""
_PRIORITIES = (0, 0, 0, 10, 100)


def share_fairly(world: World, chance: random.Random) -> None:
    """Let the queues of each tree take turns by share, a fifth of them with twice the weight."""
    for at, queue in enumerate(world.queues):
        weight = Fraction(2) if queue.parent and chance.randrange(5) == 0 else Fraction(1)
        world.queues[at] = replace(queue, fair_sharing=FairSharing(weight))


def preempt(world: World, chance: random.Random) -> None:
    """Let queues preempt by priority, and take back what they lent."""
    policy = Preemption(within=Within.LOWER_PRIORITY, reclaim=Reclaim.ANY)
    world.queues[:] = [
        replace(one, preemption=policy, allow_bare_pods=True) if one.flavors else one for one in world.queues
    ]
    world.bound[:] = [replace(pod, priority=chance.choice(_PRIORITIES)) for pod in world.bound]


def backfill(world: World, chance: random.Random) -> None:
    """Let all queues backfill; pods of one make run equally long, and those that run began some time ago."""
    runtimes: dict[Shape, int] = {}

    def lasts(pod: Pod) -> Pod:
        return replace(pod, expected_runtime=runtimes.setdefault(pod.shape, chance.choice(_RUNTIMES)))

    world.queues[:] = [replace(one, strategy=QueueingStrategy.BACKFILL) if one.flavors else one for one in world.queues]
    world.queued[:] = [lasts(pod) for pod in world.queued]
    world.bound[:] = [_began(lasts(pod), chance) for pod in world.bound]


def _began(pod: Pod, chance: random.Random) -> Pod:
    return replace(pod, started=NOW - chance.randrange(pod.expected_runtime))


Rule = Callable[[World, random.Random], None]
RULES: dict[str, Rule] = {"fair": share_fairly, "preempt": preempt, "backfill": backfill}
