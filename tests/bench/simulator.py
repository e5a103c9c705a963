"""How long a simulation takes: `python -m tests.bench.simulator [PODS]`, by default 50,000. A figure, never asserted.

Twenty queues of one tree share 200 nodes of 64 cores; pods of 1 to 4 cores run for about ten minutes, and come as fast
as nine tenths of the cores can run them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random

from controller.core.queueing.effective import WrittenQueue
from controller.core.workloads.pods import Pod
from controller.kube.clock import monotonic
from controller.simulator.measurements import Measuring
from controller.simulator.simulated_cluster import SimulatedCluster
from tests.support.builders import a_cluster_queue, a_local_queue, a_node, a_pod, a_shape, a_tree_quota
from tests.support.simulated_worlds import NOW, a_world

_PODS = 50_000
_QUEUES, _NODES, _CORES, _SECONDS = 20, 200, 64, 600
_SHAPES = [a_shape(cpu=str(cpu)) for cpu in (1, 2, 3, 4)]
_RESOLUTION = 10.0


def arrivals(count: int, chance: Random) -> Iterator[tuple[float, Pod]]:
    rate = 0.9 * _NODES * _CORES / 2.5 / _SECONDS
    at = NOW
    for number in range(count):
        at += chance.expovariate(rate)
        queue = f"team-{chance.randrange(_QUEUES)}"
        yield at, a_pod(f"pod-{number}", chance.choice(_SHAPES), queue=queue, created=at)


def main(count: int) -> None:
    chance = Random(1)  # noqa: S311 - cases, not secrets
    teams = [f"team-{number}" for number in range(_QUEUES)]
    share = a_tree_quota(cpu=1000 * _NODES * _CORES // _QUEUES)
    queues = [
        a_cluster_queue("org", a_tree_quota(cpu=0)),
        *(a_cluster_queue(one, share, parent="org") for one in teams),
    ]
    world = a_world(
        nodes=[a_node(f"node-{number:03}", cpu=str(_CORES)) for number in range(_NODES)],
        queues=[WrittenQueue(queue) for queue in queues],
        locals_=[a_local_queue(one, one) for one in teams],
    )
    measuring = Measuring(world)
    cluster = SimulatedCluster(
        world,
        end_of=lambda pod, now: now + Random(pod.uid).uniform(0.5, 1.5) * _SECONDS,  # noqa: S311
        observer=measuring,
        resolution=_RESOLUTION,
        elapsed=measuring.advance,
    )
    cluster.arrive(arrivals(count, chance))
    begun = monotonic()
    steps = sum(1 for _ in cluster.steps(NOW + 365 * 86_400))
    took = monotonic() - begun
    outcome = measuring.close(cluster.cache, cluster.now)
    ended = sum(outcome.ended.values())
    print(  # noqa: T201
        f"{ended} pods in {(cluster.now - NOW) / 3600:.1f} h of virtual time: {took:.1f} s, {steps} steps, "
        f"{1e6 * took / ended:.0f} us a pod"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else _PODS)
