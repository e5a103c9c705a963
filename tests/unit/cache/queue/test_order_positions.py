"""What other objects say of a pod's place in the order, whenever they come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.queues import SchedulerPreemption
from controller.core.reasons import Reason
from controller.core.workloads.pods import Pod
from tests.support.builders import a_cache, a_cluster_queue, a_pod, a_quota, a_released_pod


def a_job(uid: str = "job", *, created: float = 0.0, namespace: str = "default") -> Job:
    return Job(uid=uid, namespace=namespace, name=uid, created=created)


def an_owned_pod(name: str, uid: str = "job", kind: str = "Job", **fields: Any) -> Pod:
    return a_pod(name, owner=Owner("batch/v1", kind, uid, uid), **fields)


def order(cache: ClusterCache) -> list[str]:
    """Who waits, first first, whatever class they are of."""
    return [one.uid for one in sorted((w for run in cache.backlog.runs.values() for w in run), key=lambda w: w.order)]


def test_a_job_that_comes_or_goes_moves_its_pods() -> None:
    cache = a_cache(a_pod("alone", created=5), an_owned_pod("owned", created=9))
    assert order(cache) == ["alone", "owned"]
    cache.set_job("job", a_job(created=1))
    assert order(cache) == ["owned", "alone"]
    cache.set_job("job", None)
    assert order(cache) == ["alone", "owned"]


@pytest.mark.parametrize("job", [a_job(created=1, namespace="elsewhere"), a_job("other", created=1)])
def test_only_the_pods_own_job_of_its_own_namespace_counts(job: Job) -> None:
    cache = a_cache(a_pod("alone", created=5), an_owned_pod("owned", created=9))
    cache.set_job(job.uid, job)
    assert order(cache) == ["alone", "owned"]


def test_the_completion_index_precedes_age_within_a_job() -> None:
    cache = a_cache()
    cache.set_job("job", a_job())
    for index, created in ((2, 1), (10, 2), (0, 3)):
        cache.put_pod(an_owned_pod(f"pod-{index}", completion_index=index, created=created))
    assert order(cache) == ["pod-0", "pod-2", "pod-10"]


def test_a_change_of_a_job_that_is_known_moves_nobody() -> None:
    told: list[None] = []
    cache = ClusterCache(lambda: told.append(None))
    cache.set_job("job", a_job(created=1))
    cache.put_pod(an_owned_pod("owned"))
    told.clear()
    cache.set_job("job", replace(a_job(created=1), succeeded=1))
    assert told == []
    cache.set_job("job", None)
    assert told == [None]


def test_a_changed_priority_class_moves_its_pods() -> None:
    cache = a_cache(a_pod("own", priority=5), a_pod("classy", priority=9, priority_class="c"))
    waits = {w.uid: w.kind.hold for run in cache.backlog.runs.values() for w in run}
    assert waits["own"] is None
    assert waits["classy"] is not None
    assert waits["classy"].reason is Reason.PRIORITY_CLASS_NOT_FOUND
    for value, expected in ((1, ["own", "classy"]), (6, ["classy", "own"])):
        cache.move(cache.positions.set_class("c", value))
        assert order(cache) == expected
        assert all(kind.hold is None for kind in cache.backlog.runs)
    assert cache.positions.set_class("c", 6) == ()
    assert cache.positions.set_class("c", None) == ("classy",)
    assert cache.positions.set_class("never there", None) == ()


def test_the_least_of_all_limits_is_how_long_it_may_run() -> None:
    cache = a_cache(
        a_pod("own"), a_pod("classy", priority_class="c"), queues=[a_cluster_queue("team-a", run_time=3600)]
    )
    job = replace(a_pod("job", priority_class="c"), run_time=60, run_time_used=20)
    assert cache.positions.set_class("c", 1, 300) == ("classy",)
    assert [cache.positions.run_time(pod) for pod in (cache.pods["own"], cache.pods["classy"], job)] == [3600, 300, 40]
    assert cache.snapshot().queues.class_run_times == {"c": 300}
    assert cache.positions.set_class("c", 1) == ("classy",)
    assert cache.positions.run_time(cache.pods["classy"]) == 3600
    assert cache.positions.run_time(a_pod("elsewhere", queue="no such queue")) == 0


def test_classes_allowed_above_move_the_pods_below() -> None:
    queue = a_cluster_queue("team-a", a_quota("spot", cpu=8), parent="org")
    cache = a_cache(a_pod("classy", priority_class="c"), queues=[queue])
    cache.move(cache.positions.set_class("c", 1))

    def reason() -> Reason | None:
        cache.snapshot()
        (kind,) = cache.backlog.runs
        return None if kind.hold is None else kind.hold.reason

    not_allowed = Reason.PRIORITY_CLASS_NOT_ALLOWED
    for above, expected in (
        (a_cluster_queue("org", allowed_classes=frozenset({"d"})), not_allowed),
        (a_cluster_queue("org", allowed_classes=frozenset({"c", "d"})), None),
        (a_cluster_queue("org", parent="top"), None),
        (a_cluster_queue("top", allowed_classes=frozenset()), not_allowed),
        (a_cluster_queue("org"), None),
        (a_cluster_queue("org", parent="team-a", allowed_classes=frozenset({"c"})), None),
    ):
        cache.set_cluster_queue(above.name, above)
        assert reason() is expected
    cache.set_cluster_queue("top", None)
    cache.set_cluster_queue("org", a_cluster_queue("org", allowed_classes=frozenset()))
    assert reason() is not_allowed
    cache.set_cluster_queue("org", None)
    assert reason() is None


def test_forbidding_scheduler_preemption_moves_pods_below() -> None:
    queue = a_cluster_queue("team-a", a_quota("spot", cpu=8), parent="org")
    cache = a_cache(a_pod("urgent", preempting_class="urgent"), queues=[queue])

    def hold() -> str:
        cache.snapshot()
        (kind,) = cache.backlog.runs
        return "" if kind.hold is None else f"{kind.hold.reason}: {kind.hold.text}"

    assert hold() == ""
    org = a_cluster_queue("org", scheduler_preemption=SchedulerPreemption.FORBID)
    cache.set_cluster_queue("org", org)
    assert hold() == (
        "SchedulerPreemptionForbidden: kube-scheduler may preempt for PriorityClass urgent, which ClusterQueue org "
        "forbids: create the pod again with a class of preemptionPolicy Never, or ask the queue's owner"
    )
    cache.set_cluster_queue("org", replace(org, scheduler_preemption=SchedulerPreemption.ALLOW))
    assert hold() == ""
    cache.set_cluster_queue("team-a", replace(queue, scheduler_preemption=SchedulerPreemption.FORBID))
    assert "ClusterQueue team-a forbids" in hold()


def test_pods_that_wait_no_longer_are_forgotten() -> None:
    pod = an_owned_pod("pod", priority_class="c")
    cache = a_cache(pod)
    assert (cache.positions.count("c"), cache.positions.of_job("job")) == (1, ("pod",))
    cache.put_pod(a_released_pod("pod", owner=pod.owner, priority_class="c"))
    assert (cache.positions.count("c"), cache.positions.of_job("job")) == (0, ())
    cache.put_pod(an_owned_pod("other", priority_class="c"))
    cache.drop_pod("other")
    assert (cache.positions.count("c"), cache.positions.of_job("job")) == (0, ())


def on_top(name: str, created: float) -> Pod:
    return a_pod(name, created=created, is_on_top=True)


def test_others_stand_behind_the_last_pod_on_top() -> None:
    cache = a_cache(*(a_pod(f"pod-{n}", created=n) for n in range(6)))
    for expected, changed in (
        ("0 1 2 3 4 5", []),
        ("1 3 0 2 4 5", [on_top("pod-1", 1), on_top("pod-3", 3)]),
        ("1 0 2 3 4 5", [a_pod("pod-3", created=3)]),
        ("4 1 0 2 3 5", [on_top("pod-1", 4.5), on_top("pod-4", 4)]),
        ("4 0 2 3 1 5", [a_pod("pod-1", created=4.5)]),
        ("0 2 3 1 5", [a_released_pod("pod-4")]),
    ):
        for pod in changed:
            cache.put_pod(pod)
        cache.snapshot()
        assert [name.removeprefix("pod-") for name in order(cache)] == expected.split(), changed


def test_putting_a_pod_on_top_in_place_still_decides() -> None:
    told: list[None] = []
    cache = ClusterCache(lambda: told.append(None))
    for pod in (a_pod("first", created=1), a_pod("second", created=2)):
        cache.put_pod(pod)
    told.clear()
    cache.put_pod(on_top("second", 2))
    assert told == [None]


def test_a_job_that_is_held_or_on_top_moves_its_pods() -> None:
    cache = a_cache(a_pod("alone", created=1), an_owned_pod("owned", created=9))
    for job, expected in (
        (a_job(created=5), ["alone", "owned"]),
        (replace(a_job(created=5), is_on_top=True), ["owned", "alone"]),
        (replace(a_job(created=5), is_on_top=True, held="jane"), ["alone", "owned"]),
    ):
        cache.set_job("job", job)
        cache.snapshot()
        assert order(cache) == expected
    (hold,) = {kind.hold for kind in cache.backlog.runs if kind.hold is not None}
    assert hold.text == "its Job is held by hand (jane); penstock release undoes it"
