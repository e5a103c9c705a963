"""How many are evicted for one admission: no more than stand in its way at once, however slowly they go or stay."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.workloads.decisions import Evict
from tests.property.decisions.test_preemption import QUEUES, WEB, World
from tests.support.builders import a_cluster_queue, a_pod, a_shape, a_tree_quota, decided

URGENT = "urgent"
DECISIONS = 40
WITHIN = Preemption(Within.LOWER_PRIORITY)
RECLAIM = Preemption(Within.NEVER, Reclaim.ANY)
REFUSED = -1.0
SLOW = (0.0, 1.0, 30.0, 200.0, 1000.0, 3000.0)
"""Seconds until an evicted pod is gone, which is its grace period: less than the hour that others wait at most."""
PATIENT = 30
"""After so many decisions longer times pass, for those who take long to be gone at the end."""


class OneAdmission:
    """A world in which one urgent pod alone preempts, evictions take their time, and owners make pods anew."""

    def __init__(self, policy: Preemption, nodes: int) -> None:
        own, other, _ = QUEUES
        quota = 2000 if policy is WITHIN else 0
        queues = [
            a_cluster_queue(own, a_tree_quota("spot", 4000), parent="org", preemption=policy),
            a_cluster_queue(other, a_tree_quota("spot", quota), parent="org"),
        ]
        self.world = World(queues, nodes=nodes)
        self.cache = self.world.cache
        self.lows = own if policy is WITHIN else other
        self.now = 1000.0
        self.cache.advance(self.now)
        self.made = 0
        self.goes_at: dict[str, float] = {}
        self.refused: list[str] = []
        self.first: set[str] = set()
        """Who was to go by the first decision that named anybody."""
        self.evicted: list[str] = []
        self.at_once = 0
        """The most pods that ran at a time while it waited."""

    @property
    def running(self) -> list[str]:
        return sorted(uid for uid, pod in self.cache.pods.items() if pod.is_admitted and uid != URGENT)

    def create(self, cpu: str) -> None:
        self.made += 1
        uid = f"p{self.made}"
        self.world.put(a_pod(uid, a_shape(cpu=cpu), queue=self.lows, created=self.now, owner=WEB))

    def want(self, cpu: str) -> None:
        """Let the urgent pod come."""
        self.world.put(a_pod(URGENT, a_shape(cpu=cpu), queue=QUEUES[0], priority=5, created=self.now))

    def decide(self) -> tuple[Evict, ...]:
        plan = decided(self.cache)
        if URGENT in self.cache.pods:
            self.at_once = max(self.at_once, len(self.running))
        self.world.admit(plan)
        self.first = self.first or {evict.pod.uid for evict in plan.evicts}
        return plan.evicts

    @property
    def is_over(self) -> bool:
        return URGENT in self.cache.pods and self.cache.pods[URGENT].is_admitted

    def send(self, evict: Evict, seconds: float) -> None:
        """Evict a pod, which takes so long to go, or is refused."""
        uid = evict.pod.uid
        self.cache.evictions.begin(evict)
        if seconds == REFUSED:
            self.cache.evictions.refuse(uid, "a PodDisruptionBudget")
            self.refused.append(uid)
            return
        self.evicted.append(uid)
        self.goes_at[uid] = self.now + seconds
        grace = int(seconds)
        self.world.put(replace(self.cache.pods[uid], is_terminating=True, gone_by=self.now + grace, grace=grace))

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.cache.advance(self.now)
        for uid in [uid for uid, at in self.goes_at.items() if at <= self.now]:
            del self.goes_at[uid]
            self.end(uid)

    def end(self, uid: str) -> None:
        """Let a pod be gone; its owner makes another."""
        requests = dict(self.cache.pods[uid].shape.requests)
        self.cache.drop_pod(uid)
        self.create(f"{requests['cpu']}m")


def begun(data: st.DataObject, policy: Preemption) -> OneAdmission:
    """Draw a world, let it fill up, and let the urgent pod come."""
    here = OneAdmission(policy, data.draw(st.integers(1, 2)))
    for cpu in data.draw(st.lists(st.sampled_from(("1", "2", "3")), min_size=2, max_size=9)):
        here.create(cpu)
    for _ in range(3):
        assert here.decide() == ()
    here.want(data.draw(st.sampled_from(("2", "3", "4"))))
    return here


@pytest.mark.parametrize("policy", [WITHIN, RECLAIM], ids=["within", "reclaim"])
@given(data=st.data())
def test_slow_victims_are_waited_for_and_nobody_joins_them(policy: Preemption, data: st.DataObject) -> None:
    here = begun(data, policy)
    for number in range(DECISIONS):
        for evict in here.decide():
            here.send(evict, data.draw(st.sampled_from(SLOW)))
        if here.is_over:
            break
        here.pass_by(600.0 if number > PATIENT else data.draw(st.sampled_from((1.0, 20.0, 60.0, 400.0))))
        if data.draw(st.booleans()):
            here.create("1")
        ended = data.draw(st.sampled_from((None, None, None, *here.running)))
        if ended is not None and ended not in here.goes_at:
            here.end(ended)
    assert here.is_over
    assert set(here.evicted) == here.first
    assert len(here.evicted) == len(here.first) <= here.at_once


@pytest.mark.parametrize("policy", [WITHIN, RECLAIM], ids=["within", "reclaim"])
@given(data=st.data())
def test_after_refusals_others_go_but_no_more_than_at_once(policy: Preemption, data: st.DataObject) -> None:
    here = begun(data, policy)
    for _ in range(DECISIONS):
        for evict in here.decide():
            here.send(evict, data.draw(st.sampled_from((REFUSED, REFUSED, *SLOW))))
        if here.is_over:
            break
        here.pass_by(data.draw(st.sampled_from((1.0, 20.0, 60.0))))
        if data.draw(st.booleans()):
            here.create("1")
        if data.draw(st.booleans()) and here.refused:
            here.cache.retry_eviction(here.refused.pop(0))
    assert len(here.evicted) == len(set(here.evicted)) <= here.at_once
