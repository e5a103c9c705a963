"""Programs of Go modules of the tests, each built once for every version of its module."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

from controller.sandbox import gobuild, toolchain
from controller.sandbox.layout import cache_folder
from controller.sandbox.progress import Progress


def ensure(module: Path, name: str, package: str) -> Path:
    """The program of a package, built in the module of this folder if this version of it never was: minutes."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(module.iterdir()))).hexdigest()[:8]
    folder = cache_folder() / f"{name}-{platform.system()}-{platform.machine()}-{digest}".lower()
    program = folder / name
    if not program.exists():
        progress = Progress()
        with gobuild.one_builder(folder, progress):
            if not program.exists():
                gobuild.build(toolchain.go(folder.parent, progress), module, package, program, progress=progress)
    return program
