"""What a Job that is held as a whole is charged with, from its decision until its pods are seen."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink, PodSink
from controller.core.keys import REQUIRED_TOPOLOGY
from controller.core.workloads.pods import Phase
from controller.kube.decode import PodDecoder
from controller.kube.wire import Owned
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_node,
    a_quota,
    decided,
    waiting,
)
from tests.support.job_documents import Json, a_job_document, a_pod_of, a_released_job, edited, state_of

SPOT = a_flavor("spot", labels={"pool": "spot"})


def a_world(cpu: int = 8) -> ClusterCache:
    """Two nodes of four cpu, and a quota of so many."""
    nodes = [a_node(name, cpu="4", labels={"pool": "spot"}) for name in ("node-1", "node-2")]
    return a_cache(nodes=nodes, flavors=[SPOT], queues=[a_cluster_queue("team-a", a_quota("spot", cpu=cpu))])


def put(cache: ClusterCache, document: Json) -> None:
    JobSink(cache).upsert(state_of(document))


def put_pod(cache: ClusterCache, document: Json) -> None:
    PodSink(cache).upsert(PodDecoder()(orjson.dumps(document)))


def used(cache: ClusterCache) -> int:
    return cache.usage.by_queue.get(("team-a", "spot", "cpu"), 0)


def on_nodes(cache: ClusterCache) -> dict[str, int]:
    return {node: amounts.get("cpu", 0) for node, amounts in cache.usage.by_node.items()}


def running(cache: ClusterCache, document: Json) -> Json:
    """Let the decision admit the Job, and show that its release arrived."""
    put(cache, document)
    (admit,) = decided(cache).admits
    released = a_released_job(document, [SPOT])
    put(cache, released)
    cache.settle(admit.uid)
    return released


def test_a_job_is_admitted_by_one_patch_with_all_its_pods() -> None:
    cache = a_world()
    put(cache, a_job_document(spec={"parallelism": 5, "completions": 5}, cpu="1"))
    (admit,) = decided(cache).admits
    assert (admit.uid, admit.flavor, admit.node) == ("train", "spot", None)
    assert dict(admit.nodes) == {"node-1": 4, "node-2": 1}
    assert used(cache) == 5000
    assert on_nodes(cache) == {"node-1": 4000, "node-2": 1000}
    assert cache.usage.counts["team-a", Phase.RESERVED] == 5


def test_all_of_its_pods_go_in_or_none() -> None:
    cache = a_world(cpu=3)
    put(cache, a_job_document(spec={"parallelism": 4, "completions": 4}, cpu="1"))
    plan = decided(cache)
    assert not plan.admits
    assert waiting(plan) == {"main/4000": "NeverFits"}
    put(cache, a_job_document(spec={"parallelism": 9, "completions": 9}, cpu="1"))
    assert used(cache) == 0


def test_pods_that_are_seen_take_over_what_the_job_holds() -> None:
    cache = a_world()
    job = running(cache, a_job_document(spec={"parallelism": 3, "completions": 3}, cpu="2"))
    assert (used(cache), on_nodes(cache)) == (6000, {"node-1": 4000, "node-2": 2000})
    put_pod(cache, a_pod_of(job, "a"))
    assert (used(cache), on_nodes(cache)) == (6000, {"node-1": 4000, "node-2": 2000})
    put_pod(cache, a_pod_of(job, "a", node="node-2", resourceVersion="10"))
    assert (used(cache), on_nodes(cache)) == (6000, {"node-1": 4000, "node-2": 2000})
    put_pod(cache, a_pod_of(job, "b", node="node-2"))
    assert (used(cache), on_nodes(cache)) == (6000, {"node-1": 2000, "node-2": 4000})
    put_pod(cache, a_pod_of(job, "c", node="node-1"))
    assert (used(cache), on_nodes(cache)) == (6000, {"node-1": 2000, "node-2": 4000})
    assert cache.usage.charge_of("train") is None


def test_it_shrinks_as_completions_end() -> None:
    cache = a_world()
    job = running(cache, a_job_document(spec={"parallelism": 3, "completions": 3}, cpu="2"))
    for name in "abc":
        put_pod(cache, a_pod_of(job, name, node="node-1"))
    put_pod(cache, a_pod_of(job, "a", node="node-1", phase="Succeeded", resourceVersion="11"))
    assert used(cache) == 6000  # the Job may make another, as long as it does not count this one
    job = {**job, "status": {"succeeded": 1}}
    job["metadata"] = {**job["metadata"], "resourceVersion": "12"}
    put(cache, job)
    assert used(cache) == 4000
    put(cache, {**job, "status": {"succeeded": 3, "conditions": [{"type": "Complete", "status": "True"}]}})
    assert used(cache) == 4000
    for name in "bc":
        PodSink(cache).remove(Owned(uid=name))
    assert used(cache) == 0


def test_a_pod_that_lingers_is_charged_beside_its_successor() -> None:
    cache = a_world()
    job = running(cache, a_job_document(spec={"parallelism": 1, "completions": 1}, cpu="2"))
    put_pod(cache, a_pod_of(job, "a", node="node-1"))
    going: Json = {
        "deletionTimestamp": "2026-03-01T09:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "resourceVersion": "11",
    }
    put_pod(cache, a_pod_of(job, "a", node="node-1", **going))
    assert used(cache) == 4000
    put_pod(cache, a_pod_of(job, "b", node="node-1"))
    assert used(cache) == 4000
    PodSink(cache).remove(Owned(uid="a"))
    assert used(cache) == 2000


def test_a_restart_charges_the_same_quota() -> None:
    cache = a_world()
    job = running(cache, a_job_document(spec={"parallelism": 3, "completions": 3}, cpu="2"))
    put_pod(cache, a_pod_of(job, "a", node="node-1"))
    after = a_world()
    put_pod(after, a_pod_of(job, "a", node="node-1"))
    put(after, job)
    assert used(after) == used(cache) == 6000
    assert on_nodes(after) == {"node-1": 2000}


def test_an_unsuspended_job_without_stamps_is_charged_too() -> None:
    cache = a_world()
    put(cache, a_job_document(spec={"suspend": False}, cpu="2"))
    assert used(cache) == 4000
    assert not cache.backlog.runs


def test_a_job_that_was_suspended_holds_nothing_and_waits_again() -> None:
    cache = a_world()
    before = a_job_document(cpu="2")
    job = running(cache, before)
    stopped = {**edited(job, suspend=True), "status": {"conditions": [{"type": "Suspended", "status": "True"}]}}
    put(cache, stopped)
    assert (used(cache), list(cache.stopped_jobs)) == (0, ["train"])
    assert not decided(cache).admits
    back: Any = edited(before)
    back["metadata"].update(generation=4, resourceVersion="10")
    put(cache, back)
    assert not cache.stopped_jobs
    assert [admit.uid for admit in decided(cache).admits] == ["train"]


def test_a_job_that_is_gone_holds_nothing() -> None:
    cache = a_world()
    running(cache, a_job_document(cpu="2"))
    JobSink(cache).remove(Owned(uid="train"))
    assert (used(cache), on_nodes(cache)) == (0, {})


def test_a_list_of_pods_keeps_the_jobs() -> None:
    cache = a_world()
    put(cache, a_job_document())
    assert list(PodSink(cache).replace([])) == []
    assert len(cache.backlog) == 1


@pytest.mark.parametrize(("count", "domain"), [(2, "a"), (3, None)])
def test_all_pods_of_a_job_share_the_domain_that_it_requires(count: int, domain: str | None) -> None:
    nodes = [a_node(zone, cpu="2", labels={"pool": "spot", "zone": zone}) for zone in ("a", "b")]
    cache = a_cache(nodes=nodes, flavors=[SPOT], queues=[a_cluster_queue("team-a", a_quota("spot", cpu=8))])
    job = a_job_document(spec={"parallelism": count, "completions": count}, cpu="1")
    job["spec"]["template"]["metadata"]["annotations"] = {REQUIRED_TOPOLOGY: "zone"}
    put(cache, job)
    plan = decided(cache)
    assert [one.value for admit in plan.admits for one in admit.domains] == ([] if domain is None else [domain])
    assert list(waiting(plan).values()) == (["NeverFits"] if domain is None else [])
