"""Runs a long command and shows on stderr that it lives: one line that changes on a terminal, lines elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from controller.kube import clock

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 30.0


class Progress:
    """Says what happens, how long it has taken, and when it is done."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()

    def say(self, text: str) -> None:
        """Write one line."""
        self._stream.write(text + "\n")
        self._stream.flush()

    def run(
        self,
        label: str,
        arguments: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        folder: Path | None = None,
    ) -> int:
        """Run a command to its end, its output going into `log`; return its exit code.

        The command is ended when this is interrupted.
        """
        started = clock.monotonic()
        self._show(f"{label} ...", final=not self._live)
        with log.open("wb") as output:
            child = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=dict(environment), cwd=folder
            )
        try:
            while (code := self._wait(child)) is None:
                self._show(f"{label} ... {_elapsed(started)}", final=not self._live)
        except BaseException:
            child.terminate()
            child.wait()
            raise
        self._show(f"{label}: {'done' if code == 0 else 'failed'} after {_elapsed(started)}", final=True)
        return code

    def _wait(self, child: subprocess.Popen[bytes]) -> int | None:
        try:
            return child.wait(_TERMINAL_SECONDS if self._live else _LOG_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def _show(self, text: str, *, final: bool) -> None:
        if self._live:
            # back to the start of the line, and clear what stood there
            self._stream.write(f"\r\x1b[K{text}" + ("\n" if final else ""))
            self._stream.flush()
        elif final:
            self.say(text)


def _elapsed(started: float) -> str:
    seconds = int(clock.monotonic() - started)
    return f"{seconds // 60}m{seconds % 60:02d}s" if seconds >= 60 else f"{seconds}s"
