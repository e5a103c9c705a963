"""Queues that take back what is too much: nobody who may go is left who helps, and nobody goes who need not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.eviction_rules.over_quota import Excess, excesses
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.queues import ClusterQueue, FlavorQuota
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.pods import Pod
from tests.support.builders import a_cache, a_cluster_queue, a_flavor, a_local_queue, a_node, a_released_pod, a_shape
from tests.support.seeds import seeds

_FLAVORS = ("spot", "steady")
_TEAMS = {"team-0": "part", "team-1": "part", "team-2": "org", "team-3": "org", "alone": ""}
_PARENTS = {"org": "", "part": "org", **_TEAMS}
_MAKER = Owner("apps/v1", "ReplicaSet", "web", "web")


@dataclass(frozen=True, slots=True)
class World:
    """Queues as they are now, and pods that were admitted by other quotas."""

    queues: tuple[ClusterQueue, ...]
    pods: tuple[Pod, ...]

    def cache(self, without: frozenset[str] = frozenset()) -> ClusterCache:
        return a_cache(
            *(one for one in self.pods if one.uid not in without),
            nodes=[a_node(flavor, labels={"pool": flavor}, cpu=1000) for flavor in _FLAVORS],
            flavors=map(a_flavor, _FLAVORS),
            queues=self.queues,
            locals_=[a_local_queue(name, name) for name in _TEAMS],
        )

    def too_much(self, without: frozenset[str] = frozenset()) -> dict[str, list[Excess]]:
        """What is too much in queues that take it back once some are gone."""
        cache = self.cache(without)
        snapshot = cache.snapshot()
        taking = [one.name for one in snapshot.queues.cluster_queues.values() if one.takes_back_by]
        found = {name: excesses(snapshot.queues.tree, snapshot.usage.in_tree, name) for name in taking}
        return {name: over for name, over in found.items() if over}


def draw(chance: Random) -> World:
    queues = tuple(_queue(chance, name, parent) for name, parent in _PARENTS.items())
    return World(queues, tuple(_pod(chance, number) for number in range(chance.randint(4, 16))))


def _queue(chance: Random, name: str, parent: str) -> ClusterQueue:
    quotas = []
    for flavor in _FLAVORS:
        nominal = {"cpu": 1000 * chance.randint(0, 5)}
        if chance.random() < 0.3:
            nominal["pods"] = chance.randint(0, 3)
        borrowing, lending = (dict(nominal) if parent and chance.random() < 0.2 else {} for _ in range(2))
        quotas.append(FlavorQuota(flavor, nominal, borrowing, lending))
    by = "reclaimOverQuota" if chance.random() < 0.6 else ""
    most = {"cpu": 1000 * chance.randint(0, 8)} if chance.random() < 0.2 else {}
    return a_cluster_queue(name, *quotas, parent=parent, takes_back_by=by, limits=most)


def _pod(chance: Random, number: int) -> Pod:
    name, team = f"pod-{number:02}", chance.choice(list(_TEAMS))
    pod = a_released_pod(name, a_shape(cpu=str(chance.randint(1, 3))), queue=team, cluster_queue=team)
    flavor = chance.choice(_FLAVORS)
    return replace(
        pod,
        flavor=flavor,
        node=flavor,
        priority=chance.randint(0, 2),
        admitted_at=float(number),
        owner=_MAKER if chance.random() < 0.9 else None,
        is_terminating=chance.random() < 0.1,
    )


def evicted(world: World) -> list[Evict]:
    return list(decide(world.cache().snapshot(), limit=100).evicts)


@pytest.mark.parametrize("number", seeds(50))
def test_who_is_too_much_goes_and_nobody_else(number: int) -> None:
    world = draw(Random(number))  # noqa: S311 - cases, not secrets
    evicts = evicted(world)
    gone = frozenset(one.pod.uid for one in evicts)
    going = frozenset(one.uid for one in world.pods if one.is_terminating)
    assert {one.cause for one in evicts} <= {EvictionCause.OVER_QUOTA}
    assert gone.isdisjoint(going)
    assert all(one.pod.owner is not None for one in evicts)
    left = world.too_much(gone | going)
    for uid in gone:
        assert world.too_much((gone | going) - {uid}) != left, f"{uid} could have stayed"
    for pod in world.pods:
        if pod.uid in gone | going or pod.owner is None:
            continue
        less = world.too_much(gone | going | {pod.uid})
        assert less == left or _is_own(world, pod, left), f"{pod.uid} would have helped"


def _is_own(world: World, pod: Pod, left: dict[str, list[Excess]]) -> bool:
    """Whether its queue has no more of what is too much than is its own, so that it is others who have to go."""
    snapshot = world.cache().snapshot()
    tree, usage = snapshot.queues.tree, snapshot.usage.in_tree
    path = tree.path(pod.cluster_queue or "")
    return all(
        any(usage.beyond(name, (over.flavor, over.resource)) <= 0 for name in path[: path.index(queue)])
        for queue, those in left.items()
        if queue in path
        for over in those
        if over.flavor == pod.flavor
    )
