"""`python -m controller.api.generate`: write config/crd from the models. `make generate` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from controller.api.crd import render_files

DESTINATION = Path(__file__).resolve().parents[2] / "config" / "crd"


def write(destination: Path = DESTINATION) -> list[Path]:
    """Write every file of config/crd and delete those that no kind stands for; return the files written."""
    destination.mkdir(parents=True, exist_ok=True)
    files = render_files()
    for stale in destination.glob("*.yaml"):
        if stale.name not in files:
            stale.unlink()
    written = []
    for name, text in files.items():
        path = destination / name
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in write())
