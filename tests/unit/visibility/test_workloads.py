"""Where pods stand, in which order they wait, and what decides that."""

from __future__ import annotations

import sys

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.kubernetes.owners import Job, Owner
from controller.core.snapshot import Snapshot
from controller.visibility.findings import Findings
from controller.visibility.lines import line, lines, queue_alone_in
from controller.visibility.order_parts import order, shares
from controller.visibility.rows import PodRow, jobs
from controller.visibility.targets import all_targets, find
from controller.visibility.workloads import pods
from tests.corpus.plans import read
from tests.support.builders import a_cache, a_cluster_queue, a_node, a_pod, a_quota, a_released_pod, a_shape

JOB = Owner("batch/v1", "Job", "train", "job-1")


def findings(snapshot: Snapshot) -> Findings:
    return Findings.of(decide(snapshot, limit=sys.maxsize))


def rows(cache: ClusterCache) -> dict[str, PodRow]:
    snapshot = cache.snapshot()
    return {row.name: row for row in pods(snapshot, findings(snapshot))}


def a_full_queue() -> ClusterCache:
    """One pod runs on all of a queue's quota; b, of more priority, waits before a and c."""
    running = a_released_pod("runs", a_shape(cpu="2"), node="node-1", admitted_at=60.0)
    waiting = [a_pod("a", created=1.0, owner=JOB), a_pod("b", created=2.0, priority=5), a_pod("c", created=3.0)]
    return a_cache(running, *waiting, nodes=[a_node(cpu="8")], queues=[a_cluster_queue("team-a", a_quota(cpu="2"))])


def test_pods_stand_in_the_order_of_the_queue_then_the_admitted() -> None:
    snapshot = a_full_queue().snapshot()
    found = pods(snapshot, findings(snapshot))
    assert [(row.name, row.place, row.state) for row in found] == [
        ("b", 1, "Pending"),
        ("a", 2, "Pending"),
        ("c", 3, "Pending"),
        ("runs", 0, "Running"),
    ]


def test_a_pod_that_waits_says_why_and_since_when() -> None:
    row = rows(a_full_queue())["a"]
    assert (row.reason, row.message) == ("QuotaExceeded", "flavor spot: needs 1 cpu, 0 of its quota is free")
    assert (row.since, row.owner, row.requests) == ("1970-01-01T00:00:01Z", "Job/train", {"cpu": "1"})


def test_an_admitted_pod_says_where_and_since_when() -> None:
    row = rows(a_full_queue())["runs"]
    assert (row.flavor, row.node, row.since) == ("spot", "node-1", "1970-01-01T00:01:00Z")
    assert (row.place, row.reason) == (0, "")


def test_whom_the_next_decision_admits_is_told_so() -> None:
    row = rows(a_cache(a_pod("next")))["next"]
    assert (row.state, row.message) == ("Pending", "the next decision admits it onto flavor spot, node node-1")


def test_pods_of_one_owner_are_one_row() -> None:
    snapshot = read("live-gang")
    found = jobs(pods(snapshot, findings(snapshot)))
    assert sum(row.pending for row in found) == len([1 for row in pods(snapshot, findings(snapshot)) if row.place])
    owned = a_full_queue().snapshot()
    (job,) = [row for row in jobs(pods(owned, findings(owned))) if row.kind == "Job"]
    assert (job.name, job.pending, job.place, job.reason) == ("train", 1, 2, "QuotaExceeded")


def test_of_several_pods_of_an_owner_the_first_speaks_for_all() -> None:
    waiting = [a_pod(f"train-{number}", created=float(number), owner=JOB) for number in range(3)]
    queue = a_cluster_queue("team-a", a_quota(cpu="0"))
    cache = a_cache(*waiting, queues=[queue])
    (job,) = jobs(rows(cache).values())
    assert (job.pending, job.place, job.created) == (3, 1, "1970-01-01T00:00:00Z"), "that of the first pod"
    cache.set_job(JOB.uid, Job(uid=JOB.uid, namespace="default", name=JOB.name, created=9.0))
    (job,) = jobs(rows(cache).values())
    assert job.created == "1970-01-01T00:00:09Z"


def test_an_admission_that_is_on_its_way_is_reserved() -> None:
    cache = a_cache(a_pod("next"))
    cache.absorb(decide(cache.snapshot(), limit=sys.maxsize))
    row = rows(cache)["next"]
    assert (row.state, row.cluster_queue, row.flavor, row.node) == ("Reserved", "team-a", "spot", "")


def test_only_the_namespaces_asked_for_are_shown() -> None:
    cache = a_full_queue()
    assert pods(cache.snapshot(), findings(cache.snapshot()), ["other"]) == []


def test_what_decides_the_order_stands_beside_each_place() -> None:
    found = {row.name: row for row in order(a_full_queue().snapshot())}
    assert [found[name].place for name in "bac"] == [1, 2, 3]
    assert (found["b"].priority, found["a"].priority) == (5, 0)
    assert found["c"].created == "1970-01-01T00:00:03Z"
    assert [row.name for row in order(a_full_queue().snapshot(), ["other"])] == []


def test_who_was_put_on_top_is_the_one_others_are_behind() -> None:
    waiting = [a_pod("first", created=1.0), a_pod("top", created=2.0, is_on_top=True)]
    queue = a_cluster_queue("team-a", a_quota(cpu="0"))
    found = {row.name: row for row in order(a_cache(*waiting, queues=[queue]).snapshot())}
    assert (found["top"].place, found["first"].place) == (1, 2)
    assert (found["top"].behind, found["first"].behind) == ("", "default/top")
    assert found["first"].created == "1970-01-01T00:00:01Z", "its own, not that of whom it is behind"


def test_shares_rank_those_that_are_served_first() -> None:
    found = shares(read("live-fair-sharing"))
    assert [(row.name, row.rank) for row in found] == [("fair-sharing-mine", 1), ("fair-sharing-theirs", 2)]


def test_what_has_no_local_queue_waits_in_a_line_of_its_own() -> None:
    lost = [a_pod("b", queue="mian", created=2.0), a_pod("a", queue="mian", created=1.0), a_pod("c", queue="mani")]
    snapshot = a_cache(*lost).snapshot()
    assert {row.name: (row.place, row.cluster_queue) for row in order(snapshot)} == {
        "a": (1, ""),
        "b": (2, ""),
        "c": (1, ""),
    }
    names = list(lines(snapshot))
    assert [queue_alone_in(name) for name in names] == [("default", "mani"), ("default", "mian")]
    assert [one.name for one in line(snapshot, names[1])] == ["default/a", "default/b"]


def test_a_target_is_found_by_its_pod_job_or_group() -> None:
    snapshot = a_full_queue().snapshot()
    told = findings(snapshot)
    for kind, name in (("pod", "a"), ("job", "train"), ("job.batch", "train")):
        found = find(snapshot, told, kind, name, None)
        assert found is not None
        assert found.workload is not None
        assert found.workload.name == "default/a"
    assert find(snapshot, told, "pod", "a", ["other"]) is None
    assert all_targets(snapshot.running.pods.values(), snapshot.running.jobs, None) == [
        "job/train",
        "pod/a",
        "pod/b",
        "pod/c",
        "pod/runs",
    ]


def test_of_an_admitted_target_it_is_told_where_it_stands() -> None:
    snapshot = a_full_queue().snapshot()
    found = find(snapshot, findings(snapshot), "pod", "runs", None)
    assert found is not None
    assert found.workload is None
    assert found.sentence == "default/runs was admitted by ClusterQueue team-a onto flavor spot, on node node-1"
