"""What events cost, as lines of Python run: a node that comes, a pod that ends, a Job that changes, whoever waits."""

from __future__ import annotations

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.queueing.effective import Variation, WrittenQuota
from controller.core.queueing.shares import Share
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_quota,
    a_released_pod,
    a_shape,
    decided,
)
from tests.support.loop_work import work_of

SHARE = Variation(shares=(WrittenQuota("spot", {"cpu": Share(10)}),))


def a_world_of_shares(count: int, *, parent: str = "") -> ClusterCache:
    """So many queues that have a percentage of a flavor, alone or below one parent, with two running pods each."""
    cache = a_cache(nodes=[a_node("n1", cpu="100")], queues=[a_cluster_queue("org", a_quota())] if parent else [])
    for name in (f"team-{n:03}" for n in range(count)):
        queue = a_cluster_queue(name, a_quota(cpu="1"), parent=parent)
        cache.set_cluster_queue(name, queue, variation=SHARE)
        cache.set_local_queue(("default", name), a_local_queue(name, name))
        for pod in ("a", "b"):
            cache.put_pod(
                a_released_pod(f"{name}-{pod}", a_shape(cpu="10m"), queue=name, cluster_queue=name, node="n1")
            )
    cache.pass_to(1000.0)
    decided(cache)
    return cache


@pytest.mark.parametrize("parent", ["", "org"])
def test_a_node_costs_once_for_all_queues_with_shares(parent: str) -> None:
    counted = []
    for count in (20, 80):
        cache = a_world_of_shares(count, parent=parent)
        cache.put_node(a_node("n2", cpu="100"))
        counted.append(work_of(lambda cache=cache: cache.pass_to(1001.0)))  # type: ignore[misc]
    assert counted[1] < 5 * counted[0]
