"""`make fuzz-decide`: as many small worlds as wanted, on all cores, decided by the core and by the plain rules.

Ends with code 1 at the first disagreement, made small and written as a scenario to begin with.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

import click

from tests.oracle import sequences
from tests.oracle.agreement import disagreement, report
from tests.oracle.drawing import draw_world
from tests.support.shared_work import Judge, judge_all

_BATCH = 250
_IN_TIME = 10
"""Of so many worlds something happens in one."""


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="make fuzz-decide", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000, help="worlds to decide (N=)")
    parser.add_argument("--seed", type=int, default=None, help="draw the worlds of an earlier run (SEED=)")
    wanted = parser.parse_args()
    seed = secrets.randbits(32) if wanted.seed is None else wanted.seed
    click.echo(f"{wanted.count} worlds, seed {seed}")
    return judge_all(wanted.count, -(-wanted.count // _BATCH), "worlds", partial(_judging, seed))


@contextmanager
def _judging(seed: int) -> Iterator[Judge]:
    def judge(number: int) -> tuple[int, str]:
        chance = Random(f"{seed}/{number}")  # noqa: S311 - cases, not secrets
        for done in range(1, _BATCH + 1):
            world = draw_world(chance)
            if disagreement(world):
                return done, report(world)
            told = sequences.disagreement(world, chance) if done % _IN_TIME == 0 else ""
            if told:
                return done, told
        return _BATCH, ""

    yield judge


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
