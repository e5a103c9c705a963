"""Backfill in random worlds in which everything ends when it is expected to: nobody starts later than it was promised.

The promise is the time of the reservation that a workload gets first. Who comes before it in the order may take what it
waits for, and then it has to be promised anew; who comes after it never may.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.workloads.decisions import Admit
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import OrderKey
from tests.support.builders import (
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_shape,
    a_static_flavor,
    a_tree_quota,
    decided,
)
from tests.support.seeds import examples
from tests.support.snapshots import changed

BACKFILL, BEST_EFFORT = QueueingStrategy.BACKFILL, QueueingStrategy.BEST_EFFORT_FIFO
MINUTE = 60
FLAVORS = (a_flavor("spot"), a_flavor("steady"), a_static_flavor("licence", cpu="3"))
DOORS = (a_local_queue("main", "team-a"), a_local_queue("other", "team-b"))


@st.composite
def queues(draw: st.DrawFn, name: str, strategy: QueueingStrategy) -> ClusterQueue:
    flavors = draw(st.sampled_from((("spot",), ("spot",), ("spot", "steady"), ("steady", "licence"))))
    cpu, borrow = st.sampled_from((1000, 3000, 6000)), st.sampled_from((None, 0, 2000))
    quotas = [a_tree_quota(one, draw(cpu), borrow=draw(borrow)) for one in flavors]
    limits = draw(st.sampled_from(({}, {}, {"cpu": 4000})))
    return a_cluster_queue(
        name, *quotas, parent=draw(st.sampled_from(("org", "org", ""))), strategy=strategy, limits=limits
    )


@st.composite
def works(draw: st.DrawFn, number: int) -> list[tuple[Pod, int]]:
    """A pod, or a gang of two, and for how long it runs in seconds; some do not say it."""
    seconds = draw(st.integers(1, 20)) * MINUTE
    is_known = draw(st.integers(0, 5)) > 0
    created = float(draw(st.integers(0, 15)) * MINUTE)
    queue = draw(st.sampled_from(("main", "main", "other")))
    shape = a_shape(cpu=draw(st.sampled_from(("500m", "1", "1", "2", "3", "4"))))
    name = f"p{number:02}"
    group = Membership(GroupKey("default", name), 2) if draw(st.integers(0, 4)) == 0 else None
    one = a_pod(name, shape, queue=queue, created=created, group=group, expected_runtime=seconds if is_known else 0)
    if group is None:
        return [(one, seconds)]
    return [(replace(one, name=f"{name}{member}", uid=f"{name}{member}"), seconds) for member in "ab"]


@dataclass
class Simulation:
    """A cluster in which pods come, start at once where they are admitted, and end after their time."""

    cache: ClusterCache
    coming: list[tuple[Pod, int]]
    now: float = 0.0
    runtime: dict[str, int] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)
    promised: dict[str, tuple[float, OrderKey]] = field(default_factory=dict)
    kept: int = 0

    def run(self) -> None:
        """Go from event to event until nothing more happens."""
        self.coming.sort(key=lambda one: one[0].created)
        while self.coming or self.ends:
            self.now = min([one.created for one, _ in self.coming[:1]] + [*self.ends.values()])
            for uid in [uid for uid, at in self.ends.items() if at <= self.now]:
                del self.ends[uid]
                self.cache.drop_pod(uid)
            while self.coming and self.coming[0][0].created <= self.now:
                pod, seconds = self.coming.pop(0)
                self.runtime[pod.uid] = seconds
                self.cache.put_pod(pod)
            self.come_to_rest()

    def come_to_rest(self) -> None:
        while True:
            self.cache.advance(self.now)
            plan = decided(self.cache)
            for admit in plan.admits:
                self.start(admit)
            if not plan.admits:
                break
        full = changed(self.cache.snapshot(), asked=None)
        assert decide(full, limit=UNLIMITED).admits == ()
        self.note_promises()

    def start(self, admit: Admit) -> None:
        """Release it, bind it where it was planned, and let it run."""
        at, order = self.promised.pop(admit.workload.uid, (inf, admit.workload.order))
        assert self.now <= at, f"{admit.workload.uid} was promised {at}, and starts at {self.now}"
        self.kept += at < inf
        self.promised = {uid: one for uid, one in self.promised.items() if one[1] < order}
        pod = self.cache.pods[admit.uid]
        stamps: dict[str, Any] = {"cluster_queue": admit.cluster_queue, "flavor": admit.flavor, "admitted_at": self.now}
        times: dict[str, Any] = {"started": ceil(self.now), "node": admit.node or "elsewhere", "resource_version": "2"}
        self.cache.put_pod(replace(pod, gates=(), **stamps, **times))
        self.cache.settle(admit.uid)
        self.ends[admit.uid] = self.now + self.runtime[admit.uid]

    def note_promises(self) -> None:
        for kind, run in self.cache.backlog.runs.items():
            booking = self.cache.reasons.of(kind).booking
            for workload in run:
                if booking is not None and workload.uid == booking.uid:
                    self.promised.setdefault(workload.uid, (booking.at, workload.order))


@st.composite
def simulations(draw: st.DrawFn) -> Simulation:
    def node(name: str) -> Node:
        return a_node(name, labels={"pool": draw(st.sampled_from(("spot", "spot", "steady")))}, cpu=draw(sizes))

    sizes = st.sampled_from(("2", "4", "4"))
    root = a_cluster_queue("org", a_tree_quota("spot", draw(st.sampled_from((0, 2000)))), a_tree_quota("steady", 1000))
    licence = replace(root, flavors=(*root.flavors, a_tree_quota("licence", 1000)))
    other = draw(st.sampled_from((BACKFILL, BEST_EFFORT, BEST_EFFORT)))
    cache = a_cache(
        nodes=[node(f"node-{number}") for number in range(draw(st.integers(1, 3)))],
        flavors=FLAVORS,
        queues=[licence, draw(queues("team-a", BACKFILL)), draw(queues("team-b", other))],
        locals_=DOORS,
    )
    count = draw(st.integers(3, 14))
    return Simulation(cache, [one for number in range(count) for one in draw(works(number))])


@given(simulations())
@settings(max_examples=examples(400))
def test_nobody_starts_later_than_promised(simulation: Simulation) -> None:
    simulation.run()
    assert not simulation.coming
    assert not simulation.ends
