"""The order is total, and rests on what there is, not on when it was seen."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.ageing import Ageing
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import Workload
from tests.support.builders import a_cluster_queue, a_local_queue, a_pod

TIMES = st.integers(0, 2).map(float)
JOBS = st.dictionaries(st.sampled_from(("j1", "j2")), st.tuples(TIMES, st.sampled_from(("default", "other"))))
CLASSES = st.dictionaries(st.sampled_from(("high", "low")), st.integers(-1, 1))


@st.composite
def pods(draw: st.DrawFn, *, on_top: bool = False) -> list[Pod]:
    """Pods that collide in all but their uid."""
    return [
        a_pod(
            draw(st.sampled_from(("a", "b"))),
            uid=str(number),
            namespace=draw(st.sampled_from(("default", "other"))),
            priority=draw(st.integers(-1, 1)),
            priority_class=None if on_top else draw(st.sampled_from((None, "high", "low"))),
            created=draw(TIMES),
            owner=draw(st.sampled_from((None, *(Owner("batch/v1", "Job", uid, uid) for uid in ("j1", "j2"))))),
            completion_index=draw(st.integers(0, 1)),
            is_on_top=on_top and draw(st.booleans()),
            held=draw(st.sampled_from((None, None, "jane"))) if on_top else None,
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
def test_the_order_is_total_whatever_is_seen_first(
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
            cache.move(cache.positions.set_class(event, classes[event]))
    waiting = [workload for run in cache.backlog.runs.values() for workload in run]
    assert len({workload.order for workload in waiting}) == len(made)
    found = [workload.uid for workload in sorted(waiting, key=lambda one: one.order)]
    assert found == [pod.uid for pod in sorted(made, key=lambda pod: expected(pod, jobs, classes))]
    for run in cache.backlog.runs.values():
        assert list(run) == sorted(run, key=lambda one: one.order)


def seen(made: list[Pod], **fields: Any) -> tuple[ClusterCache, list[Workload]]:
    """A cache that has seen the pods, with these fields laid over each, and who waits in it, in order."""
    cache = ClusterCache(lambda: None)
    for pod in made:
        cache.put_pod(replace(pod, **fields))
    return cache, in_order(cache)


def in_order(cache: ClusterCache) -> list[Workload]:
    cache.snapshot()
    return sorted((one for run in cache.backlog.runs.values() for one in run), key=lambda one: one.order)


def by_queue(pod: Pod) -> str:
    return pod.namespace  # each namespace has one local queue here


def before(waiting: list[Workload], uid: str) -> set[str]:
    """Workloads of other local queues that go before this one."""
    at = next(index for index, one in enumerate(waiting) if one.uid == uid)
    return {one.uid for one in waiting[:at] if one.kind.queue != waiting[at].kind.queue}


@given(pods(on_top=True))
def test_who_is_on_top_passes_its_own_queue_alone(made: list[Pod]) -> None:
    _, waiting = seen(made)
    _, without = seen(made, is_on_top=False)
    by_uid = {pod.uid: pod for pod in made}
    for index, one in enumerate(waiting):
        pod = by_uid[one.uid]
        if pod.is_on_top and pod.held is None:
            passed = [by_uid[other.uid] for other in waiting[:index] if other.kind.queue == one.kind.queue]
            assert all(other.priority > pod.priority or other.is_on_top for other in passed)
            assert before(waiting, one.uid) <= before(without, one.uid)
        if not any(other.is_on_top for other in made if by_queue(other) == by_queue(pod)):
            assert before(waiting, one.uid) <= before(without, one.uid)


@given(pods(on_top=True), pods(on_top=True))
def test_what_was_put_on_top_before_leaves_no_trace(first: list[Pod], then: list[Pod]) -> None:
    cache, _ = seen(first)
    for pod in first[len(then) :]:
        cache.drop_pod(pod.uid)
    for pod in then:
        cache.put_pod(pod)
    assert [one.order for one in in_order(cache)] == [one.order for one in seen(then)[1]]


@given(pods(), st.lists(st.integers(0, 5), max_size=4), st.booleans(), st.integers(1, 3), st.integers(0, 4))
def test_ageing_adds_what_was_waited_however_time_went_by(
    made: list[Pod], passing: list[int], queue_first: bool, by: int, more: int
) -> None:
    ageing = Ageing(every=2, by=by, most=by + more)
    cache, now = ClusterCache(lambda: None), 0

    def open_queue() -> None:
        cache.set_cluster_queue("team-a", a_cluster_queue(ageing=ageing))
        cache.set_local_queue(("default", "main"), a_local_queue())

    if queue_first:
        open_queue()
    for pod in made:
        cache.put_pod(pod)
    if not queue_first:
        open_queue()
    for seconds in passing:
        now += seconds
        next_step = cache.advance(now)
        waiting = {one.uid: -one.order[0] for one in in_order(cache)}
        for pod in made:
            waited = max(0, now - int(pod.created)) // 2 * by if pod.namespace == "default" else 0
            assert waiting[pod.uid] == pod.priority + min(waited, by + more)
            if 0 < waited < by + more:
                assert next_step <= now + 2
