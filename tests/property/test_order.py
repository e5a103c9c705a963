"""The order is total, and rests on what there is, not on when it was seen."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.core.owners import Job, Owner
from controller.core.pods import Pod
from tests.support.builders import a_pod

TIMES = st.integers(0, 2).map(float)
JOBS = st.dictionaries(st.sampled_from(("j1", "j2")), st.tuples(TIMES, st.sampled_from(("default", "other"))))
CLASSES = st.dictionaries(st.sampled_from(("high", "low")), st.integers(-1, 1))


@st.composite
def pods(draw: st.DrawFn) -> list[Pod]:
    """Pods that collide in all but their uid."""
    return [
        a_pod(
            draw(st.sampled_from(("a", "b"))),
            uid=str(number),
            namespace=draw(st.sampled_from(("default", "other"))),
            priority=draw(st.integers(-1, 1)),
            priority_class=draw(st.sampled_from((None, "high", "low"))),
            created=draw(TIMES),
            owner=draw(st.sampled_from((None, *(Owner("batch/v1", "Job", uid, uid) for uid in ("j1", "j2"))))),
            completion_index=draw(st.integers(0, 1)),
        )
        for number in range(draw(st.integers(1, 6)))
    ]


def expected(pod: Pod, jobs: dict[str, Any], classes: dict[str, int]) -> tuple[Any, ...]:
    """The rule of docs/objects.md, word for word."""
    priority = classes.get(pod.priority_class or "", pod.priority)
    owner = jobs.get(pod.owner.uid if pod.owner is not None else "")
    since = owner[0] if owner is not None and owner[1] == pod.namespace else pod.created
    return (-priority, since, pod.completion_index, pod.created, f"{pod.namespace}/{pod.name}", pod.uid)


@given(pods(), JOBS, CLASSES, st.randoms(use_true_random=False))
def test_the_order_is_total_and_the_same_in_whatever_order_things_are_seen(
    made: list[Pod], jobs: dict[str, Any], classes: dict[str, int], chance: random.Random
) -> None:
    cache = ClusterCache(lambda: None)
    events: list[Any] = [*made, *jobs, *classes]
    chance.shuffle(events)
    for event in events:
        if isinstance(event, Pod):
            cache.put_pod(event)
        elif event in jobs:
            created, namespace = jobs[event]
            cache.set_job(event, Job(uid=event, namespace=namespace, name=event, created=created))
        else:
            cache.move(cache.places.set_class(event, classes[event]))
    waiting = [workload for run in cache.backlog.runs.values() for workload in run]
    assert len({workload.order for workload in waiting}) == len(made)
    found = [workload.uid for workload in sorted(waiting, key=lambda one: one.order)]
    assert found == [pod.uid for pod in sorted(made, key=lambda pod: expected(pod, jobs, classes))]
    for run in cache.backlog.runs.values():
        assert list(run) == sorted(run, key=lambda one: one.order)
