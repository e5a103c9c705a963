"""What tests of the sandbox itself need: the command line as a process, and looking for processes left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

_ROOT = Path(__file__).parent.parent.parent
_PATIENCE_SECONDS = 180  # the machine may be busy with the rest of the tests


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class CommandLine:
    """`penstock` with a state folder of its own, so that it cannot see or end other sandboxes."""

    state: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "controller.cli", *arguments],
            cwd=_ROOT,
            env={**os.environ, "XDG_STATE_HOME": str(self.state), "COLUMNS": "200"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> Answer:
        """What it answers; one that does not end is ended, and what it said so far fails the test."""
        child = self.start(*arguments)
        try:
            out, err = child.communicate(timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            child.terminate()
            out, err = child.communicate(timeout=_PATIENCE_SECONDS)
            raise AssertionError(f"penstock {arguments[0]} did not end:\n{out}\n{err}") from None
        return Answer(child.returncode, out, err)

    def processes(self) -> list[str]:
        """Names of all processes of its sandboxes, supervisors included."""
        return [process.name() for process in _running() if str(self.state) in _command(process)]

    def folder(self, name: str) -> Path:
        return self.state / "penstock" / "sandboxes" / name


def a_pod(name: str, **annotations: str) -> dict[str, Any]:
    """A pod that any node takes; annotations are written with _ for -."""
    written = {key.replace("_", "-"): value for key, value in annotations.items()}
    return {
        "metadata": {"name": name, "annotations": written},
        "spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"},
    }


def _running() -> list[psutil.Process]:
    return [process for process in psutil.process_iter() if _command(process)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
