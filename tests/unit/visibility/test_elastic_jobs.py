"""Jobs that have fewer pods than they want, as people see them."""

from __future__ import annotations

import sys

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink
from controller.core.decision.decide import decide
from controller.core.keys import MIN_PARALLELISM, WANTED_PARALLELISM
from controller.visibility.explanation_rows import Explanation
from controller.visibility.explanations import explain
from controller.visibility.findings import Findings
from controller.visibility.targets import find
from controller.visibility.workloads import pods
from tests.support.builders import a_cache, a_cluster_queue, a_flavor, a_node, a_quota
from tests.support.job_documents import Json, a_job_document, a_released_job, state_of

MANY = {"parallelism": 4, "completions": 50}
SPOT = a_flavor("spot", labels={"pool": "spot"})
OTHER = a_flavor("other", labels={"pool": "other"})


def knowing(job: Json, cpu: int) -> ClusterCache:
    """A cache with the Job, and so much quota of spot; another flavor has more than enough."""
    queues = [a_cluster_queue("team-a", a_quota("spot", cpu=cpu), a_quota("other", cpu=100))]
    nodes = [a_node(name, cpu="16", labels={"pool": name}) for name in ("spot", "other")]
    cache = a_cache(nodes=nodes, flavors=[SPOT, OTHER], queues=queues)
    JobSink(cache).upsert(state_of(job))
    return cache


def wanting(number: int) -> Json:
    job = a_released_job(a_job_document(spec=MANY, cpu="2"), [SPOT])
    job["metadata"]["annotations"][WANTED_PARALLELISM] = str(number)
    return job


def explained(cache: ClusterCache) -> Explanation:
    snapshot = cache.snapshot()
    found = find(snapshot, Findings.of(decide(snapshot, limit=sys.maxsize)), "job", "train", None)
    assert found is not None
    assert found.workload is not None
    return explain(snapshot, found.workload)


def test_an_admitted_job_has_another_row_for_what_it_wants() -> None:
    cache = knowing(wanting(7), cpu=8)
    snapshot = cache.snapshot()
    found = pods(snapshot, Findings.of(decide(snapshot, limit=sys.maxsize)))
    assert [(row.name, row.state, row.requests, row.reason) for row in found] == [
        ("train", "Pending", {"cpu": "6"}, "QuotaExceeded"),
        ("train", "Reserved", {"cpu": "8"}, ""),
    ]
    assert "that is for the first of 3 more pods, and train has 4" in found[0].message


def test_what_lets_more_pods_in_is_in_the_flavor_of_the_job() -> None:
    found = explained(knowing(wanting(7), cpu=8))
    assert found.reason == "QuotaExceeded"
    assert found.message.endswith("; that is for the first of 3 more pods, and train has 4")
    assert [one.change for one in found.remedies] == ["2 cpu more of flavor spot for ClusterQueue team-a"]


def test_a_job_that_waits_says_for_how_many_pods() -> None:
    note = {"annotations": {MIN_PARALLELISM: "3"}}
    job = a_job_document(spec=MANY, metadata=note, template={"nodeSelector": {"pool": "spot"}}, cpu="2")
    found = explained(knowing(job, cpu=5))
    assert found.message.endswith("; that is for 3 of its 4 pods, with which it may begin")
    assert (found.pods, found.requests) == (4, {"cpu": "8"})
