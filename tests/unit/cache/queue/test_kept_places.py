"""Whose places gangs keep, and for how long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Job, Owner
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from tests.support.builders import a_cluster_queue, a_flavor, a_local_queue, a_node, a_quota, a_released_pod, a_shape

GANG = Membership(GroupKey("default", "train"), 2)


def a_member(name: str, **fields: Any) -> Pod:
    return a_released_pod(name, a_shape(cpu="1"), node="node-1", group=GANG, **fields)


def a_cache(*pods: Pod, kept: int = 60) -> ClusterCache:
    cache = ClusterCache(lambda: None, kept=kept)
    cache.put_node(a_node())
    cache.set_flavor("spot", a_flavor())
    cache.set_cluster_queue("team-a", a_cluster_queue("team-a", a_quota(cpu="2")))
    cache.set_local_queue(("default", "team-a"), a_local_queue("team-a", "team-a"))
    cache.advance(100.0)
    for pod in pods:
        cache.put_pod(pod)
    return cache


def lost(cache: ClusterCache) -> list[str]:
    return [one.pod.name for one in cache.gangs.lost.places()]


def changed(pod: Pod, **fields: Any) -> Pod:
    return replace(pod, resource_version=str(int(pod.resource_version) + 1), **fields)


def test_the_place_of_a_member_that_is_gone_is_kept() -> None:
    cache = a_cache(a_member("a"), a_member("b"))
    cache.drop_pod("a")
    assert lost(cache) == ["a"]
    assert cache.advance(159.0) <= 160.0
    assert lost(cache) == ["a"]
    cache.advance(160.0)
    assert lost(cache) == []


@pytest.mark.parametrize(("has_succeeded", "expected"), [(False, ["a"]), (True, [])])
def test_who_failed_keeps_its_place_and_not_who_succeeded(has_succeeded: bool, expected: list[str]) -> None:
    one = a_member("a")
    cache = a_cache(one, a_member("b"))
    cache.put_pod(changed(one, is_finished=True, has_succeeded=has_succeeded))
    assert lost(cache) == expected
    cache.drop_pod("a")
    assert lost(cache) == expected


def test_what_is_evicted_keeps_no_place() -> None:
    one = a_member("a")
    cache = a_cache(one, a_member("b"))
    cache.evictions.begin(Evict(one, EvictionCause.PREEMPTED, "why"))
    cache.put_pod(changed(one, is_terminating=True))
    cache.drop_pod("a")
    assert (lost(cache), cache.gangs.lost.returned) == ([], set())


def test_an_eviction_that_was_refused_changes_nothing() -> None:
    one = a_member("a")
    cache = a_cache(one, a_member("b"))
    cache.evictions.begin(Evict(one, EvictionCause.PREEMPTED, "why"))
    cache.evictions.refuse("a", "a budget")
    cache.drop_pod("a")
    assert lost(cache) == ["a"]


def test_who_takes_the_place_ends_it() -> None:
    cache = a_cache(a_member("a"), a_member("b"))
    cache.drop_pod("a")
    cache.put_pod(a_member("c"))
    assert lost(cache) == []


def test_a_pod_alone_has_no_place_that_is_kept() -> None:
    cache = a_cache(a_released_pod("a", a_shape(cpu="1"), node="node-1"))
    cache.drop_pod("a")
    assert lost(cache) == []


def test_nothing_is_kept_where_the_option_says_so() -> None:
    cache = a_cache(a_member("a"), a_member("b"), kept=0)
    cache.drop_pod("a")
    assert lost(cache) == []


def test_the_gang_of_a_job_keeps_places_while_that_is_there() -> None:
    owner, gang = Owner("batch/v1", "Job", "train", "job"), Membership(GroupKey("default", "job", is_job=True))
    pods = [replace(a_member(name), owner=owner, group=gang) for name in "abc"]
    cache = a_cache(*pods)
    cache.drop_pod("a")
    assert lost(cache) == []  # nobody has seen its Job
    cache.set_job("job", Job(uid="job", namespace="default", name="train"))
    cache.drop_pod("b")
    assert lost(cache) == ["b"]
    cache.set_job("job", None)
    cache.advance(101.0)
    assert lost(cache) == []
