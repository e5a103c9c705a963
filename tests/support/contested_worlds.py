"""Small trees in which queues contend for quota and nodes by preemption, and what happens there: drawn from a seed.

All of it is drawn beforehand and has a name, so that parts can be left out and the rest stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.fair_sharing_policy import FairSharing, Strategy
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, FlavorQuota, QueueingStrategy, WhenCanBorrow, WhenCanPreempt
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Shape
from tests.support.builders import UNLIMITED, a_cluster_queue, a_foreign_pod, a_node, a_pod, a_released_pod, a_shape

NOW = 100_000
FLAVORS = ("spot", "steady")
CLOUD = "cloud"
"""A flavor of which only the sum is known; whoever is admitted onto it runs on the one node that is large enough."""
_GB = 10**9
_WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
_JOB = Owner("batch/v1", "Job", "job", "job")
_POLICIES = [
    Preemption(within, reclaim, borrows, threshold)
    for within in Within
    for reclaim in Reclaim
    for borrows, threshold in ((False, None), (True, None), (True, 1))
]
_STRATEGIES = (*[QueueingStrategy.BEST_EFFORT_FIFO] * 8, QueueingStrategy.STRICT_FIFO)
_BACKFILLING = (*[QueueingStrategy.BACKFILL] * 4, *_STRATEGIES[-4:])
_CHOICES = (("spot",), ("spot",), ("spot", "steady"), ("steady", "spot"))
_CLOUDED = ((CLOUD,), (CLOUD, "spot"), ("spot", CLOUD), ("spot", CLOUD, "steady"))
_SHARED = (tuple(Strategy), tuple(Strategy)[:1], tuple(Strategy)[1:])
_WEIGHTS = tuple(FairSharing(weight=Fraction(weight)) for weight in (1, 1, 2, 0))
_ODD_WEIGHTS = tuple(FairSharing(weight=Fraction(weight)) for weight in ("1", "3", "1/2", "0", "7/3"))

Happening = tuple[str, Any]
"""What happens, and to what: pods and queues by name, nodes and pods that come as they are then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contested:
    """A world and what happens in it.

    `is_slow`: who is evicted goes on until something more happens to it. `limit`: so many are admitted at a time,
    `at_once`: so many evicted. `cloud`: so many cpu the flavor of that name has, None: there is none.
    """

    queues: tuple[ClusterQueue, ...]
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    happenings: tuple[Happening, ...]
    is_slow: bool = False
    limit: int = UNLIMITED
    at_once: int = 100
    cloud: int | None = None


def trees(seed: int) -> Contested:
    """Companies with departments, some with quota of their own, and teams of mixed policies."""
    return _Drawing(Random(seed)).world()  # noqa: S311 - worlds, not secrets


def gangs(seed: int) -> Contested:
    """The same, and half of the pods are of gangs of two or three whose members are alike or not."""
    return _Drawing(Random(seed), ganged=0.5).world()  # noqa: S311


def fair(seed: int) -> Contested:
    """The same where shares decide, and some of the pods are of gangs."""
    return _Drawing(Random(seed), ganged=0.2, is_fair=True).world()  # noqa: S311


def mingled(seed: int) -> Contested:
    """The first again, where pods that are not ours come and go, some are of Jobs, and of a flavor the sum is known."""
    return _Drawing(Random(seed), is_mingled=True).world()  # noqa: S311


def mingled_fair(seed: int) -> Contested:
    """The same where shares decide, and some of the pods are of gangs."""
    return _Drawing(Random(seed), ganged=0.2, is_fair=True, is_mingled=True).world()  # noqa: S311


def deep(seed: int) -> Contested:
    """Companies whose departments stand below one another, with more teams, where shares decide by odd weights."""
    return _Drawing(Random(seed), is_fair=True, is_deep=True).world()  # noqa: S311


def deep_gangs(seed: int) -> Contested:
    """The same, and some of the pods are of gangs."""
    return _Drawing(Random(seed), ganged=0.3, is_fair=True, is_deep=True).world()  # noqa: S311


def backfilling(seed: int) -> Contested:
    """The first where about half of the queues backfill, and pods say how long they run or do not."""
    return _Drawing(Random(seed), is_backfilling=True).world()  # noqa: S311


def fair_backfilling(seed: int) -> Contested:
    """The same where shares decide, and some of the pods are of gangs."""
    return _Drawing(Random(seed), ganged=0.2, is_fair=True, is_backfilling=True).world()  # noqa: S311


def apart(seed: int) -> Contested:
    """Two or three companies whose pods run on the same nodes, and who is evicted takes time to go."""
    return _Drawing(Random(seed), ganged=0.2, is_mingled=True, is_apart=True).world()  # noqa: S311


def apart_fair(seed: int) -> Contested:
    """The same where shares decide."""
    return _Drawing(Random(seed), ganged=0.2, is_fair=True, is_mingled=True, is_apart=True).world()  # noqa: S311


class _Drawing:
    """What is drawn of one world by now. `ganged`: which part of the pods is of gangs."""

    def __init__(
        self,
        chance: Random,
        *,
        ganged: float = 0.0,
        is_fair: bool = False,
        is_mingled: bool = False,
        is_deep: bool = False,
        is_backfilling: bool = False,
        is_apart: bool = False,
    ) -> None:
        self._chance = chance
        self._ganged = ganged
        self._is_fair = is_fair
        self._is_mingled = is_mingled
        self._is_deep = is_deep
        self._is_backfilling = is_backfilling
        self._weights = _ODD_WEIGHTS if is_deep else _WEIGHTS
        self._is_apart = is_apart
        self._is_slow = is_apart or chance.random() < 0.4
        self._has_memory = chance.random() < 0.3
        self._teams: list[str] = []
        self._names: list[str] = []
        self._pools: dict[str, str] = {}
        """Of nodes, which stay of their flavor."""

    def world(self) -> Contested:
        """Draw all of it."""
        chance = self._chance
        queues = self._queues()
        nodes = [self._node(f"node-{number}") for number in range(chance.randint(2, 5))]
        running = self._running(nodes)
        waiting = self._pods("waits", chance.randint(3, 14))
        happenings: list[Happening] = [("comes", pod) for pod in self._pods("comes", chance.randint(0, 8))]
        happenings += [self._happening(nodes) for _ in range(chance.randint(8, 20))]
        happenings += self._from_elsewhere(nodes) if self._is_mingled else []
        chance.shuffle(happenings)
        return Contested(
            queues=tuple(queues),
            nodes=tuple(nodes),
            pods=(*running, *waiting),
            happenings=tuple(happenings),
            is_slow=self._is_slow,
            # a gang that is larger than what is left of the limit ends the decision, unless it is known to be blocked
            limit=UNLIMITED if self._ganged else chance.choice((UNLIMITED, UNLIMITED, UNLIMITED, 2)),
            cloud=chance.randint(0, 6) if self._is_mingled else None,
        )

    # -- queues and nodes ------------------------------------------------------------------------------------------

    def _queues(self) -> list[ClusterQueue]:
        chance = self._chance
        trees = chance.choice((2, 2, 3)) if self._is_apart else 1 if self._is_slow else chance.choice((1, 1, 2))
        companies = [f"company-{number}" for number in range(trees)]
        departments = [f"department-{number}" for number in range(chance.randint(0, 6 if self._is_deep else 3))]
        self._teams = [f"team-{number}" for number in range(chance.randint(2, 8 if self._is_deep else 5))]
        found = [self._above(name, "") for name in companies]
        for number, name in enumerate(departments):
            found.append(self._above(name, chance.choice(companies + departments[: number * self._is_deep])))
        parents = [*departments, *departments, *companies]
        return found + [self._team(name, chance.choice(parents)) for name in self._teams]

    def _above(self, name: str, parent: str) -> ClusterQueue:
        chance = self._chance
        names = (*FLAVORS, CLOUD) if self._is_mingled else FLAVORS
        quotas = [self._quota(flavor, parent) for flavor in names] if chance.random() < 0.6 else []
        limits = {"cpu": 1000 * chance.randint(4, 9)} if chance.random() < 0.1 else {}
        sharing = None
        if self._is_fair:
            sharing = chance.choice(self._weights) if parent else FairSharing(strategies=chance.choice(_SHARED))
        return ClusterQueue(name=name, flavors=tuple(quotas), parent=parent, limits=limits, fair_sharing=sharing)

    def _team(self, name: str, parent: str) -> ClusterQueue:
        chance = self._chance
        names = chance.choice(_CHOICES + (_CLOUDED if self._is_mingled else ()))
        policy = chance.choice(_POLICIES)
        return a_cluster_queue(
            name,
            *(self._quota(flavor, parent) for flavor in names),
            parent=parent,
            preemption=replace(policy, minimum_runtime=chance.choice((0, 0, 0, 600))),
            strategy=chance.choice(_BACKFILLING if self._is_backfilling else _STRATEGIES),
            when_can_borrow=chance.choice((WhenCanBorrow.MAY_STOP_SEARCH, *WhenCanBorrow)),
            when_can_preempt=chance.choice((WhenCanPreempt.TRY_NEXT_FLAVOR, *WhenCanPreempt)),
            fair_sharing=chance.choice(self._weights) if self._is_fair else None,
            user_limits={"cpu": 3000} if chance.random() < 0.1 else {},
        )

    def _quota(self, flavor: str, parent: str) -> FlavorQuota:
        chance = self._chance
        nominal = {"cpu": 1000 * chance.choice((0, 0, 1, 2, 3, 4))}
        if self._has_memory:
            nominal["memory"] = _GB * chance.choice((0, 2, 4, 8))
        borrowing = {"cpu": 1000 * chance.choice((0, 1, 2))} if parent and chance.random() < 0.25 else {}
        lending = {"cpu": nominal["cpu"] // chance.choice((1000, 2, 3))} if parent and chance.random() < 0.25 else {}
        return FlavorQuota(flavor, nominal, borrowing, lending)

    def _node(self, name: str) -> Node:
        chance = self._chance
        cpu, memory = chance.randint(2, 5), f"{chance.choice((3, 6, 50))}G"
        pool = self._pools.setdefault(name, chance.choice(("spot", "spot", "steady")))
        return a_node(name, labels={"pool": pool}, is_usable=chance.random() < 0.9, pods=20, cpu=cpu, memory=memory)

    # -- pods ------------------------------------------------------------------------------------------------------

    def _shape(self) -> Shape:
        amounts = {"cpu": self._chance.choice(("1", "1", "2", "3"))}
        if self._has_memory:
            amounts["memory"] = self._chance.choice(("1G", "1G", "3G"))
        return a_shape(**amounts)

    def _pods(self, word: str, count: int) -> list[Pod]:
        chance, found = self._chance, list[Pod]()
        while len(found) < count:
            pod = replace(self._pod(f"{word}-{len(found)}"), created=float(NOW - 10 * chance.randint(0, 50)))
            found += self._gang(pod) if chance.random() < self._ganged else [pod]
        self._names += [pod.name for pod in found]
        return found

    def _pod(self, name: str) -> Pod:
        chance = self._chance
        return a_pod(
            name,
            self._shape(),
            queue=chance.choice(self._teams),
            priority=chance.randint(0, 2),
            owner=self._owner(),
            user=chance.choice(("ann", "bob")),
            expected_runtime=chance.choice((0, 300, 600, 3600, 7200)) if self._is_backfilling else 0,
        )

    def _owner(self) -> Owner | None:
        if self._chance.random() < 0.05:
            return None
        return self._chance.choice((_WEB, _JOB)) if self._is_mingled else _WEB

    def _gang(self, pod: Pod) -> list[Pod]:
        chance = self._chance
        size, is_alike = chance.choice((2, 2, 3)), chance.random() < 0.6
        group = Membership(GroupKey("default", pod.name), size, minimum=chance.choice((0, 0, size - 1)))
        shapes = [pod.shape if is_alike else self._shape() for _ in range(size)]
        names = [f"{pod.name}.{number}" for number in range(size)]
        return [
            replace(pod, name=name, uid=name, shape=shape, group=group)
            for name, shape in zip(names, shapes, strict=True)
        ]

    def _running(self, nodes: list[Node]) -> list[Pod]:
        """Pods on the nodes that have room for them, as if quotas had been others once."""
        chance, found = self._chance, list[Pod]()
        left = {node.name: dict(node.allocatable) for node in nodes}
        for pod in self._pods("runs", chance.randint(3, 14)):
            on = chance.choice(nodes)
            needs = dict(pod.shape.requests)
            if any(left[on.name].get(resource, 0) < need for resource, need in needs.items()):
                continue
            for resource, need in needs.items():
                left[on.name][resource] -= need
            ran = chance.randrange(9000)
            found.append(
                a_released_pod(
                    pod.name,
                    pod.shape,
                    queue=pod.queue,
                    cluster_queue=pod.queue,
                    flavor=on.labels["pool"],
                    node=on.name,
                    priority=pod.priority,
                    owner=pod.owner,
                    user=pod.user,
                    expected_runtime=pod.expected_runtime,
                    group=pod.group,
                    created=float(NOW - ran - 100),
                    admitted_at=float(NOW - ran),
                    started=NOW - ran,
                    preemptions=chance.choice((0, 0, 0, 3, 6)),
                )
            )
        return found

    # -- what happens ----------------------------------------------------------------------------------------------

    def _happening(self, nodes: list[Node]) -> Happening:
        chance = self._chance
        what = chance.choice(("ends",) * 14 + ("node", "node gone", "cordoned", "held", "opened", "time"))
        match what:
            case "ends":
                return what, chance.choice(self._names)
            case "node":
                return what, self._node(f"node-{chance.randint(0, 5)}")
            case "held" | "opened":
                return what, chance.choice(self._teams)
            case "time":
                return what, chance.choice((60, 600, 3600))
            case _:
                return what, chance.choice(nodes).name

    def _from_elsewhere(self, nodes: list[Node]) -> list[Happening]:
        """Pods that are not ours come to nodes, some of which end, and the sum of the cloud changes."""
        chance = self._chance
        found: list[Happening] = [("supply", chance.randint(0, 6)) for _ in range(chance.randint(0, 3))]
        for number in range(chance.randint(0, 5)):
            name = f"foreign-{number}"
            found.append(("foreign", a_foreign_pod(name, self._shape(), node=chance.choice(nodes).name)))
            found += [("ends", name)] * chance.randint(0, 2)
        return found
