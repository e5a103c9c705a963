"""Rounds of preemption end: by the numbers of those who came in so, and because who has begun goes on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Owner
from controller.core.preemption.rounds import BORROWERS, LONG, OWNERS, led_to, quiet_until
from controller.core.queueing.fair_sharing_policy import FairSharing, Strategy
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, FlavorQuota, QueueingStrategy
from controller.core.reasons import Reason
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from tests.property.decisions.test_preemption import AGED, World
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_saying,
    a_shape,
    a_static_flavor,
    a_tree_quota,
    decided,
)

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
LOWER = Preemption(Within.LOWER_PRIORITY)
RECLAIM = Preemption(Within.NEVER, Reclaim.ANY, borrows=True)
GANG = Membership(GroupKey("default", "gang"), 2)


def a_world(fair: FairSharing | None) -> World:
    """Of 7 cpu of quota there are only 5; team-a owns 2 of them, team-b 4."""
    fields: dict[str, Any] = {"parent": "org", "fair_sharing": FairSharing(weight=Fraction(2)) if fair else None}
    lower = Preemption(Within.LOWER_PRIORITY, Reclaim.ANY, borrows=True)
    world = World([])
    world.cache = a_cache(
        nodes=[],
        flavors=[a_static_flavor("spot", cpu="5", pods="9")],
        queues=[
            a_cluster_queue("org", a_tree_quota("spot", 1000), fair_sharing=fair),
            a_cluster_queue("team-a", a_tree_quota("spot", 2000), preemption=lower, **fields),
            a_cluster_queue("team-b", a_tree_quota("spot", 4000), preemption=RECLAIM, **fields),
        ],
        locals_=[a_local_queue(name, name) for name in ("team-a", "team-b")],
    )
    return world


@pytest.mark.parametrize("fair", [FairSharing(strategies=tuple(Strategy)), None])
def test_two_queues_stop_preempting_each_other(fair: FairSharing | None) -> None:
    world, priority = a_world(fair), 0 if fair else 3
    for name, cpu, own in (("small", "1", 0), ("large", "4", 2)):
        world.put(a_pod(name, a_shape(cpu=cpu), queue="team-a", priority=own, created=60.0, owner=AGED))
        world.step()
    world.put(a_pod("other", a_shape(cpu="5"), queue="team-b", priority=priority, created=55.0, owner=AGED))
    for _ in range(50):
        if not world.step():
            break
    assert world.evicted == {"small": 2, "large": 2, "other": 2}
    # who has the last word stays within its quota
    inside = {pod.name.partition("/")[0]: pod.preemptions for pod in world.cache.pods.values() if not pod.gates}
    assert inside == {"small": 4, "large": 0}


def test_the_number_of_rounds_is_one_more_than_victims_had() -> None:
    victims = [a_released_pod(preemptions=number, admitted_at=100.0) for number in (0, 2, 1)]
    assert led_to(victims, now=200.0) == 3
    assert led_to(victims, now=100.0 + LONG) == 1
    assert led_to([], now=200.0) == 1
    assert led_to([replace(victims[0], preemptions=OWNERS)], now=200.0) == OWNERS


def test_after_many_rounds_a_pod_is_left_in_peace() -> None:
    for number in range(OWNERS + 1):
        pod = a_released_pod(preemptions=number, admitted_at=100.0)
        assert quiet_until(pod, borrows=True) == (100.0 + LONG if number >= BORROWERS else 0.0)
        assert quiet_until(pod, borrows=False) == (100.0 + LONG if number >= OWNERS else 0.0)


def a_tree(
    *pods: Pod,
    strategies: tuple[Strategy, ...] = (Strategy.LESS_THAN_INITIAL_SHARE,),
    preemption: Preemption = RECLAIM,
) -> ClusterCache:
    """Queues `rich` and `poor` own nothing of 3 cpu."""
    cache = a_cache(
        *pods,
        nodes=[a_node("n", cpu="20")],
        queues=[
            a_cluster_queue("org", a_tree_quota("spot", 3000), fair_sharing=FairSharing(strategies=strategies)),
            a_cluster_queue("rich", a_tree_quota("spot", 0), parent="org"),
            a_cluster_queue("poor", a_tree_quota("spot", 0), parent="org", preemption=preemption),
        ],
        locals_=[a_local_queue("rich", "rich"), a_local_queue("poor", "poor")],
    )
    cache.advance(100.0)
    return cache


def a_gang_that_is_preempted(**fields: Any) -> tuple[Pod, ...]:
    """Of rich, a gang of two, one more and one that waits; of poor, one for whom the gang has to go."""
    stamps = {"queue": "rich", "cluster_queue": "rich", "node": "n", "owner": WEB}
    return (
        *(a_released_pod(name, a_shape(cpu="1"), admitted_at=20.0, group=GANG, **stamps) for name in ("ga", "gb")),
        a_released_pod("one", a_shape(cpu="1"), admitted_at=10.0, **stamps),
        a_pod("other", a_shape(cpu="1"), queue="rich", owner=WEB, created=50.0),
        a_pod("poor", a_shape(cpu="2"), queue="poor", owner=WEB, created=60.0, **fields),
    )


def terminate(cache: ClusterCache, *names: str) -> None:
    for name in names:
        cache.put_pod(replace(cache.pods[name], is_terminating=True, resource_version="9"))


def test_begun_preemptors_are_not_compared_again() -> None:
    cache = a_tree(*a_gang_that_is_preempted())
    assert [evict.pod.uid for evict in decided(cache).evicts] == ["ga", "gb"]
    terminate(cache, "ga", "gb")
    decided(cache)
    cache.drop_pod("ga")
    for _ in range(3):
        plan = decided(cache)
        assert (plan.admits, plan.evicts, set(plan.preemptors)) == ((), (), {"poor"})
    cache.drop_pod("gb")
    assert [(admit.uid, admit.preemptions) for admit in decided(cache).admits] == [("poor", 1)]


@pytest.mark.parametrize("reason", [Reason.PREEMPTING, Reason.NO_CAPACITY])
def test_a_restart_keeps_what_goes_for_a_preemptor(reason: Reason) -> None:
    before = a_gang_that_is_preempted(said=a_saying("False", reason.value))
    going = [replace(pod, is_terminating=pod.name == "gb") for pod in before if pod.name != "ga"]
    # by the policy as it is now, nobody of the gang would count for who begins
    cache = a_tree(*going, preemption=Preemption(reclaim=Reclaim.LOWER_PRIORITY))
    kept = reason is Reason.PREEMPTING
    assert [admit.uid for admit in decided(cache).admits] == ([] if kept else ["other"])
    cache.drop_pod("gb")
    assert [admit.uid for admit in decided(cache).admits] == (["poor"] if kept else [])


def one_waits_for_what_another_leaves(small: Preemption) -> ClusterCache:
    """`low` goes for y; x needs what that leaves beside y, and that `small` goes."""
    cache = a_cache(
        *(
            a_released_pod(name, a_shape(cpu=cpu), queue=queue, cluster_queue=f"team-{queue}", node="n", **fields)
            for name, cpu, queue, fields in (
                ("low", "3", "b", {"owner": WEB, "admitted_at": 20.0, "is_terminating": True}),
                ("small", "500m", "a", {"owner": WEB, "admitted_at": 20.0}),
            )
        ),
        a_pod("x", a_shape(cpu="1"), queue="a", priority=2, created=50.0),
        a_pod("y", a_shape(cpu="2"), queue="b", priority=2, created=60.0),
        nodes=[a_node("n", cpu="3")],
        queues=[
            a_cluster_queue("team-a", a_quota(cpu="4"), preemption=small),
            a_cluster_queue("team-b", a_quota(cpu="4"), preemption=LOWER),
        ],
        locals_=[a_local_queue("a", "team-a"), a_local_queue("b", "team-b")],
    )
    cache.advance(100.0)
    return cache


def test_preemptors_continue_in_the_order_they_began() -> None:
    cache = one_waits_for_what_another_leaves(LOWER)
    decided(cache)
    for _ in range(4):
        cache.reopen_all()
        plan = decided(cache)
        assert list(plan.preemptors) == ["y", "x"]
        assert [evict.pod.uid for evict in plan.evicts] == ["small"]
    cache.drop_pod("small")
    cache.drop_pod("low")
    assert {admit.uid for admit in decided(cache).admits} == {"x", "y"}


def test_waiting_for_anothers_victims_gives_no_precedence() -> None:
    cache = one_waits_for_what_another_leaves(LOWER)
    cache.drop_pod("x")
    cache.drop_pod("small")
    decided(cache)
    cache.put_pod(a_pod("late", a_shape(cpu="1"), queue="a", created=70.0))
    assert decided(cache).preemptors == {"y": 1, "late": 0}
    cache.put_pod(a_pod("urgent", a_shape(cpu="1"), queue="a", priority=3, created=80.0))
    assert decided(cache).preemptors == {"y": 1, "urgent": 0}
    cache.drop_pod("low")
    assert [admit.uid for admit in decided(cache).admits] == ["y", "urgent"]


@pytest.mark.parametrize(("number", "waits"), [(OWNERS - 1, False), (OWNERS, True)])
def test_reclaiming_waits_an_hour_after_many_rounds(number: int, *, waits: bool) -> None:
    owns = Preemption(Within.NEVER, Reclaim.ANY)
    cache = a_cache(
        a_released_pod("there", owner=WEB, node="node-1", admitted_at=1000.0, preemptions=number),
        a_pod("owner", queue="owns"),
        queues=[
            a_cluster_queue("org", a_tree_quota("spot", 0)),
            a_cluster_queue("team-a", a_tree_quota("spot", 0), parent="org"),
            a_cluster_queue("owns", a_tree_quota("spot", 1000), parent="org", preemption=owns),
        ],
        locals_=[a_local_queue(), a_local_queue("owns", "owns")],
    )
    cache.advance(1000.0)
    assert [evict.pod.uid for evict in decided(cache).evicts] == ([] if waits else ["there"])
    cache.advance(1000.0 + LONG)
    assert [evict.pod.uid for evict in decided(cache).evicts] == ["there"]


def test_a_member_that_goes_alone_leaves_its_room_once() -> None:
    stamps: dict[str, Any] = {"owner": WEB, "node": "node-1", "admitted_at": 1.0, "group": GANG}
    begun = a_saying("False", Reason.PREEMPTING.value)
    cache = a_cache(
        a_released_pod("ga", is_terminating=True, **stamps),
        a_released_pod("gb", **stamps),
        a_pod("first", priority=3, said=begun),
        a_pod("second", priority=2),
        a_pod("third", priority=1),
        nodes=[a_node(cpu="2")],
        queues=[a_cluster_queue(preemption=LOWER)],
    )
    plan = decided(cache)
    assert [evict.pod.uid for evict in plan.evicts] == ["gb"]
    assert list(plan.preemptors) == ["first", "second"]


def test_a_preemptor_not_admitted_keeps_its_number() -> None:
    victim = a_released_pod("low", owner=WEB, node="node-1", admitted_at=5.0, preemptions=1)
    cache = a_cache(
        victim,
        a_pod("high", priority=5, created=50.0),
        nodes=[a_node(cpu="1")],
        queues=[a_cluster_queue("team-a", a_quota(cpu="1"), preemption=LOWER)],
    )
    cache.advance(60.0)
    assert decided(cache).preemptors == {"high": 2}
    cache.drop_pod("low")
    assert [one.preemptions for one in decided(cache).admits] == [2]
    cache.put_pod(a_pod("higher", priority=9, created=60.0))
    cache.settle("high")  # as after a Conflict
    assert [(one.uid, one.preemptions) for one in decided(cache).admits] == [("high", 2)]


@pytest.mark.parametrize("fair", [FairSharing(), None])
def test_all_preemptors_are_admitted_at_once(
    fair: FairSharing | None,
) -> None:
    nodes = [a_node(f"node-{number}", cpu="3") for number in range(3)]
    there = [
        a_released_pod(f"r{at}", queue="b", cluster_queue="b", node=f"node-{at // 3}", owner=WEB, admitted_at=1.0)
        for at in range(9)
    ]
    cache = a_cache(
        *there,
        *(a_pod(f"w{at}", created=50.0 + at) for at in range(9)),
        nodes=nodes,
        queues=[
            a_cluster_queue("org", a_tree_quota("spot", 0), fair_sharing=fair),
            a_cluster_queue("team-a", a_tree_quota("spot", 9000), parent="org", preemption=RECLAIM),
            a_cluster_queue("b", a_tree_quota("spot", 0), parent="org"),
        ],
        locals_=[a_local_queue(), a_local_queue("b", "b")],
    )
    cache.advance(100.0)
    assert len(decided(cache).preemptors) == 9
    for pod in there:
        cache.drop_pod(pod.uid)
    cache.put_node(a_node("node-0", cpu="4"))  # the others are fuller now, and come first
    assert len(decided(cache).admits) == 9


def test_a_preemptor_spares_room_held_for_another() -> None:
    """The pods on spot end first, where the first would go too: those gone for the other were gone for nothing."""
    cache = a_cache(
        a_released_pod("t1", a_shape(cpu="2"), queue="one", cluster_queue="one", flavor="steady", node="t", owner=WEB),
        *(a_released_pod(name, queue="two", cluster_queue="two", node="s", owner=WEB) for name in ("s1", "s2")),
        nodes=[a_node("s", cpu="2"), a_node("t", cpu="2", labels={"pool": "steady"})],
        flavors=[a_flavor("spot"), a_flavor("steady")],
        queues=[
            a_cluster_queue("one", a_quota("spot", cpu="9"), a_quota("steady", cpu="9"), preemption=LOWER),
            a_cluster_queue("two", a_quota("spot", cpu="9"), preemption=LOWER),
        ],
        locals_=[a_local_queue("one", "one"), a_local_queue("two", "two")],
    )
    cache.put_pod(a_pod("first", queue="one", priority=5, created=1.0))
    cache.put_pod(a_pod("later", a_shape(cpu="2"), queue="two", priority=5, created=2.0))
    plan = decided(cache)
    held = {uid: set(places) for uid, places in plan.held.items()}
    assert held == {"first": {("steady", "t")}, "later": {("spot", "s")}}
    cache.put_pod(replace(cache.pods["t1"], is_terminating=True, resource_version="9"))
    cache.drop_pod("s1")
    assert (decided(cache).admits, set(decided(cache).preemptors)) == ((), {"first", "later"})
    cache.drop_pod("s2")
    assert [(one.uid, one.node) for one in decided(cache).admits] == [("later", "s")]
    cache.drop_pod("t1")
    assert [(one.uid, one.node) for one in decided(cache).admits] == [("first", "t")]


def in_a_fair_tree(name: str, *quotas: FlavorQuota, **fields: Any) -> ClusterQueue:
    sharing = FairSharing(Fraction(1))
    return replace(a_cluster_queue(name, *quotas, preemption=LOWER, **fields), parent="org", fair_sharing=sharing)


def fair_tree(*queues: ClusterQueue, nodes: dict[str, str], running: list[Pod], waiting: list[Pod]) -> ClusterCache:
    cache = a_cache(
        *(replace(pod, owner=WEB, admitted_at=1.0) for pod in running),
        *waiting,
        nodes=[a_node(name, cpu=cpu) for name, cpu in nodes.items()],
        flavors=[a_flavor(), a_static_flavor("fast", cpu="3", pods="9")],
        queues=[ClusterQueue(name="org", fair_sharing=FairSharing()), *queues],
        locals_=[a_local_queue(name, f"team-{name}") for name in "abc"],
    )
    cache.advance(100.0)
    decided(cache)
    return cache


def test_waiting_for_leftovers_keeps_a_strict_queue_open() -> None:
    strict = in_a_fair_tree("team-a", a_quota(cpu="3"), strategy=QueueingStrategy.STRICT_FIFO)
    low = a_released_pod("low", a_shape(cpu="3"), queue="b", cluster_queue="team-b", node="n", priority=-5)
    cache = fair_tree(
        *(strict, in_a_fair_tree("team-b", a_quota(cpu="2"))),
        nodes={"n": "20", "m": "20"},
        running=[
            replace(low, is_terminating=True),
            a_released_pod("gives", a_shape(cpu="2"), queue="a", cluster_queue="team-a", node="m", priority=-5),
        ],
        waiting=[a_pod("y", a_shape(cpu="2"), queue="b", priority=5, created=10.0)],
    )
    cache.put_pod(a_pod("late", a_shape(cpu="1"), queue="a", priority=-5, created=20.0))
    assert decided(cache).preemptors == {"y": 1, "late": 0}
    cache.put_pod(a_pod("urgent", a_shape(cpu="3"), queue="a", priority=1000, created=99.0))
    assert [evict.pod.uid for evict in decided(cache).evicts] == ["gives"]


def test_leftovers_go_to_the_preemptor_they_were_evicted_for() -> None:
    low = a_released_pod("low", a_shape(cpu="4"), queue="b", cluster_queue="team-b", node="n")
    cache = fair_tree(
        in_a_fair_tree("team-a", a_quota("fast", cpu="0"), a_quota(cpu="2")),
        in_a_fair_tree("team-b", a_quota(cpu="2")),
        in_a_fair_tree("team-c", a_quota("fast", cpu="3")),
        nodes={"n": "4"},
        running=[
            replace(low, is_terminating=True),
            *(
                a_released_pod(f"own-{n}", queue="c", cluster_queue="team-c", flavor="fast", priority=-9)
                for n in range(3)
            ),
        ],
        waiting=[a_pod("y", a_shape(cpu="2"), queue="b", priority=5, created=10.0)],
    )
    for number in range(2):
        cache.put_pod(a_pod(f"late-{number}", queue="a", priority=-9, created=20.0 + number))
    assert decided(cache).preemptors == {"y": 1, "late-0": 0, "late-1": 0}
    cache.put_pod(a_pod("z", queue="c", priority=50, created=30.0))
    (evict,) = decided(cache).evicts
    cache.drop_pod(evict.pod.uid)
    plan = decided(cache)
    assert ([admit.uid for admit in plan.admits], plan.evicts) == (["z"], ())
