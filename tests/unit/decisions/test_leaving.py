"""Until when others wait for a pod that is being deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.evictions.leaving import stuck_at
from tests.support.builders import a_released_pod, decided
from tests.unit.decisions.test_events_for_preemptors import NOW, a_world

ASKED = 1000.0
HOUR = 3600.0


def a_going_pod(grace: int, **fields: Any) -> Any:
    return a_released_pod("a", **{"is_terminating": True, "gone_by": ASKED + grace, "grace": grace, **fields})


@pytest.mark.parametrize(
    ("grace", "waited"),
    [(0, 300.0), (30, 300.0), (240, 300.0), (241, 301.0), (1800, 1860.0), (3540, HOUR), (3541, HOUR), (10**9, HOUR)],
)
def test_others_wait_for_a_bounded_grace_period(grace: int, waited: float) -> None:
    assert stuck_at(a_going_pod(grace)) == ASKED + waited


def test_an_overflowed_time_does_not_wait_for_ever() -> None:
    assert stuck_at(a_going_pod(10**10, gone_by=-8e9, created=900.0)) == 900.0 + HOUR


@pytest.mark.parametrize("fields", [{"is_terminating": False}, {"gone_by": 0.0}, {"is_finished": True}])
def test_nobody_gives_up_on_a_pod_without_an_end(
    fields: dict[str, Any],
) -> None:
    assert stuck_at(a_going_pod(30, **fields)) is None


def test_a_shortened_grace_period_counts_again() -> None:
    cache = a_world()
    going = replace(cache.pods["runs"], is_terminating=True, gone_by=NOW + 1800, grace=1800, resource_version="8")
    cache.put_pod(going)
    decided(cache)
    cache.advance(NOW + 600)
    decided(cache)
    cache.put_pod(replace(going, gone_by=NOW + 30, grace=30, resource_version="9"))
    assert not decided(cache).preemptors
