from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.core.queueing.effective import Override, Variation, WrittenQuota
from controller.core.queueing.queues import StopPolicy
from controller.core.workloads.decisions import Admit, Evict
from controller.core.workloads.pods import Pod
from controller.runtime import loop
from controller.runtime.loop import DecisionLoop
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cache, a_cluster_queue, a_pod, a_quota, a_released_pod
from tests.support.eventually import eventually
from tests.support.fake_time import turns
from tests.support.zones import a_window, utc


class Hands:
    """An executor that takes what it is given, as long as it has room."""

    def __init__(self, room: int = 100) -> None:
        self.left = room
        self.taken: list[str] = []

    def room(self) -> int:
        return self.left

    def submit(self, admit: Admit) -> None:
        self.taken.append(admit.uid)
        self.left -= 1


class Broom:
    """An evictor that writes down what it is given."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def submit(self, evicts: Iterable[Evict]) -> None:
        self.taken.extend(evict.pod.uid for evict in evicts)


def a_loop(cache: ClusterCache, hands: Hands) -> DecisionLoop:
    return DecisionLoop(cache, hands, Broom(), ControllerMetrics())


async def run(made: DecisionLoop, *, count: int = 20) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.run(), name="decide")
        await turns(count)
        task.cancel()


def test_one_step_hands_over_the_first_in_order_first() -> None:
    hands = Hands()
    cache = a_cache(a_pod("b", created=2), a_pod("a", created=1))
    a_loop(cache, hands).step()
    assert hands.taken == ["a", "b"]
    assert cache.assumed("a") is not None


def test_evictions_are_handed_over_too() -> None:
    queue = a_cluster_queue(stop=StopPolicy.HOLD_AND_DRAIN, allow_bare_pods=True)
    broom = Broom()
    DecisionLoop(a_cache(a_released_pod("a"), queues=[queue]), Hands(), broom, ControllerMetrics()).step()
    assert broom.taken == ["a"]


def test_without_room_nothing_is_decided_and_nothing_assumed() -> None:
    hands, cache = Hands(room=0), a_cache(a_pod("a"))
    made = a_loop(cache, hands)
    made.step()
    assert (hands.taken, len(cache.backlog), made.last_decision is None) == ([], 1, False)


async def test_nothing_is_decided_while_a_list_is_taken_in() -> None:
    hands = Hands()
    cache = a_cache(a_pod("a"))
    taking = PodSink(cache).replace([a_pod(f"p{number:03}", created=number) for number in range(150)])
    next(taking)
    made = a_loop(cache, hands)
    made.wake()
    await run(made)
    assert hands.taken == []
    list(taking)
    made.wake()
    await run(made)
    assert hands.taken[0] == "p000"


async def test_a_decision_that_its_limit_ended_is_followed_by_another() -> None:
    class OneAtATime(Hands):
        def room(self) -> int:
            return 1

    hands = OneAtATime()
    made = a_loop(a_cache(*(a_pod(f"p{n}", created=n) for n in range(4))), hands)
    made.wake()
    await run(made)
    assert hands.taken == ["p0", "p1", "p2", "p3"]


async def test_nothing_is_decided_until_something_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "monotonic", lambda: -1000.0)
    hands = Hands()
    made = a_loop(a_cache(a_pod("a")), hands)
    await run(made)
    assert hands.taken == []
    made.wake()
    await run(made)
    assert hands.taken == ["a"]


async def test_all_is_looked_at_anew_even_if_changes_never_cease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, full_passes = 0.0, []
    monkeypatch.setattr(loop, "monotonic", lambda: now)
    made: DecisionLoop

    class Busy(Hands):
        """While a decision is carried out, the next change is there already."""

        def room(self) -> int:
            nonlocal now
            now += 1.0
            made.wake()
            return 1

    cache = a_cache()
    monkeypatch.setattr(cache, "reopen_all", lambda: full_passes.append(now))
    made = a_loop(cache, Busy())
    made.wake()
    await run(made, count=80)
    assert now >= 25
    assert len(full_passes) >= 2


NIGHT = Override(window=a_window(), quotas=(WrittenQuota("spot", {"cpu": 4000}),))
EVENING = utc("2026-03-04 20:00")


def a_cache_that_gives_at_night(*pods: Pod) -> ClusterCache:
    cache = a_cache(*pods, queues=[])
    queue = a_cluster_queue("team-a", a_quota(cpu=0))
    cache.set_cluster_queue("team-a", queue, variation=Variation(overrides=(NIGHT,)))
    return cache


async def test_the_loop_wakes_when_a_window_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [EVENING - 0.05]
    monkeypatch.setattr(loop, "now", lambda: times[-1])
    hands = Hands()
    made = a_loop(a_cache_that_gives_at_night(a_pod("a")), hands)
    made.wake()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.run(), name="decide")
        await turns(20)
        assert hands.taken == []
        times.append(EVENING)

        async def taken() -> bool:
            return hands.taken == ["a"]

        # far less than the ten seconds after which all is looked at anew
        await eventually(taken, seconds=5)
        task.cancel()


async def test_the_loop_wakes_for_a_clock_set_while_it_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(loop, "now", lambda: clock)
    monkeypatch.setattr(loop, "monotonic", lambda: -1000.0)
    cache = a_cache(a_released_pod("a", admitted_at=50.0), queues=[])
    made = a_loop(cache, Hands())
    cache.set_cluster_queue("team-a", a_cluster_queue(reservation_timeout=60))
    made.wake()
    await run(made)
    assert not cache.clocks.reservations.overdue
    clock = 110.0
    await run(made)
    assert list(cache.clocks.reservations.overdue) == ["a"]


def test_a_loop_without_room_still_knows_what_time_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "now", lambda: float(EVENING))
    cache = a_cache_that_gives_at_night()
    a_loop(cache, Hands(room=0)).step()
    assert cache.cluster_queues["team-a"].flavors[0].nominal == {"cpu": 4000}
