"""How long what is admitted may run: what a release writes, and what is kept of a Job that is suspended."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from controller.core.gate.job_release import restore_patch
from controller.core.gate.release_patch import release_patch
from controller.core.gate.run_time import limited, read_max_run_time, read_used, run_time_left, warned_at
from controller.core.job_update import may_change
from controller.core.keys import MAX_RUN_TIME, RUN_TIME_LIMIT, RUN_TIME_USED
from controller.core.pod_update import may_change as pod_may_change
from controller.kube.clock import epoch
from controller.kube.decode import PodDecoder
from controller.kube.decode_jobs import run_time_of
from tests.support.builders import a_flavor
from tests.support.job_documents import Json, a_job_document, a_released_job, edited, pods_of
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION, a_pod_document

SPOT = a_flavor("spot", labels={"pool": "spot"})
AN_HOUR = replace(ADMISSION, at="2026-05-01T08:00:00Z", run_time=3600)


def stopped(job: Json, at: str) -> Json:
    """The Job as it is once it is suspended, and the Job controller has seen it at this time."""
    conditions = [{"type": "Suspended", "status": "True", "lastTransitionTime": at}]
    return {**edited(job, suspend=True), "status": {"conditions": conditions}}


def restored(job: Json) -> Json:
    back = patched(job, restore_patch(job, ran=run_time_of(job)))
    assert may_change(job, back) == ()
    return back


@pytest.mark.parametrize(
    ("limits", "used", "left"),
    [
        ((), 0, 0),
        ((0, 0), 50, 0),
        ((0, 60), 0, 60),
        ((90, 60, 0), 20, 40),
        ((60,), 60, 1),
        ((60,), 1000, 1),
    ],
)
def test_the_least_limit_counts_less_what_was_used(limits: tuple[int, ...], used: int, left: int) -> None:
    assert run_time_left(limits, used) == left


@pytest.mark.parametrize(("own", "left", "written"), [(0, 0, 0), (5, 0, 0), (0, 60, 60), (30, 60, 0), (90, 60, 60)])
def test_a_shorter_deadline_of_its_own_stays(own: int, left: int, written: int) -> None:
    assert limited(own, left) == written


@pytest.mark.parametrize("own", [None, 60, 7200])
def test_a_job_gets_a_deadline_and_its_own_comes_back(own: int | None) -> None:
    before = a_job_document(spec={} if own is None else {"activeDeadlineSeconds": own})
    after = a_released_job(before, [SPOT], AN_HOUR)
    assert may_change(before, after) == ()
    assert after["spec"]["activeDeadlineSeconds"] == min(own or 3600, 3600)
    assert after["metadata"]["annotations"][RUN_TIME_LIMIT] == "3600"
    assert pods_of(after).ends_by == epoch(AN_HOUR.at) + min(own or 3600, 3600)
    back = restored(stopped(after, "2026-05-01T08:10:00Z"))
    assert back["spec"].get("activeDeadlineSeconds") == own
    assert back["metadata"]["annotations"] == {RUN_TIME_USED: "600"}
    assert (pods_of(back).run_time_used, pods_of(back).ends_by) == (600, 0)


def test_the_time_of_all_admissions_is_added_up() -> None:
    job = a_released_job(a_job_document(), [SPOT], AN_HOUR)
    back = restored(stopped(job, "2026-05-01T08:10:00Z"))
    again = a_released_job(back, [SPOT], replace(AN_HOUR, at="2026-05-01T09:00:00Z", run_time=3000))
    assert again["spec"]["activeDeadlineSeconds"] == 3000
    assert restored(stopped(again, "2026-05-01T09:00:30Z"))["metadata"]["annotations"] == {RUN_TIME_USED: "630"}


def test_without_a_limit_nothing_is_written_or_kept() -> None:
    before = a_job_document(spec={"activeDeadlineSeconds": 60})
    after = a_released_job(before, [SPOT])
    assert after["spec"]["activeDeadlineSeconds"] == 60
    assert RUN_TIME_LIMIT not in after["metadata"]["annotations"]
    assert pods_of(after).ends_by == 0
    back = restored(stopped(after, "2026-05-01T08:10:00Z"))
    assert back["metadata"].get("annotations", {}) == {}


def test_damaged_stamps_count_as_no_time() -> None:
    job = stopped(a_released_job(a_job_document(), [SPOT], AN_HOUR), "2026-05-01T08:10:00Z")
    job["metadata"]["annotations"]["penstock.dev/admitted-at"] = "yesterday"
    job["metadata"]["annotations"][RUN_TIME_USED] = "-5"
    assert restored(job)["metadata"]["annotations"] == {RUN_TIME_USED: "0"}


@pytest.mark.parametrize(("own", "deadline"), [(None, 3600), (60, 60), (7200, 3600)])
def test_a_pod_gets_a_deadline_in_its_release(own: int | None, deadline: int) -> None:
    before = a_pod_document(spec={} if own is None else {"activeDeadlineSeconds": own})
    pod = PodDecoder()(orjson.dumps(before))
    after = patched(before, release_patch(pod, [SPOT], AN_HOUR, node=None))
    assert after["spec"]["activeDeadlineSeconds"] == deadline
    assert pod_may_change(before, after) == ()


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("3600s", 3600), ("1h30m", 5400)])
def test_a_user_limits_a_job_by_annotation(text: str, seconds: int) -> None:
    assert read_max_run_time({MAX_RUN_TIME: text}) == (seconds, None)
    job = pods_of(a_job_document(metadata={"annotations": {MAX_RUN_TIME: text}}))
    assert (job.run_time, job.hold) == (seconds, None)


@pytest.mark.parametrize("text", ["", "0s", "soon", "3600", "1.5h", "99999h99999m9999999s" * 9])
def test_a_limit_that_cannot_be_read_keeps_the_job_waiting(text: str) -> None:
    _, hold = read_max_run_time({MAX_RUN_TIME: text})
    assert hold is not None
    assert f"annotation {MAX_RUN_TIME} is {text[:40]!r}; write hours" in hold.text
    assert pods_of(a_job_document(metadata={"annotations": {MAX_RUN_TIME: text}})).hold == hold


@pytest.mark.parametrize(("text", "used"), [("17", 17), ("", 0), ("x", 0), ("-1", 0), ("9" * 40, 0), ("٣", 0)])
def test_what_was_used_is_read_or_nothing(text: str, used: int) -> None:
    assert read_used({RUN_TIME_USED: text}) == used


def test_the_warning_comes_with_a_tenth_left() -> None:
    assert warned_at(1000, 1600) == 1540
    assert warned_at(0, 100 * 3600) == 100 * 3600 - 900
