"""The command `penstock` as a process of its own: its exit code and what it says."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from controller.sandbox import Sandbox

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int | None
    output: str
    errors: str


async def penstock(sandbox: Sandbox, *arguments: str) -> Done:
    """Run `penstock` for the administrator of the sandbox."""
    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, "KUBECONFIG": str(sandbox.kubeconfig)}
    command = [sys.executable, "-m", "controller.cli", *arguments]
    process = await asyncio.create_subprocess_exec(*command, cwd=_ROOT, env=environment, stdout=pipe, stderr=pipe)
    output, errors = await process.communicate()
    return Done(process.returncode, output.decode(), errors.decode())
