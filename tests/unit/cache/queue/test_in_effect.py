"""Queues that change by themselves, in the cache: by the time that it is, and by the nodes there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.calendar.windows import FOR_EVER
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.effective import Capacity, Override, Variation, WrittenLimits, WrittenQuota, live_capacity
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.queueing.shares import Share
from tests.support.builders import (
    HOLD,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    a_static_flavor,
    admitted,
    decided,
    list_pods,
)
from tests.support.zones import a_window, utc

NOON = utc("2026-03-04 12:00")
EVENING = utc("2026-03-04 20:00")
HALF = Variation(shares=(WrittenQuota("spot", {"cpu": Share(5000)}),))
NIGHT = Variation(overrides=(Override(window=a_window(), quotas=(WrittenQuota("spot", {"cpu": 9000}),)),))
QUEUE = a_cluster_queue("team-a", a_quota("spot", cpu="1"))


def a_varying_cache(variation: Variation, *pods: object, cpu: int = 100, now: int = NOON) -> ClusterCache:
    cache = a_cache(nodes=[a_node("n1", cpu=cpu)], queues=[])
    cache.set_cluster_queue("team-a", QUEUE, variation=variation)
    cache.advance(now)
    return cache


def cpu_of(cache: ClusterCache) -> int:
    return cache.cluster_queues["team-a"].flavors[0].nominal["cpu"]


def test_a_share_follows_nodes_as_they_come_and_go() -> None:
    cache = a_varying_cache(HALF, cpu=8)
    seen = [cpu_of(cache)]
    cache.put_node(a_node("n2", cpu=4))
    seen.append(cpu_of(cache))
    cache.put_node(a_node("n2", cpu=4, is_usable=False))
    seen.append(cpu_of(cache))
    cache.put_node(a_node("other", labels={"pool": "steady"}))
    seen.append(cpu_of(cache))
    cache.drop_node("n1")
    seen.append(cpu_of(cache))
    assert seen == [4000, 6000, 6000, 6000, 2000]


def test_a_share_follows_its_flavor() -> None:
    cache = a_varying_cache(HALF, cpu=8)
    cache.set_flavor("spot", a_static_flavor("spot", cpu=20))
    assert cpu_of(cache) == 10_000
    cache.set_flavor("spot", None)
    assert cpu_of(cache) == 0
    cache.set_flavor("spot", a_flavor())
    assert cpu_of(cache) == 4000


def limit_of(cache: ClusterCache, name: str = "org") -> dict[str, int]:
    return dict(cache.cluster_queues[name].limits)


def test_a_share_of_a_limit_follows_nodes_and_the_queues_below() -> None:
    cache = a_cache(nodes=[a_node("n1", cpu=8)], queues=[])
    cache.set_flavor("steady", a_flavor("steady"))
    cache.set_cluster_queue(
        "org", ClusterQueue(name="org"), variation=Variation(shared_limits=WrittenLimits({"cpu": Share(5000)}))
    )
    seen = [limit_of(cache)]
    cache.set_cluster_queue("team-a", a_cluster_queue("team-a", a_quota("spot", cpu=1), parent="org"))
    seen.append(limit_of(cache))
    cache.put_node(a_node("m1", cpu=4, labels={"pool": "steady"}))
    seen.append(limit_of(cache))
    cache.set_cluster_queue("team-b", a_cluster_queue("team-b", a_quota("steady", cpu=1), parent="org"))
    seen.append(limit_of(cache))
    cache.drop_node("n1")
    seen.append(limit_of(cache))
    cache.set_cluster_queue("team-b", None)
    seen.append(limit_of(cache))
    assert seen == [{"cpu": 0}, {"cpu": 4000}, {"cpu": 4000}, {"cpu": 6000}, {"cpu": 2000}, {"cpu": 0}]
    cache.set_cluster_queue("org", a_cluster_queue("org", limits={"cpu": 1}))
    cache.set_cluster_queue("team-b", a_cluster_queue("team-b", a_quota("steady", cpu=1), parent="org"))
    assert limit_of(cache) == {"cpu": 1}


def test_a_window_alone_tells_users_apart() -> None:
    limits = WrittenLimits(per_user={"cpu": 1000})
    cache = a_varying_cache(Variation(overrides=(Override(window=a_window(), limits=limits),)), now=NOON)
    cache.set_cluster_queue(
        "team-a",
        a_cluster_queue("team-a", a_quota("spot", cpu=9)),
        variation=Variation(overrides=(Override(window=a_window(), limits=limits),)),
    )
    cache.advance(EVENING)
    list_pods(cache, [a_pod(name, user=name[0]) for name in ("a1", "a2", "b1")])
    assert set(admitted(decided(cache))) == {"a1", "b1"}
    cache.advance(EVENING + 8 * 3600)
    assert set(admitted(decided(cache))) == {"a2"}


def test_a_node_not_ready_counts_five_minutes_more() -> None:
    cache = a_varying_cache(HALF, cpu=8)
    gone = replace(a_node("n1", cpu=8), is_ready=False, not_ready_since=NOON)
    cache.put_node(gone)
    assert (cpu_of(cache), cache.advance(NOON + 1)) == (4000, NOON + 300)
    cache.put_node(replace(gone, not_ready_since=NOON + 60))
    assert (cache.advance(NOON + 299), cpu_of(cache)) == (NOON + 300, 4000)
    assert (cache.advance(NOON + 300), cpu_of(cache)) == (FOR_EVER, 0)
    cache.put_node(a_node("n1", cpu=8))
    assert cpu_of(cache) == 4000
    cache.put_node(replace(gone, not_ready_since=NOON + 400))
    assert (cache.advance(NOON + 400), cpu_of(cache)) == (NOON + 700, 4000)


def test_a_window_opens_and_closes_as_time_passes() -> None:
    cache = a_varying_cache(NIGHT)
    times = [NOON, EVENING - 1, EVENING, EVENING + 8 * 3600 - 1, EVENING + 8 * 3600]
    seen = [(cache.advance(time), cpu_of(cache)) for time in times]
    end = EVENING + 8 * 3600
    assert seen == [(EVENING, 1000), (EVENING, 1000), (end, 9000), (end, 9000), (EVENING + 86_400, 1000)]


def test_a_clock_that_is_set_back_closes_the_window_again() -> None:
    cache = a_varying_cache(NIGHT, now=EVENING)
    assert cpu_of(cache) == 9000
    assert (cache.advance(NOON), cpu_of(cache)) == (EVENING, 1000)


def test_a_window_or_new_nodes_admit_what_waits_for_quota() -> None:
    for variation in (NIGHT, HALF):
        cache = a_varying_cache(variation, cpu=4)
        list_pods(cache, [a_pod("large", a_shape(cpu="3"))])
        assert admitted(decided(cache)) == {}
        assert admitted(decided(cache)) == {}
        if variation is NIGHT:
            cache.advance(EVENING)
        else:
            cache.put_node(a_node("n2", cpu=2))
        assert set(admitted(decided(cache))) == {"large"}


def test_a_closed_window_admits_no_more() -> None:
    cache = a_varying_cache(NIGHT, now=EVENING)
    list_pods(cache, [a_released_pod("runs", a_shape(cpu="5"), node="n1"), a_pod("waits")])
    cache.advance(EVENING + 8 * 3600)
    assert admitted(decided(cache)) == {}
    assert cache.usage.by_queue[("team-a", "spot", "cpu")] == 5000


def test_a_window_that_holds_stops_admission_while_it_is_open() -> None:
    cache = a_varying_cache(Variation(overrides=(Override(window=a_window(), stop=HOLD),)), now=EVENING)
    list_pods(cache, [a_pod("one")])
    assert admitted(decided(cache)) == {}
    assert cache.queues.stopped_by("team-a") == "night"
    cache.advance(EVENING + 8 * 3600)
    assert set(admitted(decided(cache))) == {"one"}


def test_a_relist_of_nodes_is_summed_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(flavor: Flavor, nodes: Iterable[Node], now: int) -> Capacity:
        asked.append(flavor.name)
        return live_capacity(flavor, nodes, now)

    monkeypatch.setattr("controller.cache.cluster.live_capacity", counted)
    cache = a_varying_cache(HALF)
    asked.clear()
    for number in range(50):
        cache.put_node(a_node(f"m{number}", cpu=2))
    assert cpu_of(cache) == 100_000
    cache.advance(NOON + 5)
    assert asked == ["spot"]


def test_a_changed_queue_leaves_no_trace_of_its_schedule() -> None:
    cache = a_varying_cache(NIGHT, now=EVENING)
    assert cache.queues.outlook_of("team-a") is not None
    cache.set_cluster_queue("team-a", QUEUE)
    assert (cpu_of(cache), cache.queues.outlook_of("team-a"), cache.advance(EVENING)) == (1000, None, FOR_EVER)
    cache.set_cluster_queue("team-a", QUEUE, variation=NIGHT)
    assert cpu_of(cache) == 9000
    cache.set_cluster_queue("team-a", None)
    assert (cache.cluster_queues, cache.advance(EVENING)) == ({}, FOR_EVER)
