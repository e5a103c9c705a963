"""Busy clusters drawn from a seed, whose truth is known: a past that made its history, a present, and what comes.

Pods of several teams come all day at about the rate at which they are done; each team has its own runtimes, and some
teams state theirs, more than they take. The past is simulated to a moment at which many wait: that is the world that
is asked about, with what the product knows. Then the truth goes on, with more arrivals, until all who waited started.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import exp, log
from random import Random

from controller.core.queueing.effective import WrittenQueue
from controller.core.queueing.queues import QueueingStrategy
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod
from controller.simulator.simulated_cluster import SimulatedCluster
from controller.simulator.world import PastRun, World
from tests.support.builders import a_cluster_queue, a_local_queue, a_node, a_pod, a_shape, a_tree_quota
from tests.support.simulated_worlds import NOW, a_world

_CPUS = ("1", "2")
_MOST_AT_ONCE = (1, 12)
"""Pods of one batch, by team: one alone, or up to so many."""
_ASKED = 6
"""So many of the pods that wait are asked about."""
_LEAST_WAITING = 24


@dataclass(frozen=True, slots=True)
class Team:
    """A queue of its own, and how its pods run: the median of their seconds, the spread of its logarithm.

    `overstates`: by what factor it states more than the longest it expects; 0: it states nothing.
    """

    name: str
    median: float
    spread: float
    overstates: float
    strategy: QueueingStrategy

    def runtime(self, chance: Random) -> int:
        return max(30, int(chance.lognormvariate(log(self.median), self.spread)))


@dataclass(slots=True)
class Truth:
    """Who started when, and who succeeded; by uid, in epoch seconds."""

    created: dict[str, float] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)
    runs: list[PastRun] = field(default_factory=list)

    def arrived(self, pod: Pod, at: float) -> None:
        self.created[pod.uid] = at

    def began(self, pod: Pod, at: float) -> None:
        self.started.setdefault(pod.uid, at)

    def succeeded(self, pod: Pod, at: float) -> None:
        queue = (pod.namespace, pod.queue or "")
        seconds = int(at) - pod.started
        self.runs.append(PastRun(queue, pod.shape.requests, int(at), pod.uid, seconds, pod.expected_runtime))

    def lost(self, pod: Pod, at: float, evict: Evict | None) -> None:
        self.started.pop(pod.uid, None)


@dataclass(frozen=True, slots=True)
class Busy:
    """The world at a moment, who is asked about, by uid, and the truth that comes."""

    world: World
    asked: list[str]
    truth: Truth


def draw(seed: int) -> Busy:
    """Draw a cluster; the same seed is the same."""
    chance = Random(f"busy/{seed}")  # noqa: S311 - cases, not secrets
    teams = [_team(chance, f"team-{number}") for number in range(chance.randint(1, 2))]
    seconds: dict[str, int] = {}
    cluster, truth = _cluster(chance, teams, seconds)
    moment = NOW + 12 * 3600
    for now in cluster.steps(NOW + 60 * 86_400):
        if now >= moment and len(cluster.cache.backlog) >= _LEAST_WAITING:
            break
    world = _seen(cluster, truth, teams)
    waiting = sorted((pod.created, uid) for uid, pod in world.pods.items() if pod.gates)
    asked = [uid for _, uid in waiting[:: max(1, len(waiting) // _ASKED)]][:_ASKED]
    for _ in cluster.steps(NOW + 30 * 86_400):
        if all(uid in truth.started for uid in asked):
            break
    return Busy(world, asked, truth)


def _team(chance: Random, name: str) -> Team:
    median = 60 * chance.uniform(10, 60)
    overstates = chance.choice((0, 0, chance.uniform(1.0, 2.0)))
    return Team(name, median, chance.uniform(0.3, 0.8), overstates, chance.choice(list(QueueingStrategy)))


def _cluster(chance: Random, teams: list[Team], seconds: dict[str, int]) -> tuple[SimulatedCluster, Truth]:
    nodes = chance.randint(2, 3)
    share = nodes * 4000 // len(teams)
    queues = [a_cluster_queue("org", a_tree_quota(cpu=0))]
    queues += [
        a_cluster_queue(team.name, a_tree_quota(cpu=share), parent="org", strategy=team.strategy) for team in teams
    ]
    world = a_world(
        nodes=[a_node(f"node-{number}") for number in range(nodes)],
        queues=[WrittenQueue(queue) for queue in queues],
        locals_=[a_local_queue(team.name, team.name) for team in teams],
    )
    truth = Truth()
    cluster = SimulatedCluster(
        world, end_of=lambda pod, now: (pod.started or now) + seconds[pod.uid], observer=truth, resolution=1.0
    )
    for team in teams:
        cluster.arrive(_arrivals(Random(f"{chance.random()}"), team, share, seconds))  # noqa: S311
    return cluster, truth


def _arrivals(chance: Random, team: Team, share: int, seconds: dict[str, int]) -> Iterator[tuple[float, Pod]]:
    """Batches come by chance, in all about as much as the team's share of the nodes can run."""
    cores, mean = share / 1000, team.median * exp(team.spread**2 / 2)
    most = chance.choice(_MOST_AT_ONCE)
    gap = (1 + most) / 2 * mean * 1.5 / cores / chance.uniform(0.95, 1.15)
    at, number = NOW, 0
    while True:
        at += chance.expovariate(1 / gap)
        shape = a_shape(cpu=chance.choice(_CPUS))
        for _ in range(chance.randint(1, most)):
            number += 1
            uid = f"{team.name}-{number:05}"
            seconds[uid] = team.runtime(chance)
            longest = team.median * (1 + 2 * team.spread)
            stated = 300 * -(-int(team.overstates * max(longest, seconds[uid])) // 300)
            yield at, a_pod(uid, shape, queue=team.name, created=at, expected_runtime=stated)


def _seen(cluster: SimulatedCluster, truth: Truth, teams: list[Team]) -> World:
    """The world as the product knows it at this moment."""
    cache = cluster.cache
    return replace(
        a_world(
            nodes=cache.nodes.values(),
            queues=cache.queues.written().values(),
            locals_=[a_local_queue(team.name, team.name) for team in teams],
        ),
        now=cluster.now,
        pods=dict(cache.pods),
        runs=tuple(truth.runs),
    )
