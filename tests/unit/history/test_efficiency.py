"""What pods used of what they asked for, in groups, and the request that would be enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.history.efficiency import GROUPS, EfficiencyRow, efficiency
from controller.history.run_rows import RunRow, run_row
from controller.history.used import Used
from controller.history.wanted import FoundRun
from tests.support.histories import CHARGED, a_run

GIB = 2**30
TWO_CORES = (("cpu", 2000), ("memory", 4 * GIB), ("pods", 1))


def a_row(name: str = "a", requests: Any = TWO_CORES, used: Used | None = None, **charged: Any) -> RunRow:
    made = replace(CHARGED, requests=requests, **charged)
    run = a_run(name, made, owner_kind="Job", owner="train", started=10)
    return run_row(FoundRun(run, (0, 0), {}, used), 100)


def cpu(samples: int, mean: int, peak: int) -> Used:
    return Used(samples, {"cpu": samples * mean}, {"cpu": peak})


def test_samples_weigh_alike_whichever_pod_they_are_of() -> None:
    (row,) = efficiency([a_row("a", used=cpu(30, 500, 900)), a_row("b", used=cpu(10, 1500, 1600))], "owner")
    assert row == EfficiencyRow("default", "Job/train", "cpu", 2, 40, "2", "750m", "1600m", 38, "1840m")


def test_memory_is_told_to_the_next_mebibyte() -> None:
    used = Used(10, {"memory": 10 * (GIB + 1)}, {"memory": 2 * GIB - 1})
    (row,) = efficiency([a_row(used=used)], "owner")
    assert (row.requested, row.mean, row.peak, row.percent, row.hint) == ("4Gi", "1025Mi", "2Gi", 25, "2368Mi")


def test_runs_without_samples_are_left_out() -> None:
    assert efficiency([a_row()], "owner") == []


@pytest.mark.parametrize(
    ("rows", "requested", "percent", "hint"),
    [
        ([a_row(used=cpu(9, 500, 900))], "2", 25, ""),
        ([a_row(used=cpu(4, 500, 900)), a_row("b", used=cpu(6, 500, 900))], "2", 25, "1040m"),
        ([a_row(used=cpu(10, 500, 900)), a_row("b", (("cpu", 1000),), cpu(10, 500, 900))], "", 33, ""),
        ([a_row("a", (("pods", 1),), cpu(10, 500, 900))], "0", None, "1040m"),
        ([a_row(used=cpu(10, 1, 1))], "2", 0, "10m"),
    ],
)
def test_a_hint_needs_samples_of_pods_that_ask_alike(
    rows: list[RunRow], requested: str, percent: int | None, hint: str
) -> None:
    (row,) = efficiency(rows, "owner")
    assert (row.requested, row.percent, row.hint) == (requested, percent, hint)


def test_pods_are_put_together_as_asked() -> None:
    rows = [
        a_row("a", used=cpu(10, 500, 900)),
        a_row("b", used=cpu(10, 500, 900), namespace="other", local_queue="big", user="bob"),
    ]
    found = {by: [(one.namespace, one.group, one.pods) for one in efficiency(rows, by)] for by in GROUPS}
    assert found == {
        "owner": [("default", "Job/train", 1), ("other", "Job/train", 1)],
        "localQueue": [("default", "main", 1), ("other", "big", 1)],
        "clusterQueue": [("", "team-a", 2)],
        "namespace": [("default", "", 1), ("other", "", 1)],
        "user": [("", "ann", 1), ("", "bob", 1)],
    }
