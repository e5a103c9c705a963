"""Worlds for the simulator from builders of core values: one node, one flavor, one queue, unless others are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.effective import WrittenQueue
from controller.core.queueing.queues import Flavor, LocalQueue
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod
from controller.simulator.simulated_cluster import SimulatedCluster
from controller.simulator.world import World
from tests.support.builders import a_cluster_queue, a_flavor, a_local_queue, a_node, a_pod

NOW = 1_780_000_000.0


def a_world(
    *pods: Pod,
    nodes: Iterable[Node] | None = None,
    flavors: Iterable[Flavor] | None = None,
    queues: Iterable[WrittenQueue] | None = None,
    locals_: Iterable[LocalQueue] | None = None,
    jobs: Iterable[Job] = (),
    **fields: Any,
) -> World:
    written = [WrittenQueue(a_cluster_queue())] if queues is None else queues
    return World(
        now=NOW,
        queues={one.queue.name: one for one in written},
        local_queues={(one.namespace, one.name): one for one in ([a_local_queue()] if locals_ is None else locals_)},
        flavors={one.name: one for one in ([a_flavor()] if flavors is None else flavors)},
        namespaces={"default": {}},
        nodes={one.name: one for one in ([a_node()] if nodes is None else nodes)},
        jobs={one.uid: one for one in jobs},
        pods={one.uid: one for one in pods},
        **fields,
    )


def a_job_pod(job: Job, name: str, **fields: Any) -> Pod:
    """A pod that the Job controls."""
    return a_pod(name, owner=Owner("batch/v1", "Job", job.name, job.uid), **fields)


@dataclass(slots=True)
class Diary:
    """All that an observer is told, as sentences with the seconds since `NOW`."""

    lines: list[str] = field(default_factory=list)

    def arrived(self, pod: Pod, at: float) -> None:
        self.lines.append(f"{at - NOW:g} {pod.name} arrived")

    def began(self, pod: Pod, at: float) -> None:
        self.lines.append(f"{at - NOW:g} {pod.name} began on {pod.node}")

    def succeeded(self, pod: Pod, at: float) -> None:
        self.lines.append(f"{at - NOW:g} {pod.name} succeeded")

    def lost(self, pod: Pod, at: float, evict: Evict | None) -> None:
        self.lines.append(f"{at - NOW:g} {pod.name} {'lost' if evict is None else evict.cause.value}")


def lasting(seconds: float) -> Callable[[Pod, float], float]:
    """Every pod runs so long from its start."""
    return lambda pod, now: (pod.started or now) + seconds


def simulated(world: World, *, seconds: float = 600, until: float = 86_400, **options: Any) -> list[str]:
    """What happens in a world all of whose pods run so long; `until` in seconds from its beginning."""
    diary = Diary()
    cluster = SimulatedCluster(world, end_of=lasting(seconds), observer=diary, **options)
    for _ in cluster.steps(NOW + until):
        pass
    return diary.lines
