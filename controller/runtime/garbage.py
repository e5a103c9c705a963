"""When Python's collector looks for cycles: what it would look through is a cluster's world, which has none.

What a decision makes is freed as soon as nothing refers to it; it must leave no cycles. To look through all objects
takes longer than most decisions, and with Python's own thresholds (3.11 to 3.13) up to one in ten waited for that.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any, Final

_THRESHOLDS: Final = (50_000, 10, 200)
"""New objects until the youngest are looked through, and how often they are until the next older ones are.

Few decisions make as many that are not freed at once: looking through the youngest of these took a tenth of them.
All are looked through once in 100 million new objects that were not freed at once; before that cycles that the watches
and requests leave are found among the younger.
"""


def look_through_all_seldom() -> None:
    """Let all objects be looked through seldom, and the young ones not within most decisions."""
    gc.set_threshold(*_THRESHOLDS)


def spare_what_is_known(*, but: weakref.ref[Any] | None = None) -> None:
    """Let nothing that there is now be looked through again: the world that was just listed lives on.

    Unless what is to go, `but`, is still in use: it has cycles, and nobody would look through it after that.
    """
    gc.unfreeze()
    gc.collect()
    if but is None or but() is None:
        gc.freeze()
