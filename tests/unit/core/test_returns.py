from __future__ import annotations

import pytest

from controller.core.decision.decide import decide
from controller.core.evictions.returns import may_return
from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.queues import StopPolicy
from controller.core.workloads.decisions import Evict
from controller.runtime.drain_status import queue_drain
from tests.support.builders import UNLIMITED, a_cache, a_cluster_queue, a_released_pod

IGNORING = Job(uid="job", namespace="default", name="train", ignores_disruption=True)
COUNTING = Job(uid="job", namespace="default", name="train", backoff_limit=3, failed=1)


def an_owner(kind: str = "Job", api_version: str = "batch/v1") -> Owner:
    return Owner(api_version, kind, "train", "job")


@pytest.mark.parametrize(
    ("owner", "may", "why"),
    [
        (an_owner("ReplicaSet", "apps/v1"), True, "its ReplicaSet makes another"),
        (an_owner("StatefulSet", "apps/v1beta2"), True, "its StatefulSet makes another"),
        (an_owner("ReplicationController", "v1"), True, "its ReplicationController makes another"),
        (an_owner("ReplicaSet", "argoproj.io/v1"), False, "its owner is a ReplicaSet, of which it is not known"),
        (an_owner("DaemonSet", "apps/v1"), False, "its owner is a DaemonSet, of which it is not known"),
        (an_owner("Job", "batch.volcano.sh/v1alpha1"), False, "its owner is a Job, of which it is not known"),
        (an_owner(), False, "its Job is not known"),
        (None, False, "no owner would recreate it"),
    ],
)
def test_only_owners_known_to_make_another_get_a_pod_back(owner: Owner | None, may: bool, why: str) -> None:
    found = may_return(a_released_pod(owner=owner), a_cluster_queue(), {})
    assert found.may_return is may
    assert found.why.startswith(why)


def test_a_job_that_ignores_disruption_gets_its_pod_back() -> None:
    assert may_return(a_released_pod(owner=an_owner()), None, {"job": IGNORING}).may_return


@pytest.mark.parametrize(("ending", "may"), [(0, True), (1, True), (2, False), (9, False)])
def test_a_job_that_counts_returns_while_it_has_retries(ending: int, may: bool) -> None:
    pod, jobs = a_released_pod(owner=an_owner()), {"job": COUNTING}
    assert may_return(pod, a_cluster_queue(allow_job_retries=True), jobs, ending=ending).may_return is may
    assert not may_return(pod, a_cluster_queue(), jobs, ending=ending).may_return
    assert not may_return(pod, None, jobs).may_return


def test_a_queue_that_is_gone_allows_nothing() -> None:
    assert not may_return(a_released_pod(), None, {}).may_return
    assert may_return(a_released_pod(), a_cluster_queue(allow_bare_pods=True), {}).may_return


def evicts_of_a_drain(count: int) -> tuple[Evict, ...]:
    pods = (a_released_pod(f"p{n}", node="node-1") for n in range(count))
    queue = a_cluster_queue(stop=StopPolicy.HOLD_AND_DRAIN, allow_bare_pods=True)
    cache = a_cache(*pods, queues=[queue])
    first = decide(cache.snapshot(), index=cache.feasibility, limit=UNLIMITED).evicts
    for evict in first:
        cache.evictions.begin(evict)
    assert decide(cache.snapshot(), index=cache.feasibility, limit=UNLIMITED).evicts == ()
    return first


def test_no_more_than_a_hundred_evictions_are_under_way() -> None:
    assert len(evicts_of_a_drain(3)) == 3
    assert len(evicts_of_a_drain(120)) == 100


def test_a_pod_on_its_way_out_does_not_hinder_itself() -> None:
    queue = a_cluster_queue(stop=StopPolicy.HOLD_AND_DRAIN, allow_job_retries=True)
    cache = a_cache(a_released_pod("a", owner=an_owner()), queues=[queue])
    cache.set_job("job", Job(uid="job", namespace="default", name="train", backoff_limit=1))
    (evict,) = decide(cache.snapshot(), index=cache.feasibility, limit=UNLIMITED).evicts
    cache.evictions.begin(evict)
    returns = cache.snapshot().returns()
    assert returns.verdict(evict.pod, "team-a").may_return
    assert not returns.verdict(a_released_pod("b", owner=an_owner()), "team-a").may_return


def test_the_status_of_a_drain_says_what_the_apiserver_refuses() -> None:
    queue = a_cluster_queue(stop=StopPolicy.HOLD_AND_DRAIN, allow_bare_pods=True)
    cache = a_cache(a_released_pod("a"), a_released_pod("b"), queues=[queue])
    cache.evictions.refuse("a", "429: budget")
    assert list(queue_drain(cache, "team-a")) == [
        (
            "Drained",
            False,
            "PodsStay",
            "1 pod is on its way out; 1 stays (1: the apiserver refuses for now; Penstock tries again: 429: budget)",
        )
    ]
    cache.evictions.retry("a")
    assert list(queue_drain(cache, "team-a")) == [("Drained", False, "Draining", "2 pods are on their way out")]
