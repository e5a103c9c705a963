"""How many have to go, found with few looks: the same as with one look for each."""

from __future__ import annotations

from collections.abc import Callable, Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.candidates.candidate import Candidate
from controller.core.preemption.removals import Removals


def candidate(number: int) -> Candidate:
    return Candidate(f"{number:04}", "team", (), (), 0, 0.0, 0.0, frozenset(), {})


class Trial:
    """Some who may go, and a rule of whose going is enough; `tries` counts how often it was asked."""

    def __init__(self, count: int, is_enough: Callable[[Set[int]], bool]) -> None:
        self.all = [candidate(number) for number in range(count)]
        self.away: set[int] = set()
        self.tries = 0
        self._is_enough = is_enough

    def suffice(self) -> bool:
        self.tries += 1
        return self._is_enough(self.away)

    def find(self, *, is_steady: bool, but: int | None = None) -> list[int] | None:
        def remove(one: Candidate) -> None:
            assert int(one.key) not in self.away
            self.away.add(int(one.key))

        def put_back(one: Candidate) -> None:
            self.away.remove(int(one.key))

        removals = Removals(remove, put_back, self.suffice, lambda one: is_steady and int(one.key) != but)
        found = removals.find(self.all)
        assert not self.away
        return None if found is None else [int(one.key) for one in found]


@given(count=st.integers(0, 60), ways=st.lists(st.sets(st.integers(0, 70), min_size=1), max_size=4))
def test_the_same_are_found_as_with_a_look_at_each(count: int, ways: list[set[int]]) -> None:
    def is_enough(away: Set[int]) -> bool:
        return any(way <= away for way in ways)

    assert Trial(count, is_enough).find(is_steady=True) == Trial(count, is_enough).find(is_steady=False)


@pytest.mark.parametrize(("needed", "most"), [({0}, 1), ({999}, 40), ({5, 500, 999}, 80), ({1000}, 5)])
def test_of_a_thousand_few_numbers_are_tried(needed: set[int], most: int) -> None:
    trial = Trial(1000, lambda away: needed <= away)
    assert trial.find(is_steady=True) == (None if needed == {1000} else sorted(needed))
    assert trial.tries <= most


def test_where_more_room_may_be_worse_each_number_is_tried() -> None:
    # enough with just three away, as where who goes closes a mix
    trial = Trial(9, lambda away: len(away) == 3)
    assert trial.find(is_steady=False) == [0, 1, 2]


@given(
    count=st.integers(0, 40), ways=st.lists(st.sets(st.integers(0, 45), min_size=1), max_size=3), bad=st.integers(0, 45)
)
def test_where_one_makes_it_worse_the_same_are_found_too(count: int, ways: list[set[int]], bad: int) -> None:
    def is_enough(away: Set[int]) -> bool:
        return bad not in away and any(way <= away for way in ways)

    assert Trial(count, is_enough).find(is_steady=True, but=bad) == Trial(count, is_enough).find(is_steady=False)
