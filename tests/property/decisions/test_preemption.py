"""Preemption in random trees: it comes to rest, spares whom it must, and nobody's quota is passed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.core.candidates.candidate import KnownCandidates
from controller.core.candidates.reclaimable import KnownReclaimable
from controller.core.decision.decide import decide
from controller.core.kubernetes.owners import Owner
from controller.core.preemption.rounds import OWNERS
from controller.core.queueing.fair_sharing_policy import FairSharing, Strategy
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, FlavorQuota, WhenCanBorrow, WhenCanPreempt
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Pod
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
    too_much,
)
from tests.support.snapshots import changed
from tests.support.strategies import WEIGHTS

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
AGED = Owner("apps/v1", "ReplicaSet", "aged", "aged")
"""Its pods keep their age when they are made again, as those of a Job do in the order."""
QUEUES = ("team-a", "team-b", "team-c")
ROUNDS = 200


@st.composite
def queues(draw: st.DrawFn, name: str) -> ClusterQueue:
    reclaim = draw(st.sampled_from(Reclaim))
    policy = Preemption(
        draw(st.sampled_from(Within)),
        reclaim,
        reclaim is not Reclaim.NEVER and draw(st.booleans()),
        draw(st.sampled_from((None, 1))),
    )
    borrow, lend = draw(st.sampled_from((None, 0, 2000))), draw(st.sampled_from((None, None, 1000)))
    quotas = [a_tree_quota("spot", draw(st.sampled_from((0, 2000, 4000))), borrow=borrow, lend=lend)]
    if draw(st.booleans()):
        quotas.append(a_tree_quota("steady", draw(st.sampled_from((0, 2000)))))
    return a_cluster_queue(
        name,
        *quotas,
        parent=draw(st.sampled_from(("org", "org", "part"))),
        preemption=policy,
        fair_sharing=draw(st.sampled_from(WEIGHTS)),
        when_can_borrow=draw(st.sampled_from(WhenCanBorrow)),
        when_can_preempt=draw(st.sampled_from(WhenCanPreempt)),
    )


def fair_sharing() -> st.SearchStrategy[FairSharing | None]:
    final, initial = Strategy
    strategies = st.sampled_from(((final, initial), (final,), (initial,)))
    return st.one_of(st.none(), strategies.map(lambda given: FairSharing(strategies=given)))


@st.composite
def pods(draw: st.DrawFn, number: int) -> Pod:
    return a_pod(
        f"p{number}",
        a_shape(cpu=draw(st.sampled_from(("1", "2", "3")))),
        queue=draw(st.sampled_from(QUEUES)),
        priority=draw(st.integers(0, 2)),
        created=float(draw(st.integers(0, 5))),
        owner=draw(st.sampled_from((WEB, WEB, AGED, AGED, None))),
    )


class World:
    """A cache, and an apiserver and owners that do at once what they are asked for."""

    def __init__(self, queues: list[ClusterQueue], fair: FairSharing | None = None, nodes: int = 3) -> None:
        self.cache: ClusterCache = a_cache(
            nodes=[a_node(f"node-{number}", cpu="4", pods=9) for number in range(nodes)],
            flavors=[a_flavor(), a_static_flavor("steady", cpu="5", pods="9")],
            queues=[
                a_cluster_queue("org", a_tree_quota("spot", 2000), fair_sharing=fair),
                ClusterQueue(name="part", parent="org"),
                *queues,
            ],
            locals_=[a_local_queue(name, name) for name in QUEUES],
        )
        self.version = 1
        self.evicted: Counter[str] = Counter()

    def put(self, pod: Pod) -> None:
        self.version += 1
        self.cache.put_pod(replace(pod, resource_version=str(self.version)))

    def step(self) -> bool:
        """Decide once, check the plan, carry it out; say whether anything happened."""
        forgetful = changed(self.cache.snapshot(), candidates=KnownCandidates(), reclaimable=KnownReclaimable())
        anew = decide(forgetful, limit=UNLIMITED)
        plan = decided(self.cache)
        assert (plan.admits, plan.evicts, plan.waits) == (anew.admits, anew.evicts, anew.waits)
        self.admit(plan)
        for evict in plan.evicts:
            pod = self.cache.pods[evict.pod.uid]
            assert pod.owner is not None
            assert pod.preemptions < OWNERS or "in its ClusterQueue" in evict.text
            self.evicted[pod.name.partition("/")[0]] += 1
            self.cache.drop_pod(pod.uid)
            again = f"{pod.name.partition('/')[0]}/{self.version}"
            fresh = replace(pod, uid=again, name=again, gates=a_pod().gates, cluster_queue=None, flavor=None, node=None)
            self.put(replace(fresh, created=pod.created + (0 if pod.owner == AGED else self.version)))
        return bool(plan.admits or plan.evicts)

    def admit(self, plan: Plan) -> None:
        """Release whom the plan admits."""
        for admit in plan.admits:
            pod = self.cache.pods[admit.uid]
            stamped = replace(
                pod,
                gates=(),
                cluster_queue=admit.cluster_queue,
                flavor=admit.flavor,
                node=admit.node,
                preemptions=admit.preemptions,
            )
            self.put(replace(stamped, admitted_at=float(self.version)))
            self.cache.settle(admit.uid)

    def rest(self) -> None:
        """Decide until nobody moves."""
        for _ in range(ROUNDS):
            if not self.step():
                return
        raise AssertionError(f"{ROUNDS} decisions in a row moved somebody: {self.evicted}")


@given(data=st.data())
def test_preemption_comes_to_rest_and_passes_no_quota(data: st.DataObject) -> None:
    # with few nodes there is less room than quota
    nodes = data.draw(st.integers(1, 3))
    world = World([data.draw(queues(name)) for name in QUEUES], data.draw(fair_sharing()), nodes)
    for number in range(data.draw(st.integers(1, 10))):
        world.put(data.draw(pods(number)))
        world.rest()
        running = sorted(pod.uid for pod in world.cache.pods.values() if pod.is_admitted)
        ended = data.draw(st.sampled_from((None, None, *running)))
        if ended is not None:
            world.cache.drop_pod(ended)
            world.rest()
        assert not too_much(world.cache)
    full = changed(world.cache.snapshot(), asked=None)
    plan = decide(full, limit=UNLIMITED)
    assert (plan.admits, plan.evicts) == ((), ())


@given(data=st.data())
def test_within_a_queue_only_lower_priorities_go(data: st.DataObject) -> None:
    policy = Preemption(data.draw(st.sampled_from((Within.LOWER_PRIORITY, Within.NEVER))))
    world = World(
        [a_cluster_queue(name, a_tree_quota("spot", 3000), parent="org", preemption=policy) for name in QUEUES]
    )
    for number in range(data.draw(st.integers(1, 8))):
        world.put(data.draw(pods(number)))
        before = dict(world.cache.pods)
        plan = decide(world.cache.snapshot(), index=world.cache.feasibility, limit=UNLIMITED)
        for evict in plan.evicts:
            waiting = [pod for pod in before.values() if pod.gates and pod.queue == evict.pod.queue]
            assert any(pod.priority > evict.pod.priority for pod in waiting)
            assert policy.within is Within.LOWER_PRIORITY
        while world.step():
            pass


def test_a_fair_tree_spares_who_has_only_what_is_not_short() -> None:
    # a1 needs cpu and memory; team-b borrows memory alone, and b1 uses cpu that team-b owns
    org = a_cluster_queue("org", FlavorQuota("spot", {"cpu": 0, "memory": 10}), fair_sharing=FairSharing())
    owned, policy = FlavorQuota("spot", {"cpu": 2000, "memory": 0}), Preemption(Within.NEVER, Reclaim.ANY)
    world = World([])
    world.cache = a_cache(
        nodes=[a_node("node", cpu="50", memory="500", pods=99)],
        queues=[org, *(a_cluster_queue(name, owned, parent="org", preemption=policy) for name in QUEUES[:2])],
        locals_=[a_local_queue(name, name) for name in QUEUES[:2]],
    )
    first, second = QUEUES[:2]
    asks = (("b0", second, {"memory": "8"}), ("b1", second, {"cpu": "2"}), ("a1", first, {"cpu": "3", "memory": "2"}))
    for name, queue, amounts in asks:
        world.put(a_pod(name, a_shape(**amounts), queue=queue, owner=WEB))
        while world.step():
            assert not world.evicted
    assert set(world.cache.pods) == {"a1", "b0", "b1"}
