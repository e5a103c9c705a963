"""Who holds what a workload waits for, and its place: as values, and in the sentence."""

from __future__ import annotations

import pytest

from controller.cache.arithmetic import figures_of
from controller.cache.cluster import ClusterCache
from controller.core.explaining.arithmetic import Arithmetic, Held, Place
from controller.core.explaining.wording import describe
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from tests.support.builders import (
    STRICT,
    a_cache,
    a_cluster_queue,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    a_tree_quota,
    decided,
)

HUGE = a_node(cpu="64", pods="100")


def figures(cache: ClusterCache, uid: str) -> Arithmetic | None:
    workload = cache.backlog.of_pod(uid)
    assert workload is not None
    return figures_of(cache, workload, cache.reasons.of(workload.kind))


def sentence(cache: ClusterCache, uid: str) -> str:
    workload = cache.backlog.of_pod(uid)
    assert workload is not None
    return describe(cache.reasons.of(workload.kind), 0.0, figures(cache, uid))


def test_of_a_queue_of_its_own_what_it_uses_and_the_place_among_all_classes() -> None:
    queue = a_cluster_queue("team-a", a_quota(cpu="4"))
    others = [a_pod("b", a_shape(cpu="2"), created=3), a_pod("d", a_shape(cpu="2"), created=5)]
    cache = a_cache(
        a_pod("a", a_shape(cpu="3"), created=1), *others, a_pod("c", a_shape(cpu="4"), created=4),
        nodes=[HUGE], queues=[queue],
    )  # fmt: skip
    decided(cache)
    assert figures(cache, "c") == Arithmetic(Held("team-a", "spot", "cpu", 4000, 3000), Place("team-a", 1, 3))
    assert sentence(cache, "d").endswith("ClusterQueue team-a uses 3 of 4 cpu; place 3 of 3 in ClusterQueue team-a")


def test_who_borrows_is_named_with_how_much_the_largest_first() -> None:
    leaves = [a_cluster_queue(name, a_quota(cpu="2"), parent="org") for name in ("team-a", "team-b", "team-c")]
    doors = [a_local_queue(leaf.name, leaf.name) for leaf in leaves]
    takes = [a_pod("b", a_shape(cpu="2500m"), queue="team-b"), a_pod("c", a_shape(cpu="3"), queue="team-c")]
    owner = a_pod("a", a_shape(cpu="2"), queue="team-a", created=9)
    cache = a_cache(
        *takes, owner, nodes=[HUGE], queues=[a_cluster_queue("org", a_quota(cpu="0")), *leaves], locals_=doors
    )
    decided(cache)
    found = figures(cache, "a")
    assert found is not None
    assert found.held == Held("org", "spot", "cpu", 6000, 5500, (("team-c", 1000), ("team-b", 500)))
    assert "ClusterQueue org uses 5500m of 6 cpu (borrowed: team-c 1, team-b 500m); place 1 of 1" in sentence(
        cache, "a"
    )


def test_a_queue_that_may_borrow_no_more_says_how_much_it_may() -> None:
    quota = a_tree_quota("spot", 2000, borrow=1000)
    leaves = [a_cluster_queue("team-a", quota, parent="org"), a_cluster_queue("team-b", a_quota(cpu="8"), parent="org")]
    pods = [a_pod(name, a_shape(cpu="1500m"), queue="team-a", created=at) for at, name in enumerate("ab")]
    more = a_pod("c", a_shape(cpu="1"), queue="team-a", created=9)
    cache = a_cache(
        *pods, more, nodes=[HUGE], queues=[a_cluster_queue("org"), *leaves], locals_=[a_local_queue("team-a", "team-a")]
    )
    decided(cache)
    assert sentence(cache, "c").startswith(
        "flavor spot: needs 1 cpu, 0 of its quota is free; ClusterQueue team-a uses 3 of 2 cpu and of the 1 that it "
        "may borrow; place 1 of 1"
    )


@pytest.mark.parametrize(("owner", "is_alone"), [(None, True), (Owner("apps/v1", "ReplicaSet", "web", "web"), False)])
def test_who_may_preempt_and_finds_nobody_who_would_help_says_so(owner: Owner | None, *, is_alone: bool) -> None:
    there = a_released_pod("there", a_shape(cpu="4"), node="node-1", owner=owner, admitted_at=1.0)
    queue = a_cluster_queue("team-a", a_quota(cpu="4"), preemption=Preemption(Within.LOWER_PRIORITY))
    cache = a_cache(there, a_pod("urgent", a_shape(cpu="1"), priority=5), nodes=[a_node(cpu="4")], queues=[queue])
    assert decided(cache).preemptors.keys() == (set() if is_alone else {"urgent"})
    assert ("; preemption would not make room for it now; place 1 of 1" in sentence(cache, "urgent")) is is_alone


def test_a_limit_over_all_flavors_says_what_is_used_of_it() -> None:
    queue = a_cluster_queue("team-a", a_quota(cpu="64"), limits={"pods": 1})
    cache = a_cache(a_pod("a", created=1), a_pod("b", created=2), nodes=[HUGE], queues=[queue])
    decided(cache)
    assert figures(cache, "b") == Arithmetic(Held("team-a", "", "pods", 1, 1), Place("team-a", 0, 1))


def test_where_room_is_short_the_place_alone_is_told() -> None:
    cache = a_cache(a_foreign_pod("busy", a_shape(cpu="4"), node="node-1"), a_pod("a"), nodes=[a_node(cpu="4")])
    decided(cache)
    assert figures(cache, "a") == Arithmetic(None, Place("team-a", 0, 1))


def test_behind_others_of_a_strict_queue_the_place_says_how_many() -> None:
    queue = a_cluster_queue("team-a", a_quota(cpu="4"), strategy=STRICT)
    busy = [a_pod("a", a_shape(cpu="3"), created=1), a_pod("b", a_shape(cpu="2"), created=2)]
    cache = a_cache(*busy, a_pod("c", created=3), nodes=[HUGE], queues=[queue])
    decided(cache)
    assert sentence(cache, "c") == "behind others in the StrictFIFO queue team-a; place 2 of 2 in ClusterQueue team-a"


def test_where_waiting_does_not_help_no_figures_are_told() -> None:
    cache = a_cache(a_pod("a", a_shape(cpu="9")), a_pod("b", queue="absent"))
    decided(cache)
    assert figures(cache, "a") is None
    assert figures(cache, "b") is None
