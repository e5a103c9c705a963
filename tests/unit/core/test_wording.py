"""What a waiting pod is told, in one sentence that rests on what the decision found alone."""

from __future__ import annotations

from functools import partial

import pytest

from controller.core.explaining.wording import describe
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from tests.support.builders import STRICT, a_cache, a_cluster_queue, a_node, a_pod, a_quota, a_released_pod, a_shape
from tests.support.builders import decided as decide_once
from tests.support.loop_work import work_of

HUGE = a_node(cpu="64", pods="100")


@pytest.mark.parametrize(("owner", "is_alone"), [(None, True), (Owner("apps/v1", "ReplicaSet", "web", "web"), False)])
def test_who_may_preempt_in_vain_says_so(owner: Owner | None, *, is_alone: bool) -> None:
    there = a_released_pod("there", a_shape(cpu="4"), node="node-1", owner=owner, admitted_at=1.0)
    queue = a_cluster_queue("team-a", a_quota(cpu="4"), preemption=Preemption(Within.LOWER_PRIORITY))
    cache = a_cache(there, a_pod("urgent", a_shape(cpu="1"), priority=5), nodes=[a_node(cpu="4")], queues=[queue])
    assert decide_once(cache).preemptors.keys() == (set() if is_alone else {"urgent"})
    workload = cache.backlog.of_pod("urgent")
    assert workload is not None
    sentence = describe(cache.reasons.of(workload.kind).of(workload.uid), 0.0, may_preempt=True)
    assert sentence.endswith("; preemption would not make room for it now") is is_alone


def test_a_queue_without_preemption_says_nothing_of_it() -> None:
    cache = a_cache(a_pod("a", a_shape(cpu="3")), nodes=[HUGE], queues=[a_cluster_queue("team-a", a_quota(cpu="2"))])
    (wait,) = decide_once(cache).waits.values()
    assert describe(wait, 0.0) == "flavor spot: needs 3 cpu, more than the whole quota (2)"


def test_behind_others_of_a_strict_queue_the_queue_is_named() -> None:
    queue = a_cluster_queue("team-a", a_quota(cpu="4"), strategy=STRICT)
    busy = [a_pod("a", a_shape(cpu="3"), created=1), a_pod("b", a_shape(cpu="2"), created=2)]
    cache = a_cache(*busy, a_pod("c", created=3), nodes=[HUGE], queues=[queue])
    decide_once(cache)
    workload = cache.backlog.of_pod("c")
    assert workload is not None
    assert describe(cache.reasons.of(workload.kind), 0.0) == "behind others in the StrictFIFO queue team-a"


def test_a_sentence_costs_the_same_however_many_wait() -> None:
    counted = []
    for count in (10, 400):
        others = [a_pod(f"p{n}", a_shape(cpu=f"{2000 + n}m"), created=float(n)) for n in range(count)]
        cache = a_cache(*others, nodes=[HUGE], queues=[a_cluster_queue("team-a", a_quota(cpu="1"))])
        wait = next(iter(decide_once(cache).waits.values()))
        counted.append(work_of(partial(describe, wait, 0.0, uid="p1", may_preempt=True)))
    assert counted[0] == counted[1] > 0
