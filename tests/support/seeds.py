"""How many seeds and examples a test tries: few in `make test`, as many as wanted in `make soak`."""

from __future__ import annotations

import os

SEEDS = "PENSTOCK_SEEDS"
"""Environment variable: how many seeds instead of the few that each test names."""


def seeds(few: int) -> range:
    """Return the seeds to try, from 0: the first `few`, or what the variable says where that is more.

    Raises ValueError where the variable is no whole number.
    """
    return range(max(few, int(os.environ.get(SEEDS, few))))


def examples(many: int) -> int:
    """Return how many examples Hypothesis tries: a quarter of `many`, all where the variable is there."""
    return many if SEEDS in os.environ else many // 4
