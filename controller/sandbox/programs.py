"""Penstock's own two programs as child processes: started, awaited, stopped, with their logs in files.

They die with the process that starts them. What they run against is `installation`'s business.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from controller.kube import clock
from controller.sandbox import probe, process
from controller.sandbox.errors import SandboxError

_READY_SECONDS = 60.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.1
_SHOWN_LINES = 15


class Program:
    """One program, `python -m <module>`. Ports are its own choice; it says in its log which it took."""

    def __init__(self, module: str, arguments: Sequence[str], log: Path) -> None:
        self.name = module
        self.log = log
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """Its process. Raises RuntimeError when it was never started."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process

    @property
    def exit_code(self) -> int | None:
        """What it ended with; None while it runs, and when it was never started."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        """Start it; its log goes on where an earlier run ended."""
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        command = [sys.executable, "-m", self.name, "--log-format", "json", *self._arguments]
        # the programs must be found from any folder: an installed wheel or this checkout
        root = str(Path(__file__).resolve().parents[2])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
        self._process = process.spawn(command, log=self.log, folder=self.log.parent, environment=environment)

    async def wait_ready(self) -> None:
        """Wait until it serves and is ready. Raises SandboxError with the end of its log when it does not get there."""
        deadline = clock.monotonic() + _READY_SECONDS
        trouble: str | None = "it has not said yet where it listens"
        while clock.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SandboxError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")
            port = self.port("http")
            if port is not None:
                trouble = await asyncio.to_thread(probe.trouble, f"http://127.0.0.1:{port}/readyz")
                if trouble is None:
                    return
            await asyncio.sleep(_POLL_SECONDS)
        raise SandboxError(f"{self.name} is not ready after {_READY_SECONDS:g} s ({trouble}):\n{self.tail()}")

    def port(self, what: str) -> int | None:
        """Return the port of its `what` listener ("http", "reviews"), once it has logged it."""
        for line in self._lines():
            if b'"listening"' in line:
                entry = orjson.loads(line)
                if entry.get("what") == what:
                    return int(entry["port"])
        return None

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    async def stop(self) -> int:
        """Ask it to end, insist after a while; return its exit code (0 when it was never started)."""
        if self._process is None:
            return 0
        running = self._process
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
            try:
                await asyncio.to_thread(running.wait, _STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        return running.returncode

    def tail(self) -> str:
        """The end of its log, for error messages."""
        return b"\n".join(self._lines()[-_SHOWN_LINES:]).decode("utf-8", "replace")

    def _lines(self) -> list[bytes]:
        with self.log.open("rb") as file:
            file.seek(self._log_start)
            return file.read().splitlines()
