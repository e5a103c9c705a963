"""What a waiting pod is told, in one sentence that rests on what the decision found alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from controller.core.explaining.wording import describe
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker, Booking, Later, Wait
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


def told_of(blocker: Blocker, **said: Any) -> tuple[str, str]:
    """What is told of a flavor that did not take a workload: to who asks now, and in a condition."""
    wait = replace(Wait(blocker.reason, blockers=(blocker,)), **said)
    return describe(wait, 0.0, uid="me"), describe(wait, 0.0, uid="me", figures=False)


BOOKING = Booking("team-b", "me", at=100.0)


@pytest.mark.parametrize(
    ("blocker", "now", "recorded"),
    [
        (
            Blocker("spot", Reason.QUOTA_EXCEEDED, "cpu", 2000, 1500),
            "flavor spot: needs 2 cpu, 1500m of its quota is free",
            "flavor spot: needs 2 cpu, more than is free of its quota",
        ),
        (
            Blocker("spot", Reason.PARENT_QUEUE_LIMIT, "cpu", 2000, 1000, at="org"),
            "flavor spot: needs 2 cpu, 1 is free of its quota and what it may borrow (limited at org)",
            "flavor spot: needs 2 cpu, more than is free of its quota and what it may borrow (limited at org)",
        ),
        (
            Blocker("", Reason.QUEUE_LIMIT, "pods", 2, 1, at="org"),
            "needs 2 pods, 1 of the limit of org is free",
            "needs 2 pods, more than is free of the limit of org",
        ),
        (
            Blocker("", Reason.USER_LIMIT, "pods", 2, 1, at="org", user="jo"),
            "needs 2 pods, 1 of what org gives each user is free for user jo",
            "needs 2 pods, more than is free for user jo of what org gives each user",
        ),
        (
            Blocker("", Reason.USER_LIMIT, "pods", 2, 1, at="org"),
            "needs 2 pods, 1 of what org gives each user is free for all whose user is not known",
            "needs 2 pods, more than is free for all whose user is not known of what org gives each user",
        ),
        (
            Blocker("spot", Reason.NO_CAPACITY, "cpu", 4000, 2000, "free on its emptiest node"),
            "flavor spot: needs 4 cpu, 2 free on its emptiest node",
            "flavor spot: needs 4 cpu, more than is free on its emptiest node",
        ),
        (
            Blocker("spot", Reason.NO_CAPACITY, "cpu", 4000, 2000, kept=(1000, 60.0)),
            "flavor spot: needs 4 cpu, 2 of its capacity is free; 1 is kept until 1970-01-01T00:01:00Z for recreated "
            "pods of gangs",
            "flavor spot: needs 4 cpu, more than is free of its capacity; some of it is kept for recreated pods "
            "of gangs",
        ),
        (
            Blocker("spot", Reason.NO_CAPACITY, detail="no room for all 5 pods", now="room for 2 of the 5 pods now"),
            "flavor spot: room for 2 of the 5 pods now",
            "flavor spot: no room for all 5 pods",
        ),
        (
            Blocker("spot", Reason.NEVER_FITS, "cpu", 9000, 8000, "more than the whole quota"),
            "flavor spot: needs 9 cpu, more than the whole quota (8)",
            "flavor spot: needs 9 cpu, more than the whole quota (8)",
        ),
        (
            Blocker("spot", Reason.WOULD_DELAY, "cpu", 3000, 1000, "it runs long", booking=BOOKING),
            "flavor spot: needs 3 cpu, 1 is left without what is kept for the first of ClusterQueue team-b from "
            "1970-01-01T00:01:40Z on; it runs long",
            "flavor spot: needs 3 cpu, more than is left without what is kept for the first of ClusterQueue team-b; "
            "it runs long",
        ),
        (
            Blocker("spot", Reason.WOULD_DELAY, detail="it runs long", booking=BOOKING),
            "flavor spot: the room that is free now is kept for the first of ClusterQueue team-b from "
            "1970-01-01T00:01:40Z on; it runs long",
            "flavor spot: the room that is free is kept for the first of ClusterQueue team-b; it runs long",
        ),
    ],
)
def test_a_condition_has_no_figure_that_grows_old(blocker: Blocker, now: str, recorded: str) -> None:
    assert told_of(blocker) == (now, recorded)


def test_a_condition_does_not_say_when_a_reservation_begins() -> None:
    blocker = Blocker("spot", Reason.QUOTA_EXCEEDED, "cpu", 2000, 0)
    later = {"booking": BOOKING, "later": Later("on-demand", 60)}
    tried = "; flavor on-demand: tried from 1970-01-01T00:01:00Z on"
    assert told_of(blocker, **later) == (
        f"flavor spot: needs 2 cpu, 0 of its quota is free{tried}; kept for it from 1970-01-01T00:01:40Z on",
        f"flavor spot: needs 2 cpu, more than is free of its quota{tried}",
    )
