"""Forecast starts against those that came, over drawn worlds in virtual time: error, range, width, and naive guesses.

The wait of a pod is from its creation to its start. Each naive guess stands for all quantiles, as it has no range.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

import pytest

from controller.simulator.eta import QUANTILES, Eta, etas
from tests.property.simulator.busy_worlds import Busy, draw
from tests.support.seeds import seeds

# the worlds are played once, which takes minutes
pytestmark = [pytest.mark.more, pytest.mark.xdist_group("eta calibration")]
_RUNS = 10
_LATEST = 50
_RECENT_SECONDS = 2 * 3600.0


@dataclass(frozen=True, slots=True)
class Case:
    """One pod: what was foreseen, what came, and what two naive guesses say; in epoch seconds, `wait` in seconds."""

    eta: Eta
    started: float
    wait: float
    as_before: float
    by_place: float

    @property
    def error(self) -> float:
        return abs(self.eta.p50 - self.started) / self.wait

    @property
    def is_inside(self) -> bool:
        return self.eta.p20 <= self.started <= self.eta.p90

    @property
    def width(self) -> float:
        return (self.eta.p90 - self.eta.p20) / self.wait


def cases(busy: Busy, seed: int) -> Iterator[Case]:
    world, truth = busy.world, busy.truth
    before = sorted((at, uid) for uid, at in truth.started.items() if at <= world.now)
    mean = fmean(at - truth.created[uid] for at, uid in before[-_LATEST:])
    rate = max(1, sum(at > world.now - _RECENT_SECONDS for at, _ in before)) / _RECENT_SECONDS
    line = [uid for _, uid in sorted((pod.created, uid) for uid, pod in world.pods.items() if pod.gates)]
    for uid, eta in zip(busy.asked, etas(world, busy.asked, runs=_RUNS, seed=seed), strict=True):
        assert isinstance(eta, Eta), eta
        created, started = world.pods[uid].created, truth.started[uid]
        by_place = world.now + (line.index(uid) + 1) / rate
        yield Case(eta, started, started - created, max(world.now, created + mean), by_place)


@pytest.fixture(scope="module")
def found() -> list[Case]:
    return [case for seed in seeds(10) for case in cases(draw(seed), seed)]


def pinball(guesses: tuple[float, ...], came: float) -> float:
    """The loss of guesses at the quantiles of what came, in seconds: the least for the true quantiles."""
    pairs = zip(QUANTILES, guesses, strict=True)
    return sum(max(part * (came - guess), (part - 1) * (came - guess)) for part, guess in pairs)


def test_the_median_error_is_a_tenth_of_the_wait_at_most(found: list[Case]) -> None:
    assert len(found) >= 50
    assert median(case.error for case in found) < 0.10


def test_the_range_holds_six_to_eight_starts_of_ten(found: list[Case]) -> None:
    assert 0.6 <= fmean(case.is_inside for case in found) <= 0.8
    assert median(case.width for case in found) <= 1.0


def test_it_is_better_than_naive_guesses(found: list[Case]) -> None:
    loss = sum(pinball((case.eta.p20, case.eta.p50, case.eta.p90), case.started) for case in found)
    as_before = sum(pinball((case.as_before,) * 3, case.started) for case in found)
    by_place = sum(pinball((case.by_place,) * 3, case.started) for case in found)
    assert loss < 0.8 * min(as_before, by_place)
