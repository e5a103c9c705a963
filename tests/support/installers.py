"""Helm and kubectl as their projects build them, for tests that install Penstock as its users do."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from controller.sandbox import Sandbox
from tests.support import go_programs
from tests.support.command import Done

_MODULE = Path(__file__).parent / "installing"
_PACKAGES = {"helm": "helm.sh/helm/v4/cmd/helm", "kubectl": "."}


def ensure() -> dict[str, Path]:
    """The programs by name, built if this version of them never was; that takes some minutes."""
    return {name: go_programs.ensure(_MODULE, name, package) for name, package in _PACKAGES.items()}


class Terminal:
    """A shell of an administrator of the sandbox, with helm, kubectl and penstock in its path, in a folder."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.folder = folder
        programs = folder / ".bin"
        programs.mkdir()
        for name, program in ensure().items():
            (programs / name).symlink_to(program)
        (programs / "penstock").symlink_to(Path(sys.executable).parent / "penstock")
        self._environment: Mapping[str, str] = {
            **os.environ,
            "PATH": os.pathsep.join((str(programs), os.environ["PATH"])),
            "KUBECONFIG": str(sandbox.kubeconfig),
            "HOME": str(folder),  # the settings and caches of whoever runs the tests are no business of theirs
        }

    async def run(self, command: str) -> Done:
        """Run a line as it stands in a document, and wait for its end."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, cwd=self.folder, env=self._environment, stdout=pipe, stderr=pipe
        )
        output, errors = await process.communicate()
        return Done(process.returncode, output.decode(), errors.decode())

    async def succeed(self, command: str) -> str:
        """Run a line that has to succeed; return what it prints."""
        done = await self.run(command)
        assert done.code == 0, f"{command}: {done.errors}"
        return done.output


if __name__ == "__main__":
    ensure()
