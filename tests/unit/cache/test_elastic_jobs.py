"""Pods that an admitted Job is to get in addition: how they wait, and that they are charged once at every moment."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink, PodSink
from controller.core.gate.job_growth import widening_patch
from controller.core.gate.job_release import release_job_patch
from controller.core.keys import MIN_PARALLELISM, QUEUE_NAME, WANTED_PARALLELISM
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import QueueingStrategy
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Phase
from controller.kube.decode import PodDecoder
from controller.kube.wire import Owned
from tests.support.builders import a_cache, a_cluster_queue, a_flavor, a_local_queue, a_node, a_quota, decided, waiting
from tests.support.job_documents import Json, a_job_document, a_pod_of, a_released_job, edited, pods_of, state_of
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION, raw

SPOT = a_flavor("spot", labels={"pool": "spot"})
OTHER = a_flavor("other", labels={})
MORE = "train/more"


def a_world(cpu: int = 8, **queue: object) -> ClusterCache:
    """Two nodes of four cpu, and a quota of so many on spot; a flavor that is not the Job's has more."""
    nodes = [a_node(name, cpu="4", labels={"pool": "spot"}) for name in ("node-1", "node-2")]
    quotas = a_quota("spot", cpu=cpu), a_quota("other", cpu=100)
    return a_cache(nodes=nodes, flavors=[SPOT, OTHER], queues=[a_cluster_queue("team-a", *quotas, **queue)])


def put(cache: ClusterCache, document: Json) -> None:
    JobSink(cache).upsert(state_of(document))


def used(cache: ClusterCache, flavor: str = "spot") -> int:
    return cache.usage.by_queue.get(("team-a", flavor, "cpu"), 0)


def wanting(number: int, document: Json | None = None) -> Json:
    """An admitted Job with two pods of which so many are wanted."""
    job = document or a_released_job(a_job_document(spec={"parallelism": 2, "completions": 50}), [SPOT])
    changed = edited(job)
    changed["metadata"]["generation"] -= 1
    changed["metadata"]["annotations"][WANTED_PARALLELISM] = str(number)
    return changed


def widened(job: Json, admit: Admit) -> Json:
    """The Job as the apiserver has it after the patch."""
    return edited(patched(job, widening_patch(pods_of(job), admit.count, by="leader")))


def test_more_pods_wait_as_one_and_are_admitted() -> None:
    cache = a_world()
    job = wanting(5)
    put(cache, job)
    assert used(cache) == 2000
    (admit,) = decided(cache).admits
    assert (admit.uid, admit.flavor, admit.count) == (MORE, "spot", 3)
    assert used(cache) == 5000
    put(cache, widened(job, admit))
    assert (used(cache), MORE in cache.pods, cache.assumed(MORE)) == (5000, False, None)
    cache.settle(MORE)
    assert used(cache) == 5000


def test_as_many_come_in_as_fit_and_the_rest_waits() -> None:
    cache = a_world(cpu=4)
    job = wanting(9)
    put(cache, job)
    plan = decided(cache)
    (admit,) = plan.admits
    assert (admit.count, used(cache)) == (2, 4000)
    job = widened(job, admit)
    put(cache, job)
    assert (used(cache), cache.pods[MORE].count, cache.assumed(MORE)) == (4000, 5, None)
    assert set(waiting(decided(cache)).values()) == {"QuotaExceeded"}
    assert used(cache) == 4000


def test_they_go_to_no_other_flavor() -> None:
    cache = a_world(cpu=2)
    put(cache, wanting(3))
    plan = decided(cache)
    assert not plan.admits
    (wait,) = plan.waits.values()
    assert wait.reason == "QuotaExceeded"
    assert "admitted to spot" in wait.blockers[1].detail


def test_room_is_kept_where_it_was_found_for_them() -> None:
    cache = a_world()
    job = a_job_document(spec={"parallelism": 2, "completions": 50}, cpu="2")
    put(cache, job)
    (admit,) = decided(cache).admits
    job = a_released_job(job, [SPOT])
    put(cache, job)
    cache.settle(admit.uid)
    job = wanting(4, job)
    put(cache, job)
    (admit,) = decided(cache).admits
    put(cache, widened(job, admit))
    assert {node: held["cpu"] for node, held in cache.usage.by_node.items()} == {"node-1": 4000, "node-2": 4000}


@pytest.mark.parametrize("count", [2, 1])
def test_a_wish_that_changes_while_a_patch_is_under_way(count: int) -> None:
    cache = a_world()
    job = wanting(5)
    put(cache, job)
    decided(cache)
    less = wanting(count, job)
    put(cache, less)
    assert used(cache) == 5000  # what was sent may still take effect
    cache.settle(MORE)
    assert (used(cache), MORE in cache.pods) == (2000, False)


def test_an_edit_ends_what_was_sent() -> None:
    cache = a_world()
    job = wanting(5)
    put(cache, job)
    decided(cache)
    put(cache, edited(job, backoffLimit=3))
    assert (used(cache), cache.assumed(MORE)) == (2000, None)
    assert decided(cache).admits


@pytest.mark.parametrize("spec", [{"suspend": True}, {"parallelism": 1}])
def test_a_job_that_stops_or_shrinks_keeps_no_charge(spec: Json) -> None:
    cache = a_world()
    job = wanting(5)
    put(cache, job)
    decided(cache)
    changed = edited(job, **spec)
    del changed["metadata"]["annotations"][WANTED_PARALLELISM]
    put(cache, changed)
    assert (used(cache), MORE in cache.pods) == (0 if "suspend" in spec else 1000, False)


def test_a_job_that_is_gone_takes_its_wish_along() -> None:
    cache = a_world()
    put(cache, wanting(5))
    decided(cache)
    JobSink(cache).remove(Owned(uid="train"))
    assert (used(cache), cache.pods, len(cache.backlog)) == (0, {}, 0)


def test_a_job_that_ended_or_is_deleted_wants_nothing() -> None:
    cache = a_world()
    job = wanting(5)
    put(cache, {**job, "status": {"conditions": [{"type": "Complete", "status": "True"}]}})
    assert MORE not in cache.pods
    cache = a_world()
    job["metadata"]["deletionTimestamp"] = "2026-03-01T09:00:00Z"
    put(cache, job)
    assert MORE not in cache.pods


def test_more_pods_do_not_preempt_their_own_job() -> None:
    cache = a_world(cpu=2, preemption=Preemption(within=Within.LOWER_OR_NEWER_EQUAL_PRIORITY))
    job = wanting(5)
    put(cache, job)
    for name in ("a", "b"):
        document = a_pod_of(job, name, node="node-1", creationTimestamp="2026-03-02T08:00:00Z")
        document["spec"]["priority"] = -10
        PodSink(cache).upsert(PodDecoder()(raw(document)))
    plan = decided(cache)
    assert (plan.admits, plan.evicts) == ((), ())


def test_a_job_that_can_do_with_fewer_gets_as_many_as_fit() -> None:
    cache = a_world(cpu=5)
    note = {"annotations": {"penstock.dev/min-parallelism": "2"}}
    job = a_job_document(spec={"parallelism": 40, "completions": 40}, metadata=note)
    put(cache, job)
    (admit,) = decided(cache).admits
    assert (admit.uid, admit.count, used(cache)) == ("train", 5, 5000)
    released = edited(patched(job, release_job_patch(pods_of(job), [SPOT], ADMISSION, count=admit.count)))
    put(cache, released)
    cache.settle("train")
    assert (used(cache), cache.pods[MORE].count, cache.pods[MORE].phase) == (5000, 35, Phase.QUEUED)


def test_below_its_minimum_a_job_waits() -> None:
    cache = a_world(cpu=5)
    note = {"annotations": {"penstock.dev/min-parallelism": "6"}}
    put(cache, a_job_document(spec={"parallelism": 40, "completions": 40}, metadata=note))
    assert not decided(cache).admits
    assert (used(cache), cache.backlog.count(("default", "main"))) == (0, 40)


@pytest.mark.parametrize(
    "org",
    [{"fair_sharing": FairSharing()}, {}],
    ids=["by shares", "in order"],
)
@pytest.mark.parametrize("strategy", [QueueingStrategy.BACKFILL, QueueingStrategy.STRICT_FIFO])
def test_jobs_of_a_tree_get_as_many_pods_as_fit(org: dict[str, Any], strategy: QueueingStrategy) -> None:
    team = {"parent": "org", "strategy": strategy, **org}
    queues = [a_cluster_queue("org", a_quota("spot", cpu=0), **org)]
    queues += [a_cluster_queue(name, a_quota("spot", cpu=4), **team) for name in ("team-a", "team-b")]
    nodes = [a_node("node-1", cpu="16", labels={"pool": "spot"})]
    locals_ = [a_local_queue(), a_local_queue("other", "team-b")]
    cache = a_cache(nodes=nodes, flavors=[SPOT], queues=queues, locals_=locals_)
    for name, queue in (("a", "main"), ("b", "other"), ("c", "other")):
        note = {"annotations": {MIN_PARALLELISM: "2"}, "labels": {QUEUE_NAME: queue}}
        put(cache, a_job_document(name, spec={"parallelism": 5, "completions": 50}, metadata=note))
    plan = decided(cache)
    assert {admit.uid: admit.count for admit in plan.admits} == {"a": 5, "b": 3}
    assert (used(cache), cache.usage.by_queue["team-b", "spot", "cpu"]) == (5000, 3000)
    assert list(waiting(plan).values()) == ["ParentQueueLimit"]
