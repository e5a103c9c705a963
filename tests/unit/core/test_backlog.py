from __future__ import annotations

import random

from controller.core.workloads.backlog import Backlog
from tests.support.builders import MAIN, a_pod, a_shape, a_workload

BIG = a_shape(cpu="4")


def uids(backlog: Backlog) -> list[list[str]]:
    return [[workload.uid for workload in run] for run in backlog.runs.values()]


def test_a_run_is_ordered_by_priority_age_name_and_uid() -> None:
    pods = [
        a_pod("z", priority=10, created=9),
        a_pod("a", created=1),
        a_pod("b", created=1),
        a_pod("same", uid="1", created=2),
        a_pod("same", uid="2", created=2),
        a_pod("last", created=3, priority=-1),
    ]
    random.shuffle(pods)
    backlog = Backlog()
    for pod in pods:
        assert backlog.put(a_workload(pod))
    assert uids(backlog) == [["z", "a", "b", "1", "2", "last"]]


def test_putting_the_same_again_changes_nothing() -> None:
    backlog = Backlog()
    assert backlog.put(a_workload(a_pod("a")))
    assert not backlog.put(a_workload(a_pod("a")))
    assert len(backlog) == 1


def test_a_workload_that_changes_class_leaves_no_empty_run() -> None:
    backlog = Backlog()
    backlog.put(a_workload(a_pod("a")))
    assert backlog.put(a_workload(a_pod("a", BIG)))
    assert [kind.pod_sets[0].shape for kind in backlog.runs] == [BIG]
    assert (len(backlog), backlog.count(MAIN)) == (1, 1)


def test_a_workload_with_another_priority_takes_its_new_place() -> None:
    backlog = Backlog()
    for pod in (a_pod("a"), a_pod("b"), a_pod("b", priority=1)):
        backlog.put(a_workload(pod))
    assert uids(backlog) == [["b", "a"]]


def test_classes_and_queues_are_known_while_something_waits() -> None:
    backlog = Backlog()
    backlog.put(a_workload(a_pod("a")))
    backlog.put(a_workload(a_pod("b", BIG)))
    backlog.put(a_workload(a_pod("c", queue="other")))
    assert {MAIN, ("default", "other")} == set(backlog.queues())
    assert len(backlog.classes(MAIN)) == 2
    assert "a" in backlog
    for uid in "abc":
        removed = backlog.remove(uid)
        assert removed is not None
        assert uid == removed.uid
    assert (list(backlog.queues()), backlog.runs, len(backlog)) == ([], {}, 0)
    assert frozenset() == backlog.classes(MAIN)


def test_removing_what_does_not_wait_is_no_fault() -> None:
    assert Backlog().remove("a") is None
    assert Backlog().get("a") is None


def test_workloads_of_a_class_share_one_object_of_it() -> None:
    backlog = Backlog()
    one, other = (backlog.put(a_workload(a_pod(name))) for name in "ab")
    assert one is not None
    assert other is not None
    assert one.kind is other.kind is next(iter(backlog.runs))
    for name in "ab":
        backlog.remove(name)
    back = backlog.put(a_workload(a_pod("c")))
    assert back is not None
    assert back.kind is next(iter(backlog.runs)) is not one.kind
