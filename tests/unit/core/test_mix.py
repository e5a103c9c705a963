"""The mix of spot and on-demand: its arithmetic, and what it comes to whoever comes and goes."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.mix import Mix
from controller.core.queueing.preemption_policy import Preemption, Within
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    admitted,
    constraints,
    decided,
    waiting,
)

ENOUGH = "64"


def may(mix: Mix, spot: int, total: int, more: int) -> bool:
    """The rule as it is documented."""
    return spot + more <= max(0, total + more - mix.on_demand_base) * mix.spot_percent // 100


@given(
    mix=st.builds(Mix, st.integers(0, 20), st.integers(1, 100)),
    spot=st.integers(0, 30),
    others=st.integers(0, 30),
    more=st.integers(1, 9),
)
def test_it_lacks_the_fewest_with_which_the_rule_holds(mix: Mix, spot: int, others: int, more: int) -> None:
    total = spot + others
    assert mix.lacks(spot, total, more) == next(n for n in count() if may(mix, spot, total + n, more))


def a_mixed_world(mix: Mix, *, spot_first: bool = True) -> ClusterCache:
    flavors = [a_flavor("spot", is_spot=True), a_flavor("steady")]
    quotas = [a_quota("spot", cpu=ENOUGH), a_quota("steady", cpu=ENOUGH)]
    return a_cache(
        nodes=[a_node("s", cpu=ENOUGH), a_node("d", labels={"pool": "steady"}, cpu=ENOUGH)],
        flavors=flavors,
        queues=[a_cluster_queue("team-a", *(quotas if spot_first else reversed(quotas)), mix=mix)],
    )


@pytest.mark.parametrize(
    ("mix", "expected"),
    [
        (Mix(0, 100), 10),
        (Mix(3, 100), 7),
        (Mix(0, 70), 7),
        (Mix(2, 50), 4),
        (Mix(12, 100), 0),
        (Mix(0, 0), 0),
    ],
)
def test_of_ten_pods_so_many_are_on_spot(mix: Mix, expected: int) -> None:
    cache = a_mixed_world(mix)
    for number in range(10):
        cache.put_pod(a_pod(f"pod-{number}"))
    flavors = [one.flavor for one in decided(cache).admits]
    assert (len(flavors), flavors.count("spot")) == (10, expected)


def test_a_mix_bounds_spot_alone() -> None:
    cache = a_mixed_world(Mix(0, 50), spot_first=False)
    for number in range(4):
        cache.put_pod(a_pod(f"pod-{number}"))
    assert {one.flavor for one in decided(cache).admits} == {"steady"}


def test_nobody_passes_onto_spot_one_who_waits_for_on_demand() -> None:
    queue = a_cluster_queue(
        "team-a",
        a_quota("spot", cpu=ENOUGH),
        a_quota("steady", cpu="1"),
        mix=Mix(1, 50),
        preemption=Preemption(Within.LOWER_PRIORITY),
    )
    web = Owner("apps/v1", "ReplicaSet", "web", "web")
    steady = a_shape(constraints(selector={"pool": "steady"}), cpu="1")
    cache = a_cache(
        a_released_pod("low", flavor="steady", node="d", owner=web, admitted_at=1.0),
        a_pod("urgent", steady, priority=5),
        a_pod("later", a_shape(cpu="500m")),
        nodes=[a_node("s", cpu=ENOUGH), a_node("d", labels={"pool": "steady"}, cpu=ENOUGH)],
        flavors=[a_flavor("spot", is_spot=True), a_flavor("steady")],
        queues=[queue],
    )
    plan = decided(cache)
    assert [one.pod.uid for one in plan.evicts] == ["low"]
    assert (admitted(plan), sorted(waiting(plan).values())) == ({}, ["Preempting", "QuotaExceeded"])


def test_one_on_demand_lets_the_next_onto_spot_at_once() -> None:
    queue = a_cluster_queue("team-a", a_quota("spot", cpu=ENOUGH), a_quota("steady", cpu=ENOUGH), mix=Mix(0, 50))
    cache = a_cache(
        a_foreign_pod("stranger", node="d"),
        a_pod("a"),
        a_pod("b"),
        nodes=[a_node("s", cpu=ENOUGH), a_node("d", labels={"pool": "steady"}, cpu="1")],
        flavors=[a_flavor("spot", is_spot=True), a_flavor("steady")],
        queues=[queue],
    )
    assert list(waiting(decided(cache)).values()) == ["NoCapacity"]
    cache.drop_pod("stranger")
    assert admitted(decided(cache)) == {"a": ("steady", "d"), "b": ("spot", "s")}
