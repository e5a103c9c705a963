"""`make fuzz`: as many pairs as wanted, on all cores, against the validation of Kubernetes.

Ends with code 1 at the first disagreement, made small; what to do with it stands in CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random

import click

from controller.kube import clock
from tests.differential import coverage, oracle
from tests.differential.agreement import disagreements, report
from tests.differential.oracle import Oracle
from tests.differential.pairs import pairs

_BATCH = 2_500
_SHOWN_EVERY = 5.0


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
    """Share the batches among processes and say how far they are."""
    started = shown = clock.monotonic()
    done, fault = 0, ""
    click.echo(f"{count} pairs, seed {seed}")
    with _workers(seed, -(-count // _BATCH), program, environment) as pipes:
        open_pipes = {*pipes}
        while open_pipes and not fault:
            for pipe in wait([*open_pipes]):
                assert isinstance(pipe, Connection)
                try:
                    judged, fault = pipe.recv()
                except EOFError:
                    open_pipes.remove(pipe)
                    continue
                done += judged
            if clock.monotonic() - shown > _SHOWN_EVERY:
                shown = clock.monotonic()
                click.echo(f"{done} of {count} pairs, {done / (shown - started):.0f} a second")
    seconds = clock.monotonic() - started
    result = "a disagreement" if fault else "no disagreement"
    click.echo(f"{done} pairs in {seconds:.0f} s, {done / seconds:.0f} a second: {result}")
    if fault:
        click.echo(fault)
    return 1 if fault or done < count else 0


@contextmanager
def _workers(seed: int, batches: int, program: Path, environment: dict[str, str]) -> Iterator[list[Connection]]:
    cores = os.cpu_count() or 1
    pipes, processes = [], []
    for number in range(cores):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        numbers = range(number, batches, cores)
        process = multiprocessing.Process(target=_work, args=(theirs, seed, numbers, program, environment))
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    try:
        yield pipes
    finally:
        for pipe in pipes:
            # a worker that still has something to say ends on this
            pipe.close()
        for process in processes:
            process.join()


def _work(pipe: Connection, seed: int, numbers: range, program: Path, environment: dict[str, str]) -> None:
    # Ctrl-C is for the parent, which closes the pipes
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Oracle(program, {**os.environ, **environment}) as running:
            for number in numbers:
                batch = list(pairs(Random(f"{seed}/{number}"), _BATCH))  # noqa: S311 - cases, not secrets
                different = disagreements(running, batch)
                pipe.send((len(batch), report(running, different[0]) if different else ""))
    except BrokenPipeError:
        pass
    finally:
        pipe.close()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
