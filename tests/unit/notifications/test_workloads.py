"""Which notices follow from what happens to pods: one for each workload and event, with an id that stays."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.notifications.notices import Kind, Notice, Range, WorkloadRef, workload_of
from controller.notifications.workloads import REPEAT_SECONDS, WorkloadNotices
from tests.support.builders import a_foreign_pod, a_pod
from tests.support.notices import GANG, NOON, TRAIN, a_late_start, an_admitted_pod, an_eviction, by_id


def taken(collected: WorkloadNotices, now: float = inf) -> dict[str, Notice]:
    return by_id(collected.take(now))


def test_pods_of_one_owner_are_admitted_as_one() -> None:
    collected = WorkloadNotices()
    for number in range(12):
        collected.admitted(an_admitted_pod(f"train-{number}", at=NOON + number % 2), NOON)
    assert collected.take(NOON + 1) == [], "others of it may follow"
    (notice,) = collected.take(NOON + 2)
    assert (notice.id, notice.kind) == (f"admitted/uid-of-train/{int(NOON)}", Kind.ADMITTED)
    assert notice.data["pods"]["count"] == 12
    assert notice.data["pods"]["names"] == [f"train-{number}" for number in range(10)]
    collected.admitted(an_admitted_pod("train-12", at=NOON + 9), NOON + 9)
    assert taken(collected) == {}, "it was told when the first of it was admitted"


def test_a_pod_alone_a_gang_and_an_owner_are_workloads() -> None:
    found = [workload_of(pod) for pod in (a_pod("a"), a_pod("b", owner=TRAIN), a_pod("c", owner=TRAIN, group=GANG))]
    assert found == [
        WorkloadRef("default", "Pod", "a", "a"),
        WorkloadRef("default", "Job", "train", "uid-of-train"),
        WorkloadRef("default", "Group", "mpi"),
    ]
    native, of_job = GroupKey("default", "ring", is_native=True), GroupKey("default", "uid-of-train", is_job=True)
    assert workload_of(a_pod("d", group=Membership(native))) == WorkloadRef("default", "PodGroup", "ring")
    assert workload_of(a_pod("e", owner=TRAIN, group=Membership(of_job))) == found[1]


def test_gangs_without_a_uid_are_told_apart_by_time() -> None:
    collected = WorkloadNotices()
    collected.admitted(an_admitted_pod("a", group=GANG), NOON)
    collected.late(a_late_start("b", group=replace(GANG, key=GroupKey("default", "other"))), NOON)
    assert set(taken(collected)) == {f"admitted/default/mpi/{int(NOON)}", f"late/default/other/{int(NOON) - 3600}"}


def test_after_an_eviction_the_next_admission_is_told() -> None:
    collected = WorkloadNotices()
    pods = [an_admitted_pod(f"train-{number}") for number in range(2)]
    for pod in pods:
        collected.admitted(pod, NOON)
    assert len(taken(collected)) == 1
    for pod in pods:
        collected.evicted(an_eviction(pod), NOON + 60)
    (notice,) = collected.take()
    assert (notice.id, notice.data["pods"]["count"]) == ("evicted/train-0", 2)
    assert (notice.data["cause"], notice.data["message"]) == ("Preempted", "team-b/urgent needs 4 cpu of flavor spot")
    collected.admitted(an_admitted_pod("train-2", at=NOON + 90), NOON + 90)
    assert set(taken(collected)) == {f"admitted/uid-of-train/{int(NOON) + 90}"}


def test_who_is_late_is_told_once() -> None:
    collected = WorkloadNotices()
    starts = [a_late_start("train-0"), a_late_start("train-1", latest=Range(NOON, NOON + 60, NOON + 120, NOON + 180))]
    for start in starts:
        collected.late(start, NOON)
    (notice,) = collected.take(NOON + 2)
    assert (notice.id, notice.kind, notice.at) == ("late/uid-of-train", Kind.LATE, NOON)
    assert (notice.data["pods"]["count"], notice.data["reason"]) == (2, "QuotaExceeded")
    assert collected.is_told_late(starts[1].pod)
    collected.late(starts[0], NOON + 10)
    assert taken(collected) == {}


def test_a_controller_that_starts_repeats_what_is_recent() -> None:
    collected, now = WorkloadNotices(), NOON + REPEAT_SECONDS
    old = replace(an_admitted_pod("old", at=NOON - 1), owner=None)
    job = [an_admitted_pod("train-0"), an_admitted_pod("train-1", at=NOON + 300)]
    for pod in (old, *job, a_pod("waits"), a_foreign_pod("foreign")):
        collected.found(pod)
    found = by_id(collected.repeated(now))
    assert {one: (notice.is_repeat, notice.data["pods"]["count"]) for one, notice in found.items()} == {
        f"admitted/uid-of-train/{int(NOON)}": (True, 1)
    }
    for pod in (an_admitted_pod("train-2", at=now), replace(an_admitted_pod("old-2", at=now), owner=old.owner)):
        collected.admitted(pod, now)
    assert set(taken(collected)) == {f"admitted/old-2/{int(now)}"}


def test_who_was_admitted_before_the_pods_were_looked_at_is_new() -> None:
    collected = WorkloadNotices()
    ours: list[Pod] = [an_admitted_pod("train-0"), replace(an_admitted_pod("solo"), owner=None)]
    for pod in ours:
        collected.admitted(pod, NOON)
        collected.found(pod)
    collected.found(an_admitted_pod("train-1", at=NOON - 3 * REPEAT_SECONDS))
    assert collected.repeated(NOON) == []
    assert {one: notice.is_repeat for one, notice in taken(collected).items()} == {f"admitted/solo/{int(NOON)}": False}


def test_workloads_without_pods_are_forgotten() -> None:
    collected = WorkloadNotices()
    collected.admitted(an_admitted_pod(), NOON)
    collected.late(a_late_start("b", owner=None), NOON)
    assert len(taken(collected)) == 2
    collected.keep({workload_of(an_admitted_pod())})
    collected.admitted(an_admitted_pod("train-1"), NOON + 5)
    collected.late(a_late_start("b", owner=None), NOON + 5)
    assert set(taken(collected)) == {"late/b"}


def test_a_clock_that_is_moved_back_holds_nothing_up() -> None:
    collected = WorkloadNotices()
    collected.admitted(an_admitted_pod(), NOON)
    assert len(taken(collected, NOON - 3600)) == 1
