"""Two wheels of one tree are the same bytes, wherever and whenever they are built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
_PARTS = ("pyproject.toml", "README.md", "LICENSE", "config", "controller", "webhook")


def built(folder: Path, at: int) -> bytes:
    """The wheel of a copy of the sources whose files were all changed at a time, epoch seconds."""
    for name in _PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "static"))
        else:
            folder.mkdir(exist_ok=True)
            shutil.copy(source, folder)
    for path in folder.rglob("*"):
        os.utime(path, (at, at))
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=100, check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel.read_bytes()


def test_two_wheels_of_one_tree_are_identical(tmp_path: Path) -> None:
    assert built(tmp_path / "one", 1_700_000_000) == built(tmp_path / "two", 1_780_000_000)
