"""How long pods are expected to run: what they say, what their deadlines say, and what others like them took."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import orjson
import pytest

from controller.core.forecasts.expected_ends import ExpectedEnds, Holding
from controller.core.forecasts.run_history import LEAST, SAMPLES, RunHistory
from controller.core.forecasts.runtimes import (
    RuntimeFault,
    claimed,
    declared,
    expected_end,
    outruns_at,
    put_off,
    read_runtime,
    stated,
    step_after,
)
from controller.core.keys import EXPECTED_RUNTIME
from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.owners import Job
from controller.kube.decode import PodDecoder
from controller.kube.decode_owners import decode_job
from tests.support.builders import MAIN, a_pod, a_released_pod

CPU: Requests = (("cpu", 1000),)


@pytest.mark.parametrize(
    ("annotation", "deadline", "seconds"),
    [(None, None, 0), ("90m", None, 5400), (None, 600, 600), ("1h", 600, 600), ("5m", 600, 300), ("soon", 600, 600)],
)
def test_a_pod_runs_for_as_long_as_it_says_within_its_deadline(
    annotation: str | None, deadline: int | None, seconds: int
) -> None:
    notes = {} if annotation is None else {EXPECTED_RUNTIME: annotation}
    document = {"metadata": {"annotations": notes}, "spec": {"containers": [], "activeDeadlineSeconds": deadline}}
    assert PodDecoder()(orjson.dumps(document)).expected_runtime == stated(annotation, deadline) == seconds


@pytest.mark.parametrize("annotation", ["", "soon", "0s", "-1h", "1.5h", "1h 30m"])
def test_an_unreadable_runtime_says_what_to_write(annotation: str) -> None:
    with pytest.raises(RuntimeFault, match="such as 8h, 90m or 1h30m"):
        read_runtime(annotation)


def test_a_jobs_deadline_bounds_its_pods_from_its_start() -> None:
    spec, status = {"activeDeadlineSeconds": 600}, {"startTime": "1970-01-01T00:01:00Z"}
    job = decode_job(orjson.dumps({"metadata": {}, "spec": spec, "status": status}))
    assert (job.deadline, job.started) == (600, 60.0)
    assert [declared(a_pod(expected_runtime=own), job) for own in (0, 60, 6000)] == [600, 60, 600]
    assert expected_end(a_released_pod(started=500), job, 300, 510.0) == 660.0


@pytest.mark.parametrize(
    ("fields", "runtime", "end"),
    [
        ({"started": 100, "admitted_at": 90.0}, 60, 160.0),
        ({"admitted_at": 90.0}, 60, 150.0),
        ({}, 60, 180.0),
        ({"started": 100}, 0, inf),
        ({"started": 100, "is_terminating": True}, 3600, 180.0),
        ({"started": 100, "is_terminating": True}, 0, 180.0),
        ({"started": 100, "is_terminating": True}, 30, 130.0),
    ],
)
def test_a_pod_ends_so_long_after_its_start(fields: dict[str, Any], runtime: int, end: float) -> None:
    assert expected_end(a_released_pod(**fields), Job(uid="j", namespace="default", name="j"), runtime, 120.0) == end


def test_a_pod_that_outruns_is_put_off_by_a_quarter_each_time() -> None:
    assert [step_after(a_pod(), seconds) for seconds in (0, 100, 3600)] == [60, 60, 900]
    assert [put_off(100.0, 60, now) for now in (99.0, 100.0, 159.0, 160.0, 5000.0)] == [100, 160, 160, 220, 5020]
    assert expected_end(a_released_pod(started=100), None, 3600, 3800.0) == 4600.0


def test_of_ten_runs_nine_were_no_longer_than_what_is_expected() -> None:
    history = RunHistory()
    for number in range(LEAST - 1):
        assert not history.note(MAIN, CPU, (number, f"p{number}", 100 + number))
    assert history.expected(MAIN, CPU) == 0
    for number in range(LEAST - 1, 10):
        history.note(MAIN, CPU, (number, f"p{number}", 100 + number))
    assert history.expected(MAIN, CPU) == 108
    assert not history.note(MAIN, CPU, (9, "p9", 109))
    assert (history.expected(("default", "other"), CPU), history.expected(MAIN, (("cpu", 2000),))) == (0, 0)


def test_only_the_latest_runs_count_in_whatever_order() -> None:
    history = RunHistory()
    for number in reversed(range(2 * SAMPLES)):
        history.note(MAIN, CPU, (number, f"p{number}", 10 if number >= SAMPLES else 1000))
    assert history.expected(MAIN, CPU) == 10


def a_holding(uid: str, at: float, since: float = 0.0) -> Holding:
    return Holding(at, since, uid, "team-a", ("spot",), CPU, None)


def test_ends_are_in_order_and_the_unknown_last_oldest_first() -> None:
    ends = ExpectedEnds()
    for number in range(100):
        ends.put(a_holding(f"p{number:02}", at=float(number * 7 % 100)))
    ends.put(a_holding("young", inf, 9.0))
    ends.put(a_holding("old", inf, 3.0))
    assert [one.uid for one in ends][-2:] == ["old", "young"]
    assert [one.at for one in ends][:-2] == [float(number) for number in range(100)]


def test_an_end_that_changes_and_changes_back_is_told_once() -> None:
    ends = ExpectedEnds()
    for at in (5.0, 9.0, 5.0):
        ends.put(a_holding("p", at))
        ends.put(a_holding("q", 7.0))
        assert [one.uid for one in ends] == sorted(("p", "q"), reverse=at > 7)
    ends.drop("p")
    assert [one.uid for one in ends] == ["q"]


def test_time_puts_off_those_that_should_have_ended() -> None:
    ends = ExpectedEnds()
    for uid, at in (("late", 100.0), ("due", 200.0), ("coming", 230.0)):
        ends.put(a_holding(uid, at))
    ends.advance(200.0)
    assert [(one.uid, one.at) for one in ends] == [("late", 220.0), ("coming", 230.0), ("due", 260.0)]


def test_a_pod_outruns_what_it_said_after_a_quarter_more() -> None:
    runs = a_released_pod(started=500)
    assert [outruns_at(runs, said) for said in (600, 60)] == [1250.0, 620.0]
    # it goes on while it is deleted, and until it is on a node it has ten minutes more
    assert outruns_at(replace(runs, is_terminating=True), 600) == 1250.0
    assert outruns_at(replace(runs, started=0, admitted_at=500.0), 600) == 1850.0
    assert outruns_at(replace(runs, started=0, admitted_at=0.0), 600) is None


def test_only_its_own_deadline_surely_ends_a_pod() -> None:
    job = decode_job(orjson.dumps({"metadata": {}, "spec": {"activeDeadlineSeconds": 300}}))
    says = a_released_pod(expected_runtime=600)
    assert [claimed(says, None), claimed(says, job), claimed(a_released_pod(), job)] == [600, 300, 300]
    assert [claimed(replace(says, deadline=own), None) for own in (600, 900)] == [0, 600]
