"""When a waiting pod starts, as far as anybody can know; and in which words nobody does."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.workloads.pods import Pod
from controller.simulator.eta import Eta, Forecasts, Unknown, etas, quantile
from controller.simulator.world import PastRun, World
from tests.support.builders import MAIN, a_pod, a_released_pod, a_shape
from tests.support.simulated_worlds import NOW, a_world

THREE = a_shape(cpu="3")
TINY = a_shape(cpu="50m")


def runs(seconds: list[int], pod: Pod) -> tuple[PastRun, ...]:
    """Runs of pods like this one."""
    return tuple(
        PastRun(MAIN, pod.shape.requests, int(NOW) - 10_000 + at, f"old-{at}", one) for at, one in enumerate(seconds)
    )


def waiting(*, seconds: list[int] | None = None, **fields: Any) -> World:
    """One pod runs and another waits for its end."""
    first = a_released_pod("runs", THREE, node="node-1", started=int(NOW) - 100, created=NOW - 200, **fields)
    second = a_pod("waits", THREE, created=NOW - 90)
    return a_world(first, second, runs=runs(seconds or [], first))


def eta_of(world: World, uid: str = "waits", **options: Any) -> Eta | Unknown:
    return etas(world, [uid], **options)[0]


def test_it_starts_when_what_runs_has_taken_what_others_took() -> None:
    found = eta_of(waiting(seconds=[600] * 10))
    assert found == Eta("default/waits", NOW + 500, NOW + 500, NOW + 500)


def test_the_range_is_that_of_the_runs_that_last_longer() -> None:
    """It has run for 100 s: it is none of those that took less."""
    found = eta_of(waiting(seconds=[10, 50, *range(200, 1200, 20)]), runs=200)
    assert isinstance(found, Eta)
    assert NOW + 100 < found.p20 < NOW + 400 < found.p50 < NOW + 800 < found.p90 < NOW + 1100


def test_a_stated_runtime_is_a_bound_and_users_overstate() -> None:
    found = eta_of(waiting(expected_runtime=1100), runs=100)
    assert isinstance(found, Eta)
    assert NOW + 450 <= found.p20 < found.p50 < found.p90 <= NOW + 1000


def test_by_how_much_they_overstate_is_learned() -> None:
    past = a_world().runs + tuple(
        PastRun(MAIN, THREE.requests, int(NOW) - at, f"old-{at}", 300, stated=600) for at in range(10)
    )
    first = a_released_pod("runs", THREE, node="node-1", started=int(NOW) - 100, expected_runtime=1000)
    found = eta_of(a_world(first, a_pod("waits", THREE, created=NOW - 90), runs=past))
    assert found == Eta("default/waits", NOW + 400, NOW + 400, NOW + 400)


def test_a_runtime_counts_from_the_admission() -> None:
    """Five that were admitted a minute before they started, and ran for ten: they held their place for eleven."""
    past = [
        a_released_pod(
            f"old-{n}",
            THREE,
            is_finished=True,
            has_succeeded=True,
            admitted_at=NOW - 5000,
            started=int(NOW) - 4940,
            ended=int(NOW) - 4340,
        )
        for n in range(5)
    ]
    runs = a_released_pod("runs", THREE, node="node-1", admitted_at=NOW - 160, started=int(NOW) - 100)
    found = eta_of(a_world(*past, runs, a_pod("waits", THREE, created=NOW - 90)))
    assert found == Eta("default/waits", NOW + 500, NOW + 500, NOW + 500)


def burst(*, over: int, going: int) -> World:
    """Pods that began together, of which some have ended after 10 s, and ten of long ago that took 600 s."""
    place = {"node": "node-1", "admitted_at": NOW - 100, "started": int(NOW) - 100}
    done = {"is_finished": True, "has_succeeded": True, "ended": int(NOW) - 90}
    short = [a_released_pod(f"short-{n}", TINY, **place, **done) for n in range(over)]
    long = [a_released_pod(f"long-{n}", TINY, **place) for n in range(going)]
    # each takes the whole node, so they run one after another
    wait = [a_pod(f"waits-{n}", a_shape(cpu="4"), created=NOW - 90 + n) for n in range(2)]
    return a_world(*short, *long, *wait, runs=runs([600] * 10, short[0]))


def test_what_still_runs_is_none_of_the_short_ones() -> None:
    """Half of the runs that are over are short, but of those that began together only a fifth."""
    found = eta_of(burst(over=10, going=40), "waits-1", runs=30)
    assert isinstance(found, Eta)
    assert found.p50 == NOW + 500 + 600
    alone = eta_of(burst(over=10, going=0), "waits-1", runs=30)
    assert isinstance(alone, Eta)
    assert alone.p20 == NOW + 10


def test_what_began_before_all_that_are_over_is_not_counted() -> None:
    old = [a_released_pod(f"old-{n}", TINY, node="node-1", started=int(NOW) - 100_000) for n in range(20)]
    done = a_pod("over", TINY)
    wait = [a_pod(f"waits-{n}", a_shape(cpu="3"), created=NOW - 90 + n) for n in range(2)]
    found = eta_of(a_world(*old, *wait, runs=runs([600] * 10, done)), "waits-1")
    assert found == Eta("default/waits-1", NOW + 600, NOW + 600, NOW + 600)


def test_runs_are_chosen_by_when_they_began() -> None:
    """Of sixty that began together, the fifty that ended last took longest: they stand for the sixty no better."""
    first = a_pod("first", THREE, created=NOW - 90)
    together = [PastRun(MAIN, THREE.requests, int(NOW) - 900 + at, f"old-{at}", 100 + at) for at in range(60)]
    before = [PastRun(MAIN, THREE.requests, int(NOW) - 2000, f"older-{at}", 900) for at in range(60)]
    world = a_world(first, a_pod("waits", THREE, created=NOW - 80), runs=(*before, *together))
    found = eta_of(world, runs=100)
    assert isinstance(found, Eta)
    assert abs(found.p50 - (NOW + 130)) < 4
    assert found.p20 < NOW + 115


def test_nobody_knows_without_a_runtime_of_what_runs() -> None:
    found = eta_of(waiting(seconds=[600] * 4))
    assert isinstance(found, Unknown)
    assert found.text.startswith("NoCapacity: ")
    assert found.text.endswith("; no runtime is known for 1 pod that may run before it: default/runs")
    assert "default/runs" not in found.why


def test_a_pod_that_starts_at_once_needs_no_runtime() -> None:
    assert eta_of(a_world(a_pod("waits"))) == Eta("default/waits", NOW, NOW, NOW)


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (a_pod("waits", a_shape(cpu="20")), "NeverFits: "),
        (a_pod("waits", held="by ann"), "Held: "),
        (a_pod("waits", queue="none"), "QueueNotFound: "),
        (a_released_pod("waits", node="node-1"), "it does not wait at Penstock's gate"),
        (a_released_pod("waits", node="node-1", is_finished=True), "it has ended"),
    ],
)
def test_what_no_time_ends_is_said(pod: Pod, why: str) -> None:
    found = eta_of(a_world(pod))
    assert isinstance(found, Unknown)
    assert found.why.startswith(why)


def test_beyond_the_horizon_nobody_knows() -> None:
    found = eta_of(waiting(seconds=[6000] * 10), horizon=3600.0)
    assert isinstance(found, Unknown)
    assert found.why.startswith("it does not start within 1 h; then NoCapacity: ")


def test_the_same_seed_comes_to_the_same() -> None:
    world = waiting(seconds=[*range(200, 1200, 20)])
    assert eta_of(world, seed=1) == eta_of(world, seed=1) != eta_of(world, seed=2)


def test_a_simulation_that_was_not_finished_does_not_count() -> None:
    forecasts = Forecasts(waiting(seconds=[600] * 10), ["waits"])
    next(forecasts.steps("1"))
    assert forecasts.results() == [Unknown("default/waits", "nothing was simulated yet")]


def test_quantiles_are_those_of_further_samples() -> None:
    assert quantile([10.0, 20.0, 30.0, 40.0], 0.2) == 10.0
    assert quantile([10.0, 20.0, 30.0, 40.0], 0.5) == 25.0
    assert quantile([10.0, 20.0, 30.0, 40.0], 0.9) == 40.0
    assert quantile([10.0], 0.9) == 10.0
