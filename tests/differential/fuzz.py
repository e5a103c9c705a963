"""`make fuzz`: as many pairs as wanted, half of them pods and half Jobs, on all cores, against Kubernetes' validation.

Ends with code 1 at the first disagreement, made small; what to do with it stands in CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import click

from tests.differential import coverage, oracle
from tests.differential.agreement import disagreements, report
from tests.differential.job_pairs import job_pairs
from tests.differential.oracle import Oracle
from tests.differential.pairs import pairs
from tests.support.shared_work import Judge, judge_all

_BATCH = 2_500


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000, help="pairs to judge (N=)")
    parser.add_argument("--seed", type=int, default=None, help="draw the pairs of an earlier run (SEED=)")
    parser.add_argument("--coverage", action="store_true", help="say which branches of the Go rules were reached")
    wanted = parser.parse_args()
    seed = secrets.randbits(32) if wanted.seed is None else wanted.seed
    if not wanted.coverage:
        return _judge(wanted.count, seed, oracle.ensure(), {})
    with coverage.measured() as (program, environment):
        return _judge(wanted.count, seed, program, environment)


def _judge(count: int, seed: int, program: Path, environment: dict[str, str]) -> int:
    click.echo(f"{count} pairs, seed {seed}")
    return judge_all(count, -(-count // _BATCH), "pairs", partial(_judging, seed, program, environment))


@contextmanager
def _judging(seed: int, program: Path, environment: dict[str, str]) -> Iterator[Judge]:
    with Oracle(program, {**os.environ, **environment}) as running:

        def judge(number: int) -> tuple[int, str]:
            draw = job_pairs if number % 2 else pairs
            batch = list(draw(Random(f"{seed}/{number}"), _BATCH))  # noqa: S311 - cases, not secrets
            different = disagreements(running, batch)
            return len(batch), report(running, different[0]) if different else ""

        yield judge


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
