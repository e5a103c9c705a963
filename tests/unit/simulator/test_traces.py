"""Traces are read, become pods that come at their time, and replace the arrivals that are drawn."""

from __future__ import annotations

import pytest

from controller.core.queueing.effective import WrittenQueue
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.workloads.pods import Phase
from controller.simulator.comparing import Comparison
from controller.simulator.traces import TracedJob, TraceError, read_csv, read_swf, trace_of
from tests.support.builders import MAIN, a_cluster_queue
from tests.support.simulated_worlds import NOW, a_world

SWF = """; Version: 2.2
; UnixStartTime: 0
  1 100 5  60 2 -1 -1 2 120 -1 1 7 1 -1 1 -1 -1 -1
  2 160 5  -1 2 -1 -1 2 120 -1 0 7 1 -1 1 -1 -1 -1
  3 220 5 300 -1 -1 -1 1  -1 -1 1 8 1 -1 1 -1 -1 -1
"""
CSV = """submit,seconds,cpu,memory,pods,user,queue
10,60,2,1Gi,1,ann,default/main
0,30,500m,,3,ben,default/main
"""


def test_the_standard_workload_format_is_read() -> None:
    assert list(read_swf(SWF.splitlines())) == [
        TracedJob(100, 60, {"cpu": "1"}, 2, 120, 0, "user-7"),
        TracedJob(220, 300, {"cpu": "1"}, 1, 0, 0, "user-8"),
    ]


def test_comma_separated_values_are_read() -> None:
    assert list(read_csv(CSV.splitlines())) == [
        TracedJob(10, 60, {"cpu": "2", "memory": "1Gi"}, 1, 0, 0, "ann", "default/main"),
        TracedJob(0, 30, {"cpu": "500m"}, 3, 0, 0, "ben", "default/main"),
    ]


def test_pods_come_by_their_time_and_a_job_of_several_is_a_gang() -> None:
    trace = trace_of(read_csv(CSV.splitlines()), NOW, None)
    assert [(at - NOW, pod.name) for at, pod in trace.arrivals] == [
        (0, "trace-0-0"),
        (0, "trace-0-1"),
        (0, "trace-0-2"),
        (10, "trace-1-0"),
    ]
    first, last = trace.arrivals[0][1], trace.arrivals[-1][1]
    assert first.group is not None
    assert (first.group.size, last.group) == (3, None)
    assert dict(last.shape.requests) == {"cpu": 2000, "memory": 2**30, "pods": 1}
    assert (first.phase, first.user, trace.seconds_of(last)) == (Phase.QUEUED, "ben", 60)


def test_a_trace_is_what_comes() -> None:
    trace = trace_of(read_swf(SWF.splitlines()), NOW, MAIN)
    comparison = Comparison(a_world(), None, seconds=3600, trace=trace)
    for _ in comparison.steps("1"):
        pass
    (outcome,) = comparison.outcomes
    assert outcome.ended == {"team-a": 3}
    assert sorted(outcome.by_user) == ["user-7", "user-8"]
    assert outcome.used["spot", "cpu"] == 1000 * (2 * 60 + 300)


def test_a_job_that_is_preempted_comes_again() -> None:
    """One that takes all, from the first step on, and after 10 seconds one more urgent; both run for half a minute."""
    lines = ["submit,seconds,cpu,priority,user", "0,30,4,0,ann", "10,30,4,9,ben"]
    trace = trace_of(read_csv(lines), NOW, MAIN)
    queue = a_cluster_queue("team-a", preemption=Preemption(within=Within.LOWER_PRIORITY))
    comparison = Comparison(a_world(queues=[WrittenQueue(queue)]), None, seconds=3600, trace=trace)
    for _ in comparison.steps("1"):
        pass
    (outcome,) = comparison.outcomes
    assert (outcome.preempted, outcome.ended) == ({"team-a": 1}, {"team-a": 2})
    assert outcome.used["spot", "cpu"] == 4000 * (9 + 30 + 30)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("cpu,pods\n1,2\n", "line 1: must name the columns, and has no submit and no seconds"),
        ("submit,seconds,cpu\n0,long,1\n", "line 2: seconds is 'long'; must be a number"),
        ("submit,seconds,cpu\n0,60,many\n", "line 2: cpu: 'many' is not a quantity"),
        ("submit,seconds,cpu\n0,60,1\n0,60,-2\n", "line 3: cpu: '-2' is negative"),
        ("submit,seconds,pods\n0,60,-1\n", "line 2: pods is '-1'; must be a number from 1 to 100000"),
        ("submit,seconds,pods\n0,60,100001\n", "line 2: pods is '100001'; must be a number from 1 to 100000"),
        ("submit,seconds,pods\n0,60,1.5\n", "line 2: pods is '1.5'; must be a whole number"),
        ("submit,seconds\n-1,60\n", "line 2: submit is '-1'; must be a number from 0 to 3155760000"),
        ("submit,seconds\n0,-60\n", "line 2: seconds is '-60'; must be a number from 0 to 3155760000"),
        ("submit,seconds\n0,0\n", "line 2: seconds is '0'; must be above 0"),
        ("submit,seconds\nnan,60\n", "line 2: submit is 'nan'; must be a number"),
        ("submit,seconds\n0,inf\n", "line 2: seconds is 'inf'; must be a number"),
        ("submit,seconds\n1e99,1\n", "line 2: submit is '1e99'; must be a number from 0 to 3155760000"),
        ("submit,seconds,stated\n0,1,-1\n", "line 2: stated is '-1'; must be a number from 0"),
        ("submit,seconds,priority\n0,1,9999999999\n", "line 2: priority is '9999999999'; must be a number from -21"),
        ("submit,seconds,cpu\n0,10,1,5,6\n", "line 2: has 5 cells, and line 1 names 3 columns: remove 5, 6"),
        ("submit,seconds,cpu\n0\n", "line 2: has no cell for seconds"),
        ("submit,seconds\n" + "0" * 140_000 + ",1\n", "line 2: field larger than field limit"),
        ("submit,seconds,queue\n0,60,main\n", "queue 'main': name a LocalQueue as NAMESPACE/NAME"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, fault: str) -> None:
    with pytest.raises(TraceError) as raised:
        trace_of(read_csv(text.splitlines()), NOW, MAIN)
    assert str(raised.value).startswith(fault)


@pytest.mark.parametrize(
    ("column", "text", "fault"),
    [
        (1, "-1", "line 1: submit time is '-1'; must be a number from 0 to 3155760000"),
        (3, "nan", "line 1: run time is 'nan'; must be a number"),
        (3, "inf", "line 1: run time is 'inf'; must be a number"),
        (4, "200000", "line 1: number of processors is '200000'; must be a number from 1 to 100000"),
        (8, "many", "line 1: requested time is 'many'; must be a number"),
    ],
)
def test_a_number_that_is_none_is_named_with_its_line(column: int, text: str, fault: str) -> None:
    fields = SWF.splitlines()[2].split()
    fields[column] = text
    with pytest.raises(TraceError) as raised:
        list(read_swf([" ".join(fields)]))
    assert str(raised.value) == fault


def test_lines_that_are_too_short_are_refused() -> None:
    with pytest.raises(TraceError, match="line 1: must have 18 numbers"):
        list(read_swf(["1 2 3"]))
    with pytest.raises(TraceError, match="name a LocalQueue as NAMESPACE/NAME"):
        trace_of(read_swf(SWF.splitlines()), NOW, None)
