"""When the collector looks through what a controller has in memory; by its own counts, restored afterwards."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from controller.runtime import garbage

YOUNGEST, OLDEST = 0, 2


@pytest.fixture(autouse=True)
def collector_as_it_was() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_a_full_pass_does_not_have_all_looked_through() -> None:
    garbage.look_through_all_seldom()
    garbage.spare_what_is_known()
    gc.collect()  # with little that is old, Python's own thresholds have all looked through every so often
    before = gc.get_stats()
    made = [[number] for number in range(300_000)]
    after = gc.get_stats()
    assert len(made) == 300_000
    assert after[OLDEST]["collections"] == before[OLDEST]["collections"]
    assert after[YOUNGEST]["collections"] > before[YOUNGEST]["collections"]


class Known:
    """Something with a cycle, as a cache has."""

    def __init__(self) -> None:
        self.itself = self


def test_what_goes_before_is_not_spared() -> None:
    former = Known()
    garbage.spare_what_is_known()
    gone, spared = weakref.ref(former), gc.get_freeze_count()
    garbage.spare_what_is_known(but=gone)
    # somebody still reads it: once they are done it has to be found
    assert gc.get_freeze_count() == 0
    del former
    garbage.spare_what_is_known(but=gone)
    assert (gone(), gc.get_freeze_count() > spared // 2) == (None, True)


def test_what_is_known_is_not_looked_through_again() -> None:
    known = [[number] for number in range(1000)]
    assert any(one is known[0] for one in gc.get_objects())
    garbage.spare_what_is_known()
    # no difference of counts: a test before this one may have spared objects that are gone by now
    assert gc.get_freeze_count() >= len(known)
    assert not any(one is known[0] for one in gc.get_objects())
