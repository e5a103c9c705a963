"""The demo's pods: a seeded list of manifests, the same for the same seed. Pure."""

from __future__ import annotations

import random
from typing import Any

from controller.core.keys import EXPECTED_RUNTIME, GATE, QUEUE_NAME
from controller.demo.world import LOCAL_QUEUE, RUN_LABEL, Body, DemoSetup, Team

UNITS = (1, 2, 4)
_UNIT_WEIGHTS = (60, 30, 10)
_SECONDS = (3, 9)
_URGENT_SHARE = 0.1
_IMAGE = "registry.k8s.io/pause:3.10"


def pods(world: DemoSetup, count: int, seed: int) -> list[Body]:
    """Return `count` pods of mixed teams, sizes, run times and priorities, in the order in which to create them."""
    chance = random.Random(seed)  # noqa: S311 - a demo must be repeatable, not unpredictable
    return [_pod(world, number, chance) for number in range(1, count + 1)]


def _pod(world: DemoSetup, number: int, chance: random.Random) -> Body:
    (team,) = chance.choices(world.teams, [team.share for team in world.teams])
    (units,) = chance.choices(UNITS, _UNIT_WEIGHTS)
    seconds = chance.randint(*_SECONDS)
    is_urgent = chance.random() < _URGENT_SHARE
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(world, team, f"{'urgent' if is_urgent else 'batch'}-{number:04}", seconds),
        "spec": _spec(world, units, seconds) | ({"priorityClassName": world.urgent} if is_urgent else {}),
    }


def _metadata(world: DemoSetup, team: Team, name: str, seconds: int) -> Body:
    return {
        "name": name,
        "namespace": world.named(team.name),
        "labels": {QUEUE_NAME: LOCAL_QUEUE, RUN_LABEL: world.run},
        # how long a fake node's kubelet runs the pod; a real one has never heard of it
        "annotations": {"run-for": f"{seconds}s", EXPECTED_RUNTIME: f"{seconds}s"},
    }


def _spec(world: DemoSetup, units: int, seconds: int) -> Body:
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65535, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "main",
                "image": _IMAGE,
                "resources": {"requests": world.amounts(units)},
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    }
    if world.on_real_nodes:
        # the image never ends by itself: this is how a real kubelet ends the pod
        spec |= {"activeDeadlineSeconds": seconds, "terminationGracePeriodSeconds": 1}
    if not world.is_gated_by_webhook:
        spec["schedulingGates"] = [{"name": GATE}]
    return spec
