"""What is counted on from where a clock leaps and is put right; here what is kept is the time at which it was kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.cache.budgets.clock_jumps import ClockJumps

NOON = 1_772_625_600
HOUR = 3600
DAY = 24 * HOUR


def found(*times: int) -> list[int | None]:
    """What is to be counted on from at each of these times, all relative to noon; before the first there was -1."""
    leaps: ClockJumps[int] = ClockJumps()
    kept = [-1]

    def at(time: int) -> int | None:
        found = leaps.advance(NOON + time, lambda: kept[-1])
        kept.append(time)
        return found

    return [at(time) for time in times]


@pytest.mark.parametrize("later", [(10, 20, 70), (HOUR, 2 * HOUR), (10, 8, 3, 10), (1, 30 * DAY)])
def test_steady_time_and_small_corrections_change_nothing(later: tuple[int, ...]) -> None:
    assert set(found(0, *later)) == {None}


def test_a_corrected_jump_continues_from_before_it() -> None:
    assert found(0, 10, 60 * DAY, 60 * DAY + 10, 30, 40) == [None, None, None, None, 10, None]


def test_it_may_be_put_right_in_steps_and_leap_several_times() -> None:
    assert found(0, DAY, 2 * DAY, DAY + HOUR, HOUR) == [None, None, None, DAY, 0]
    assert found(0, DAY, 10, DAY + 20, 30) == [None, None, 0, None, 10]


def test_a_clock_ahead_at_start_continues_from_the_status() -> None:
    assert found(DAY, DAY + 10, 20) == [None, None, -1]


def test_time_that_was_gone_through_is_only_counted_again() -> None:
    assert set(found(*range(0, HOUR, 10), 60, HOUR)) == {None}


def test_a_clock_set_back_and_forth_continues_where_it_was() -> None:
    assert found(0, 10, -30 * DAY, -30 * DAY + 10, 40) == [None, None, -1, None, 10]
    assert found(0, -DAY, 20, -DAY, 40) == [None, -1, 0, -1, 20]


def test_it_may_go_back_twice_before_it_comes_back() -> None:
    assert found(0, 10, -30 * DAY, -30 * DAY + 10, -60 * DAY, 40) == [None, None, -1, None, -1, 10]
    assert found(0, 10, -30 * DAY, -60 * DAY, 40) == [None, None, -1, -1, 10]
    hour = range(-30 * DAY + 10, -30 * DAY + HOUR, 10)
    assert found(DAY, -30 * DAY, *hour, -60 * DAY, -30 * DAY + HOUR)[-1] == hour[-1]


def test_it_may_be_ahead_and_before_us_in_either_order() -> None:
    assert found(0, 10, 40 * DAY, -30 * DAY, 40)[-1] == 10
    assert found(0, 10, -30 * DAY, 40 * DAY, HOUR)[-1] == 10


def test_time_that_was_reached_again_leaves_nothing_to_restore() -> None:
    assert found(0, 10, -HOUR, *range(-HOUR + 10, HOUR, 10), -100, 2 * HOUR)[-1] is None


OFFSETS = st.sampled_from([0, -DAY, -40 * DAY, DAY, 40 * DAY, -HOUR, HOUR])


@given(st.lists(st.tuples(OFFSETS, st.sampled_from([1, 3, 20])), max_size=4))
def test_all_time_on_the_right_clock_is_counted(wrong: list[tuple[int, int]]) -> None:
    """Each time something is counted, in the time that the clock shows then, which is so far from the true one."""
    leaps: ClockJumps[list[int]] = ClockJumps()
    true, counted, right = NOON, list[int](), list[int]()
    for offset, times in [(0, 3), *wrong, (0, 3)]:
        for _ in range(times):
            true += 10
            put_right = leaps.advance(true + offset, counted.copy)
            counted = counted if put_right is None else put_right.copy()
            if offset == 0:
                assert set(right) <= set(counted)
                assert max(counted, default=0) <= true + 5
                right.append(true)
            counted.append(true + offset)


def test_only_the_latest_jumps_are_remembered() -> None:
    leaps = [number * HOUR for number in range(9)]
    assert found(*leaps, 7 * HOUR + 60)[-1] == 7 * HOUR
    assert found(*leaps, 60)[-1] is None
    assert found(*leaps, -60)[-1] == -1
