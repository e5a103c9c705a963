"""Past usage: Kueue's formula with its results worked out by hand, and what a restart and a status make of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.cache.usage.usage_sums import MOST_USERS
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.past_usage import PastUsage, PastUsageRule, cores, mixed
from controller.objects.read import Entry
from controller.runtime.fair_sharing_status import past_usage_status
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    decided,
)

HOUR = 3600
RULE = PastUsageRule(HOUR, by_namespace=False)
CORE = RULE.rate(a_shape(cpu="1").requests)


@pytest.mark.parametrize(
    ("consumed", "current", "seconds", "becomes"),
    [
        (8, 0, HOUR, 4),  # a = 1/2: 8 * 1/2 + 0 * 1/2
        (0, 8, HOUR, 4),  # 0 * 1/2 + 8 * 1/2
        (8, 4, HOUR, 6),  # 4 + 2
        (8, 0, 3 * HOUR, 1),  # a = 7/8
        (0, 8, 2 * HOUR, 6),  # a = 3/4
        (5, 5, 1234, 5),  # what is used for long has been used
        (8, 2, 0, 8),
    ],
)
def test_sums_are_forgotten_by_halves(consumed: int, current: int, seconds: int, becomes: int) -> None:
    assert mixed(consumed * CORE, current * CORE, seconds, HOUR) == becomes * CORE


def test_half_of_a_half_life_is_the_root() -> None:
    # 0.5 ^ 0.5 = 0.70710678...
    assert cores(mixed(1000 * CORE, 0, HOUR // 2, HOUR)) == "707.106"


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.lists(st.integers(0, 9 * HOUR), max_size=5))
def test_it_does_not_matter_how_often_a_sum_is_brought_forward(consumed: int, current: int, parts: list[int]) -> None:
    whole = mixed(consumed * CORE, current * CORE, sum(parts), HOUR)
    found = consumed * CORE
    for seconds in parts:
        found = mixed(found, current * CORE, seconds, HOUR)
    assert abs(found - whole) * 10**9 <= CORE * (len(parts) + 1)


def test_a_core_a_gib_and_a_gpu_count_the_same_by_default() -> None:
    shape = a_shape(**{"cpu": "2", "memory": "3Gi", "nvidia.com/gpu": "1"})
    assert cores(RULE.rate(shape.requests)) == "6"
    weights = {"memory": 0, "nvidia.com/gpu": 20 * 10**9, "pods": 10**9}
    assert cores(PastUsageRule(HOUR, weights).rate(shape.requests)) == "23"


def test_the_weight_divides_and_weight_zero_is_last() -> None:
    # in the five minutes that are looked ahead 8 becomes 8 * 0.5 ^ (1/12)
    ahead = Fraction(mixed(8 * CORE, 0, 300, HOUR))
    assert PastUsage(RULE, 8 * CORE).share() == (False, ahead)
    assert PastUsage(RULE, 8 * CORE, weight=Fraction(4)).share() == (False, ahead / 4)
    assert PastUsage(RULE, weight=Fraction(0)).share() > PastUsage(RULE, 10**6 * CORE).share()


def test_who_is_admitted_counts_at_once_for_five_minutes() -> None:
    # Kueue's entry penalty: request * (1 - 0.5 ^ (300 / half-life))
    more = PastUsage(RULE).share(2 * CORE)
    assert more == (False, Fraction(mixed(0, 2 * CORE, 300, HOUR)))


# -- kept by the cache ---------------------------------------------------------------------------------------------


def a_world(*pods: Any, rule: PastUsageRule = RULE, statuses: dict[str, Any] | None = None) -> ClusterCache:
    queue = a_cluster_queue("team-a", a_quota(cpu="4"), fair_sharing=FairSharing(past_usage=rule))
    doors = [a_local_queue("red"), a_local_queue("blue")]
    cache = a_cache(*pods, queues=[queue], locals_=doors, nodes=[a_node(cpu="16")])
    for name, status in (statuses or {}).items():
        cache.usage.past.remember(("default", name), {"fairSharing": status})
    return cache


def runs(name: str, cpu: str, queue: str = "red") -> Any:
    return a_released_pod(name, a_shape(cpu=cpu), queue=queue, node="node-1")


def status_of(cache: ClusterCache, queue: str = "red") -> dict[str, str] | None:
    return cache.usage.past.status(("default", queue), "team-a")


def used(cache: ClusterCache, queue: str = "red") -> str:
    cache.snapshot()
    found = status_of(cache, queue)
    assert found is not None
    return found["usage"]


def test_what_runs_is_counted_until_it_ends() -> None:
    cache = a_world(runs("r", "4"))
    cache.advance(1000)
    assert used(cache) == "0"
    cache.advance(1000 + HOUR)
    assert used(cache) == "2"
    cache.drop_pod("r")
    assert used(cache) == "2"
    cache.advance(1000 + 2 * HOUR)
    assert used(cache) == "1"


def test_a_restart_counts_on_from_the_status_with_what_runs() -> None:
    cache = a_world(runs("r", "4"))
    cache.advance(1000)
    cache.snapshot()
    cache.advance(1000 + HOUR)
    cache.snapshot()
    status = status_of(cache)
    fresh = a_world(runs("r", "4"), statuses={"red": status, "blue": {"counts": 3}})
    for one in (cache, fresh):
        one.advance(1000 + 2 * HOUR)
        # 2 * 1/2 + 4 * 1/2
        assert used(one) == "3"


def test_an_idle_queue_keeps_what_its_status_says() -> None:
    status = {"counts": "1", "consumed": str(8 * CORE), "countedUntil": "1970-01-01T01:00:00Z"}
    cache = a_world(statuses={"red": status})
    cache.advance(2 * HOUR)
    cache.snapshot()
    assert used(cache) == "4"
    assert cache.usage.past.is_said(("default", "red"), HOUR)


def test_sums_by_other_weights_are_of_no_use() -> None:
    cache = a_world(runs("r", "4"))
    cache.advance(1000)
    cache.snapshot()
    cache.advance(1000 + HOUR)
    cache.snapshot()
    status = status_of(cache)
    fresh = a_world(rule=replace(RULE, weights={"cpu": 5}), statuses={"red": status})
    fresh.advance(1000 + HOUR)
    assert used(fresh) == "0"


def test_a_status_that_is_at_rest_needs_not_be_written_again() -> None:
    cache = a_world(runs("r", "4"))
    cache.advance(1000)
    cache.snapshot()
    cache.advance(1500)
    cache.drop_pod("r")
    cache.snapshot()
    assert not cache.usage.past.is_said(("default", "red"), 1499)
    assert cache.usage.past.is_said(("default", "red"), 1500)
    cache.advance(9000)
    cache.snapshot()
    assert cache.usage.past.is_said(("default", "red"), 1500)


def test_a_clock_that_leapt_and_is_right_makes_nobody_forget() -> None:
    cache = a_world(runs("r", "4"))
    for now in (1000, 1000 + HOUR, 1000 + 60 * 24 * HOUR):
        cache.advance(now)
        cache.snapshot()
    assert used(cache) == "4"
    cache.put_pod(runs("s", "2"))
    cache.advance(1000 + HOUR + 60)
    expected = mixed(2 * CORE, 6 * CORE, 60, HOUR)
    assert used(cache) == cores(expected)
    cache.drop_pod("r")
    cache.drop_pod("s")
    cache.snapshot()
    cache.advance(1000 + 2 * HOUR + 60)
    assert used(cache) == cores(expected // 2)


def test_a_status_of_a_clock_ahead_is_forgotten_and_rewritten() -> None:
    status = {"counts": "1", "consumed": str(8 * CORE), "countedUntil": "2026-03-04T20:00:00Z"}
    cache = a_world(statuses={"red": status})
    cache.advance(1000)
    assert used(cache) == "8"
    entry = Entry(("default", "red"), "u", 1, {"fairSharing": status}, None, "")
    assert (past_usage_status(cache, entry) or {})["countedUntil"] == "1970-01-01T00:16:40Z"
    cache.advance(1000 + HOUR)
    assert used(cache) == "4"


def test_local_queues_take_turns_and_only_within_a_priority() -> None:
    pods = [a_pod(f"r{n}", queue="red", created=n) for n in range(3)]
    pods += [a_pod(f"b{n}", queue="blue", created=10 + n) for n in range(3)]
    cache = a_world(*pods, a_pod("high", queue="red", priority=1, created=50))
    cache.advance(1000)
    # red has used 1 by the time that others are looked at; after b0 both have 1, and red's are older
    assert [admit.uid for admit in decided(cache).admits] == ["high", "b0", "r0", "b1"]


def test_pods_of_one_job_stand_elsewhere_one_by_one() -> None:
    pods = [a_pod(f"{name}{n}", queue=name, created=n) for name in ("red", "blue") for n in range(4)]
    said = {"counts": RULE.key, "consumed": str(CORE * 8 // 100), "countedUntil": "1970-01-01T00:16:40Z"}
    cache = a_world(*pods, statuses={"blue": said})
    cache.advance(1000)
    # one pod more counts 0.056 (a twelfth of the half-life); what blue used, 0.076, is between one pod of red's and two
    assert [admit.uid for admit in decided(cache).admits] == ["red0", "red1", "blue0", "red2"]


# -- by user -------------------------------------------------------------------------------------------------------

BY_USER = replace(RULE, by_user=True)


def runs_for(user: str, cpu: str, name: str = "") -> Any:
    return a_released_pod(name or user, a_shape(cpu=cpu), queue="red", node="node-1", user=user)


def users_of(cache: ClusterCache) -> dict[str, str] | None:
    cache.snapshot()
    said = cache.usage.past.users(("default", "red"), "team-a")
    return None if said is None else {one["name"]: one["usage"] for one in said}


def said_by(cache: ClusterCache) -> dict[str, Any]:
    cache.snapshot()
    said = status_of(cache)
    assert said is not None
    return {**said, "users": cache.usage.past.users(("default", "red"), "team-a")}


def test_use_is_counted_by_user_and_the_largest_said_first() -> None:
    cache = a_world(runs_for("ann", "2"), runs_for("bob", "4"), runs_for("", "1", "nobody"), rule=BY_USER)
    cache.advance(1000)
    assert users_of(cache) == {}
    cache.advance(1000 + HOUR)
    assert list((users_of(cache) or {}).items()) == [("bob", "2"), ("ann", "1"), ("", "0.5")]
    assert used(cache) == "3.5"
    cache.drop_pod("bob")
    cache.snapshot()
    cache.advance(1000 + 2 * HOUR)
    assert users_of(cache) == {"ann": "1.5", "bob": "1", "": "0.75"}


def test_a_restart_goes_on_from_what_the_status_says_of_users() -> None:
    pods = [runs_for("ann", "2"), runs_for("bob", "4")]
    cache = a_world(*pods, rule=BY_USER)
    cache.advance(1000)
    cache.snapshot()
    cache.advance(1000 + HOUR)
    fresh = a_world(*pods, rule=BY_USER, statuses={"red": said_by(cache)})
    for one in (cache, fresh):
        one.advance(1000 + 2 * HOUR)
        assert users_of(one) == {"bob": "3", "ann": "1.5"}


def test_the_status_keeps_those_who_used_most() -> None:
    users = [f"user-{number:03}" for number in range(MOST_USERS + 9)]
    pods = [runs_for(user, f"{number + 1}m") for number, user in enumerate(users)]
    cache = a_world(*pods, runs_for("a" * 300, "1"), rule=BY_USER)
    cache.advance(1000)
    cache.snapshot()
    cache.advance(1000 + 9 * HOUR)
    assert list(users_of(cache) or {}) == users[: -MOST_USERS - 1 : -1]
    for user in (*users, "a" * 300):
        cache.drop_pod(user)
    cache.snapshot()
    cache.advance(1000 + 100 * HOUR)
    assert users_of(cache) == {}


def test_a_clock_that_leapt_makes_no_user_forgotten() -> None:
    cache = a_world(runs_for("ann", "2"), runs_for("bob", "4"), rule=BY_USER)
    cache.advance(1000)
    cache.snapshot()
    cache.advance(1000 + HOUR)
    cache.drop_pod("bob")
    assert users_of(cache) == {"bob": "2", "ann": "1"}
    cache.advance(1000 + 60 * 24 * HOUR)
    assert users_of(cache) == {"ann": "2"}
    cache.advance(1000 + HOUR + 6)
    cache.advance(1000 + 2 * HOUR)
    assert users_of(cache) == {"ann": "1.5", "bob": "1"}


def test_users_are_told_apart_from_when_it_is_asked_for() -> None:
    cache = a_world(runs_for("ann", "4"))
    cache.advance(1000)
    assert users_of(cache) is None
    cache.advance(1000 + HOUR)
    cache.snapshot()
    queue = a_cluster_queue("team-a", a_quota(cpu="4"), fair_sharing=FairSharing(past_usage=BY_USER))
    cache.set_cluster_queue("team-a", queue)
    assert (used(cache), users_of(cache)) == ("2", {})
    cache.advance(1000 + 2 * HOUR)
    assert (used(cache), users_of(cache)) == ("3", {"ann": "2"})
    cache.set_cluster_queue("team-a", replace(queue, fair_sharing=FairSharing(past_usage=RULE)))
    assert (used(cache), users_of(cache)) == ("3", None)


def test_users_of_a_queue_take_turns_and_each_place_is_told_so() -> None:
    pods = [
        a_pod(f"{user}{n}", queue="red", created=n + late, user=user)
        for user, late in (("ann", 0), ("bob", 9))
        for n in range(3)
    ]
    cache = a_world(*pods, rule=BY_USER)
    cache.advance(1000)
    assert [admit.uid for admit in decided(cache).admits] == ["ann0", "bob0", "ann1", "bob1"]


def test_a_status_without_users_is_rewritten_at_once() -> None:
    cache = a_world(runs_for("ann", "4"), rule=BY_USER)
    cache.advance(1000)
    standing = said_by(cache)
    entry = Entry(("default", "red"), "u", 1, {"fairSharing": standing}, None, "")
    assert past_usage_status(cache, entry) is standing
    del standing["users"]
    assert (past_usage_status(cache, entry) or {})["users"] == []
