"""Judging as many cases as wanted on all cores, with progress, until one is at fault: for `make fuzz` and its like."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection, wait

import click

from controller.kube import clock

_SHOWN_EVERY = 5.0

Judge = Callable[[int], tuple[int, str]]
"""Judges the batch of this number; returns how many cases it judged, and the first fault, for people."""


def judge_all(count: int, batches: int, cases: str, opened: Callable[[], AbstractContextManager[Judge]]) -> int:
    """Share the batches among processes and say how far they are; `opened` is sent to each, and called once in it.

    Returns the code to end with: 1 at a disagreement.
    """
    started = shown = clock.monotonic()
    done, fault = 0, ""
    with _workers(batches, opened) as pipes:
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
                if fault:
                    break
            if clock.monotonic() - shown > _SHOWN_EVERY:
                shown = clock.monotonic()
                click.echo(f"{done} of {count} {cases}, {done / (shown - started):.0f} a second")
    seconds = clock.monotonic() - started
    result = "a disagreement" if fault else "no disagreement"
    click.echo(f"{done} {cases} in {seconds:.0f} s, {done / seconds:.0f} a second: {result}")
    if fault:
        click.echo(fault)
    return 1 if fault or done < count else 0


@contextmanager
def _workers(batches: int, opened: Callable[[], AbstractContextManager[Judge]]) -> Iterator[list[Connection]]:
    cores = os.cpu_count() or 1
    # a fork would hold our ends of the pipes of those before it, and these would never learn that we closed them
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for number in range(cores):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(theirs, range(number, batches, cores), opened))
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


def _work(pipe: Connection, numbers: range, opened: Callable[[], AbstractContextManager[Judge]]) -> None:
    # Ctrl-C is for the parent, which closes the pipes
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with opened() as judge:
            for number in numbers:
                pipe.send(judge(number))
    except BrokenPipeError:
        pass
    finally:
        pipe.close()
