"""How many seeds a test draws its worlds by: few in `make test`, as many as wanted in `make soak`."""

from __future__ import annotations

import os

SEEDS = "PENSTOCK_SEEDS"
"""Environment variable: how many seeds instead of the few that each test names."""


def seeds(few: int) -> range:
    """Return the seeds to try, from 0: the first `few`, or what the variable says where that is more.

    Raises ValueError where the variable is no whole number.
    """
    return range(max(few, int(os.environ.get(SEEDS, few))))
