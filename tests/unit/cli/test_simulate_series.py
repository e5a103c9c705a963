"""What of outcomes is drawn: which queues, flavors and curves, in which units, on which axis."""

from __future__ import annotations

import pytest

from controller.cli.simulate_series import (
    left_out,
    scale_of,
    shown_columns,
    shown_queues,
    some_wait,
    wait_curve,
    wait_range,
    wait_ticks,
)
from controller.simulator.measurements import Outcome, Waits


def waiting(*started: float) -> Outcome:
    return Outcome(by_queue={"team-a": Waits([*started], [9.0])})


def test_the_queues_with_most_starts_are_shown() -> None:
    before = Outcome(by_queue={f"q{n}": Waits([1.0] * n) for n in range(10)})
    after = Outcome(by_queue={"q0": Waits([1.0] * 20), "": Waits([], [1.0])})
    assert shown_queues([before, after]) == ["q0", "q3", "q4", "q5", "q6", "q7", "q8", "q9"]
    assert left_out([before, after]) == ["q2", "q1", "(none)"]


def test_it_is_known_whether_pods_still_wait() -> None:
    assert some_wait([Outcome(by_queue={"team-a": Waits([1.0])}), waiting(1.0)])
    assert not some_wait([Outcome(by_queue={"team-a": Waits([1.0])}), Outcome()])


def test_a_curve_counts_those_that_still_wait() -> None:
    assert wait_curve(Waits([30.0, 10.0], [5.0, 5.0]), 60.0) == ([10.0, 10.0, 30.0, 60.0], [0.0, 25.0, 50.0, 50.0])
    assert wait_curve(Waits([], [5.0]), 60.0) == ([], [])
    assert wait_curve(None, 60.0) == ([], [])


def test_a_long_curve_keeps_its_ends_and_few_points() -> None:
    waits, percent = wait_curve(Waits([float(n) for n in range(10_000)]), 20_000.0)
    assert (waits[0], waits[-2:], percent[-1]) == (0.0, [9999.0, 20_000.0], 100.0)
    assert len(waits) == len(percent) < 500


@pytest.mark.parametrize(
    ("outcome", "expected", "ticks"),
    [
        (Outcome(), (0.0, 1.05), ["0", "1s"]),
        (waiting(0.0, 7200.0), (0.0, 7560.0), ["0", "1s", "10s", "1m", "10m", "1h"]),
        (waiting(2400.0, 7200.0), (1800.0, 7560.0), ["30m", "1h", "2h"]),
        (waiting(600.0, 600.0), (300.0, 630.0), ["5m", "10m"]),
    ],
)
def test_the_axis_of_waits_begins_where_they_begin(
    outcome: Outcome, expected: tuple[float, float], ticks: list[str]
) -> None:
    assert wait_range([outcome]) == pytest.approx(expected)
    assert list(wait_ticks(*expected).values()) == ticks


def test_of_many_flavors_those_that_are_used_most_are_shown() -> None:
    columns = [(f"flavor-{n:02}", "cpu") for n in range(15)]
    used = {column: float(n) for n, column in enumerate(columns)}
    outcome = Outcome(used={**used, ("flavor-01", "pods"): 1.0}, capacity=dict.fromkeys(columns, 20.0))
    assert shown_columns([outcome]) == (columns[3:], columns[1:3])


@pytest.mark.parametrize(
    ("resource", "most", "expected"),
    [
        ("cpu", 4000.0, (1000.0, "cores")),
        ("memory", 5.0 * 2**30, (2.0**30, "GiB")),
        ("hugepages-2Mi", 2.0**21, (2.0**20, "MiB")),
        ("memory", 0.0, (1.0, "bytes")),
        ("nvidia.com/gpu", 8.0, (1.0, "")),
    ],
)
def test_amounts_are_shown_in_units_of_people(resource: str, most: float, expected: tuple[float, str]) -> None:
    assert scale_of(resource, most) == expected
