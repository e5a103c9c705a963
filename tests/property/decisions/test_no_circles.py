"""What a decision makes is gone once nothing refers to it: the collector looks so seldom that it would stay.

`runtime/garbage` says why. Ledgers, waits and reservations of every decision would pile up else.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest

from controller.core.decision.decide import decide
from tests.property.decisions.test_whom_to_look_at import World
from tests.support import contested_worlds
from tests.support.contested_worlds import Contested

_KINDS = (
    *(contested_worlds.trees, contested_worlds.gangs, contested_worlds.fair, contested_worlds.deep_gangs),
    *(contested_worlds.backfilling, contested_worlds.fair_backfilling),
)
_SEEDS = range(3)
_EVENTS = 6


@pytest.fixture(autouse=True)
def _collector_that_is_asked() -> Iterator[None]:
    """It looks when it is told to, and only through what came since."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.parametrize("kind", _KINDS)
def test_a_decision_leaves_nothing_that_refers_to_itself(kind: Callable[[int], Contested]) -> None:
    for seed in _SEEDS:
        drawn = kind(seed)
        world = World(drawn)
        for happening in drawn.happenings[:_EVENTS]:
            world.happen(happening)
            gc.collect()
            decide(world.cache.snapshot(), index=world.cache.feasibility, limit=drawn.limit)
            assert gc.collect() == 0
            world.rest()
