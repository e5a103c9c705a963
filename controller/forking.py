"""Work that would hold up the event loop, done by a forked copy of this process.

The copy has the memory as it is at that moment, so nothing is written and read again to hand it over, and what it
changes stays its own. It gives way to others, has a bound on its CPU time and ends with its answer. ADR 6 says why.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_NICENESS: Final = 10
_DONE, _FAILED = b"+", b"-"


class ForkError(Exception):
    """There is no answer; the text says why, as a clause."""


class Forks:
    """Copies of this process, at most so many at a time; who asks for more waits."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, work: Callable[[], bytes], *, seconds: float, cpu_seconds: int) -> bytes:
        """Return what `work` returns in a copy that is made when there is room for it.

        The work must not log, use the network, or start threads. Longer than `seconds`, or `cpu_seconds` of CPU time,
        it does not go on. Whoever cancels this ends it. Raises ForkError, also where the work raises anything.
        """
        async with self._free:
            reader, writer = os.pipe()
            try:
                child = _fork(work, writer, cpu_seconds)
            except OSError as error:
                os.close(reader)
                raise ForkError(f"this process cannot be copied: {error.strerror}") from None
            finally:
                os.close(writer)
            try:
                async with asyncio.timeout(seconds):
                    answer = await _read(reader)
            except TimeoutError:
                raise ForkError(f"it took longer than {seconds:g} s") from None
            finally:
                _end(child)
        if answer[:1] == _DONE:
            return answer[1:]
        failed = answer[1:].decode(errors="replace")
        raise ForkError(failed or f"it ended early: {cpu_seconds} s of CPU time were used up, or memory was short")


def _fork(work: Callable[[], bytes], writer: int, cpu_seconds: int) -> int:
    """Return the process id of the copy. Raises OSError."""
    with warnings.catch_warnings():
        # Python warns of locks that other threads hold: ours look up addresses or wait, and the work takes none
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _work(work, writer, cpu_seconds)
    return child


def _work(work: Callable[[], bytes], writer: int, cpu_seconds: int) -> None:
    """Do the work in the copy, write what comes of it, and end. Never returns."""
    try:
        # signals would otherwise be told to the loop of the process that was copied
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        # what is there already is not looked through for garbage: that would copy each page of it
        gc.freeze()
        answer = _DONE + work()
    except BaseException as error:  # noqa: BLE001 - the top frame of a process
        answer = _FAILED + f"{type(error).__name__}: {error}".encode()
    with suppress(BaseException), open(writer, "wb", closefd=False) as pipe:
        pipe.write(answer)
    os._exit(0)


async def _read(reader: int) -> bytes:
    """Return all that is written to a pipe, and close it."""
    stream = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(stream)
    transport, _ = await loop.connect_read_pipe(lambda: protocol, open(reader, "rb", buffering=0))  # noqa: ASYNC230 SIM115
    try:
        return await stream.read(-1)
    finally:
        transport.close()


def _end(child: int) -> None:
    """End a copy that may have ended by itself, and let a thread wait for that: it gives back its memory first."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _ = asyncio.get_running_loop().run_in_executor(None, os.waitpid, child, 0)
