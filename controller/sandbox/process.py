"""Starting, knowing and ending operating system processes. Knows no Kubernetes.

A process is known by its pid and its start time, so that a recycled pid is never taken for the old process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import psutil

_PR_SET_PDEATHSIG = 1


class ProcessId(msgspec.Struct, frozen=True):
    """A process beyond doubt: its pid, and a text that only this life of the pid has."""

    pid: int
    birth: str

    @classmethod
    def of(cls, pid: int) -> ProcessId:
        """The process that has `pid` now; one that has ended gets an empty birth and is never alive."""
        return cls(pid, _birth(pid) or "")

    def alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        return bool(self.birth) and _birth(self.pid) == self.birth

    def send(self, number: signal.Signals) -> None:
        """Signal it if it is alive."""
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return


def _birth(pid: int) -> str | None:
    """Start of the process in clock ticks since boot, which no change of the wall clock moves; None if it is gone."""
    try:
        if sys.platform != "linux":
            process = psutil.Process(pid)
            return None if process.status() == psutil.STATUS_ZOMBIE else str(process.create_time())
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # the program's name stands in brackets and may itself hold brackets and spaces
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, psutil.Error):
        return None
    return None if fields[0] in ("Z", "X") else f"{boot}:{fields[19]}"


def spawn(
    arguments: Sequence[str], *, log: Path, folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a program that dies with this process, its output going to the end of `log`.

    Call it from the main thread: Linux binds the death signal to the thread that starts the child.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
            preexec_fn=_dying_with_parent(),  # noqa: PLW1509 - the supervisor has one thread
        )


def _dying_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    parent = os.getpid()
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask_kernel() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:  # it died before the kernel knew
            os._exit(1)

    return ask_kernel
