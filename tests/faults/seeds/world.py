"""What is there while things go wrong: a tree of three queues with two flavors, and the work that comes to it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from controller.core.keys import POD_GROUP, POD_GROUP_SIZE, QUEUE_NAME
from tests.support.books import Share
from tests.support.team import TEAM_LABEL, Json, Team

FLAVORS: Final = ("spot", "base")
ROOT: Final = "tree"
QUEUES: Final = ("fifo", "best", "back")
SHARES: Final[Mapping[str, Mapping[str, Share]]] = {
    "spot": {
        ROOT: Share("", 0),
        "fifo": Share(ROOT, 4, borrows=2),
        "best": Share(ROOT, 2, lends=1),
        "back": Share(ROOT, 2, borrows=0),
    },
    "base": {
        ROOT: Share("", 1),
        "fifo": Share(ROOT, 0, borrows=1),
        "best": Share(ROOT, 4, lends=2),
        "back": Share(ROOT, 2),
    },
}
"""CPUs by flavor and queue."""
QUOTAS: Final = (1, 5)
"""What the quota of `best` on spot is changed to."""
NEVER: Final = "never"
"""A pod that asks for more than there ever is."""
FOREIGN_GATE: Final = "example.com/wait"
_SPECS: Final[Mapping[str, Json]] = {
    ROOT: {},
    "fifo": {"queueingStrategy": "StrictFIFO"},
    "best": {"preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}},
    "back": {"queueingStrategy": "Backfill"},
}
_PODS, _JOBS = 30, 4
_GANG = 3
_FOREIGN = 2


@dataclass(frozen=True, slots=True)
class Work:
    """What is created, in this order and at these times, in seconds from the begin."""

    pods: tuple[tuple[float, str, Json], ...]
    """Time, cpus and the options of `Team.pod`."""
    jobs: tuple[tuple[float, Json], ...]
    names: Mapping[str, str] = field(default_factory=dict)
    """Queues of the pods, by name."""


def draw_work(seed: int, seconds: float) -> Work:
    """Return the work of a seed, spread over so many seconds."""
    chance = random.Random(f"work {seed}")  # noqa: S311 - repeatable, not unpredictable
    pods = [_pod(chance, f"pod-{number:02}", seconds) for number in range(_PODS)]
    begin = chance.uniform(0, seconds)
    gang = {"labels": {POD_GROUP: "gang"}, "annotations": {POD_GROUP_SIZE: str(_GANG), "run-for": "1s"}}
    pods += [(begin, "1", {"name": f"gang-{n}", "queue": "best", **gang}) for n in range(_GANG)]
    pods.append((0.0, "64", {"name": NEVER, "queue": "back", "annotations": {}}))
    for number in range(_FOREIGN):
        at, cpu, options = _pod(chance, f"foreign-{number}", seconds / 2)
        pods.append((at, cpu, {**options, "queue": "back", "spec": {"schedulingGates": [{"name": FOREIGN_GATE}]}}))
    jobs = tuple(sorted((chance.uniform(0, seconds), _job(chance, f"job-{n}")) for n in range(_JOBS)))
    made = tuple(sorted(pods, key=lambda one: one[0]))
    return Work(made, jobs, {options["name"]: options["queue"] for _, _, options in made})


def _pod(chance: random.Random, name: str, seconds: float) -> tuple[float, str, Json]:
    queue = chance.choice(QUEUES)
    run_for = f"{chance.choice((500, 1500, 3000))}ms"
    return (
        chance.uniform(0, seconds),
        str(chance.choice((1, 1, 2))),
        {
            "name": name,
            "queue": queue,
            "annotations": {"run-for": run_for, "example.com/mark": name},
        },
    )


def _job(chance: random.Random, name: str) -> Json:
    """The manifest of a Job that is held as a whole."""
    count = chance.choice((1, 2, 3))
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"run-for": f"{chance.choice((1, 3))}s"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {QUEUE_NAME: chance.choice(("best", "back"))}
    spec = {"parallelism": count, "completions": count, "backoffLimit": 6, "template": template}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


async def build(team: Team) -> None:
    """Make the nodes, the flavors, the tree and its LocalQueues."""
    for flavor in FLAVORS:
        await team.nodes(flavor, count=2, cpu="6", memory="32Gi")
        await team.flavor(flavor)
    for name in (ROOT, *QUEUES):
        parent = {"parent": team.full(ROOT)} if name != ROOT else {"namespaceSelector": None}
        flavors = [{"name": team.full(flavor), "resources": [_quota(SHARES[flavor][name])]} for flavor in FLAVORS]
        spec = {"namespaceSelector": {}, "flavors": flavors, **_SPECS[name], **parent}
        await team.make("clusterqueues", "ClusterQueue", team.full(name), spec)
    for name in QUEUES:
        await team.local_queue(name, name)


def _quota(share: Share) -> Json:
    limits = {"borrowingLimit": share.borrows, "lendingLimit": share.lends}
    return {"name": "cpu", "nominalQuota": share.owns, **{k: v for k, v in limits.items() if v is not None}}


def nodes_of(team: Team) -> str:
    """The label selector of the team's nodes."""
    return f"{TEAM_LABEL}={team.id}"
