"""Groups that come, go and are made again in any order: all that a gang needs is admitted together, or none of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.kubernetes.owners import Owner
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Slices, held_to
from tests.support.builders import (
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_shape,
    decided,
)
from tests.support.snapshots import changed

QUOTA, NODES = 8, 3
SHAPES = (a_shape(cpu="1"), a_shape(cpu="2"), a_shape(cpu="3"))
SLICES = {"c": Slices("rack", 2)}
OWNERS = (None, Owner("batch/v1", "Job", "run-1", "run-1"), Owner("batch/v1", "Job", "run-2", "run-2"))


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    name = draw(st.sampled_from([f"p{number}" for number in range(9)]))
    group = draw(st.sampled_from(("a", "a", "b", "c", "c", "")))
    in_slices = SLICES.get(group)
    some = ((2, 0), (2, 0), (2, 0), (3, 0), (3, 2), (3, 2), (2, 1)) if in_slices is None else ((4, 2), (4, 2), (2, 0))
    size, minimum = draw(st.sampled_from(some))
    return a_pod(
        name,
        draw(st.sampled_from(SHAPES)) if in_slices is None else SHAPES[0],
        created=float(draw(st.integers(0, 9))),
        priority=draw(st.integers(0, 2)),
        owner=draw(st.sampled_from(OWNERS)),
        group=Membership(GroupKey("default", group), size, minimum=minimum, slices=in_slices) if group else None,
        completion_index=draw(st.integers(0, 3)),
        queue=draw(st.sampled_from(("main", "main", "main", "other"))),
    )


EVENTS = st.one_of(
    st.tuples(st.just("put"), pods()),
    st.tuples(st.sampled_from(("end", "drop", "release")), st.integers(0, 8)),
    st.tuples(st.just("decide"), st.sampled_from((1, 2, UNLIMITED))),
)


def happen(cache: ClusterCache, uid: str, what: str, version: int) -> None:
    """What may happen to a pod that is there: it is gone, it shows that it was released, it succeeds."""
    pod, admit = cache.pods.get(uid), cache.assumed(uid)
    if pod is None:
        return
    if what == "drop":
        cache.drop_pod(uid)
    elif what == "release" and admit is not None:
        shape = reduce(held_to, admit.domains, pod.shape)
        stamped = replace(pod, shape=shape, cluster_queue=admit.cluster_queue, flavor=admit.flavor, node=admit.node)
        cache.put_pod(replace(stamped, gates=(), resource_version=str(version + 2)))
        cache.settle(uid)
    elif what == "end" and pod.is_admitted:
        cache.put_pod(replace(pod, is_finished=True, has_succeeded=True, resource_version=str(version + 2)))


def begun(cache: ClusterCache) -> set[str]:
    """Groups of which anybody is admitted, or has succeeded."""
    there = [pod for pod in cache.pods.values() if pod.is_admitted or pod.has_succeeded or cache.assumed(pod.uid)]
    return {pod.group.key.name for pod in there if pod.group is not None}


def decide_once(cache: ClusterCache, limit: int) -> bool:
    """Decide, check that no group was begun with less than it needs, and say whether anybody was admitted."""
    already, plan = begun(cache), decided(cache, limit=limit)
    moved = Counter(pod.group for admit in plan.admits if (pod := cache.pods[admit.uid]).group is not None)
    for group, count in moved.items():
        assert group is not None
        assert group.key.name in already or count >= (group.minimum or group.size)
    return bool(plan.admits)


@given(events=st.lists(EVENTS, max_size=60))
def test_a_gang_is_admitted_whole_and_no_fit_is_left(events: list[tuple[str, object]]) -> None:
    cache = a_cache(
        nodes=[
            a_node(f"node-{number}", labels={"pool": "spot", "rack": "one" if number else "other"}, cpu="4", pods=9)
            for number in range(NODES)
        ],
        queues=[a_cluster_queue("team-a", a_quota(cpu=str(QUOTA)))],
        locals_=[a_local_queue("main"), a_local_queue("other")],
    )
    for version, (what, given_) in enumerate(events):
        match given_:
            case Pod() as pod if pod.uid not in cache.pods:
                cache.put_pod(replace(pod, resource_version=str(version + 2)))
            case int() as number if what == "decide":
                decide_once(cache, number)
            case int() as number:
                happen(cache, f"p{number}", what, version)
            case _:
                continue
        assert cache.usage.by_queue.get(("team-a", "spot", "cpu"), 0) <= QUOTA * 1000
    while decide_once(cache, UNLIMITED):
        pass
    full = changed(cache.snapshot(), asked=None)
    assert decide(full, limit=UNLIMITED).admits == ()
    waiting = {uid for run in cache.backlog.runs.values() for workload in run for uid in workload.pods}
    assert waiting == {pod.uid for pod in cache.pods.values() if pod.gates and cache.assumed(pod.uid) is None}
