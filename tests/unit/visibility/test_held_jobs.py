"""Jobs that are held as a whole, as people see them."""

from __future__ import annotations

import sys

import orjson

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink, PodSink
from controller.core.decision.decide import decide
from controller.kube.decode import PodDecoder
from controller.visibility.findings import Findings
from controller.visibility.targets import all_targets, find
from controller.visibility.workloads import pods
from tests.support.builders import a_cache, a_cluster_queue, a_flavor, a_node, a_quota
from tests.support.job_documents import a_job_document, a_pod_of, a_released_job, state_of

JOB = a_job_document(spec={"parallelism": 3, "completions": 3}, cpu="2")


def a_world(cpu: int) -> ClusterCache:
    return a_cache(nodes=[a_node(cpu="8")], queues=[a_cluster_queue("team-a", a_quota(cpu=cpu))])


def rows(cache: ClusterCache) -> list[tuple[str, str, dict[str, str], str]]:
    snapshot = cache.snapshot()
    found = pods(snapshot, Findings.of(decide(snapshot, limit=sys.maxsize)))
    return [(row.name, row.state, row.requests, row.reason) for row in found]


def test_a_job_that_waits_has_one_row_for_all_its_pods() -> None:
    cache = a_world(cpu=5)
    JobSink(cache).upsert(state_of(JOB))
    assert rows(cache) == [("train", "Pending", {"cpu": "6"}, "NeverFits")]


def test_it_is_found_by_its_name() -> None:
    cache = a_world(cpu=5)
    JobSink(cache).upsert(state_of(JOB))
    snapshot = cache.snapshot()
    found = find(snapshot, Findings.of(decide(snapshot, limit=sys.maxsize)), "job", "train", None)
    assert found is not None
    assert (found.target, found.waiting) == ("job/train", 1)
    assert "job/train" in all_targets(snapshot.running.pods.values(), snapshot.running.jobs, None)


def test_an_admitted_job_has_a_row_for_the_pods_to_come() -> None:
    cache, released = a_world(cpu=8), a_released_job(JOB, [a_flavor()])
    JobSink(cache).upsert(state_of(released))
    assert rows(cache) == [("train", "Reserved", {"cpu": "6"}, "")]
    for name in "ab":
        PodSink(cache).upsert(PodDecoder()(orjson.dumps(a_pod_of(released, name, node="node-1"))))
    assert [row[:3] for row in rows(cache)] == [
        ("a", "Running", {"cpu": "2"}),
        ("b", "Running", {"cpu": "2"}),
        ("train", "Reserved", {"cpu": "2"}),
    ]
    PodSink(cache).upsert(PodDecoder()(orjson.dumps(a_pod_of(released, "c", node="node-1"))))
    assert [row[0] for row in rows(cache)] == ["a", "b", "c"]
