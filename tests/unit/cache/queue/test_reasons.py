"""When the condition of a pod that waits is written, and written anew."""

from __future__ import annotations

import pytest

from controller.cache.queue.reasons import Reasons
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Wait
from controller.core.workloads.shapes import Constraints
from tests.support.builders import a_pod, a_saying, a_shape, a_workload

KIND = a_workload(a_pod()).kind


def due(reasons: Reasons, *times: float) -> list[str | None]:
    return [reasons.next(at) for at in times]


def saying(before: Reason, now: Reason) -> Reasons:
    """A pod that says one thing since 100, of which another is so now."""
    reasons = Reasons()
    reasons.learn(KIND, Wait(now))
    reasons.mark("pod", kind=KIND, created=0.0, said=a_saying("False", before.value, at=100.0))
    return reasons


def test_what_is_outdated_is_put_right_once_a_minute() -> None:
    assert due(saying(Reason.QUOTA_EXCEEDED, Reason.NO_CAPACITY), 159.0, 160.0, 161.0) == [None, "pod", None]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (Reason.HELD, Reason.QUOTA_EXCEEDED),
        (Reason.QUOTA_EXCEEDED, Reason.HELD),
        (Reason.QUEUE_STOPPED, Reason.PENDING),
    ],
)
def test_what_people_do_by_hand_is_told_within_seconds(before: Reason, now: Reason) -> None:
    assert due(saying(before, now), 102.5, 103.0, 500.0) == [None, "pod", None]


def test_a_hold_is_told_within_seconds() -> None:
    reasons = saying(Reason.QUOTA_EXCEEDED, Reason.NO_CAPACITY)
    reasons.learn(KIND, Wait(Reason.HELD))
    reasons.mark("pod", kind=KIND, created=0.0, said=a_saying("False", "QuotaExceeded", at=100.0))
    assert due(reasons, 103.0) == ["pod"]
    reasons.learn(KIND, Wait(Reason.NO_CAPACITY))
    reasons.mark("pod", kind=KIND, created=0.0, said=a_saying("False", "QuotaExceeded", at=150.0))
    assert due(reasons, 170.0, 210.0) == [None, "pod"]


def test_a_new_pod_is_told_after_it_settled() -> None:
    reasons = Reasons()
    reasons.mark("pod", kind=KIND, created=10.0, said=None)
    assert due(reasons, 12.5, 13.0) == [None, "pod"]


def test_a_clock_that_went_back_keeps_nobody_silent() -> None:
    reasons = Reasons()
    reasons.mark("pod", kind=KIND, created=7200.0, said=None)
    assert due(reasons, 7200.0, 100.0) == [None, "pod"]
    reasons.mark("pod", kind=KIND, created=7200.0, said=a_saying("False", "QuotaExceeded", at=100.0))
    assert due(reasons, 101.0, 160.0) == [None, "pod"]


def test_what_waits_again_stops_saying_soon_that_it_is_admitted() -> None:
    reasons = Reasons()
    reasons.mark("job", kind=KIND, created=0.0, said=a_saying("True", "Admitted", at=100.0))
    assert due(reasons, 102.5, 103.0) == [None, "job"]


def test_why_more_pods_of_a_job_wait_is_put_right_once_a_minute() -> None:
    reasons, kind = Reasons(), a_workload(a_pod("job", a_shape(Constraints(only=("spot",))))).kind
    reasons.mark("job/more", kind=kind, created=0.0, said=a_saying("True", "AdmittedInPart", at=100.0))
    assert due(reasons, 159.0, 160.0) == [None, "job/more"]
