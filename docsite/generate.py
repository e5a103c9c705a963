"""`python -m docsite.generate`: write docs/reference and docs/pictures from the code. `make generate` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from docsite.pictures import pictures
from docsite.reference import commands, custom_resources, metrics, reasons, settings
from docsite.staging import ROOT

DOCS = ROOT / "docs"


def render() -> dict[str, str]:
    """The text of every written file, by its path below docs/."""
    pages = {
        **custom_resources.pages(),
        "commands.md": commands.page(),
        "metrics.md": metrics.page(),
        "reasons.md": reasons.page(),
        "settings.md": settings.page(),
    }
    return {
        **{f"reference/{name}": text for name, text in pages.items()},
        **{f"pictures/{name}": text for name, text in pictures().items()},
    }


def write(destination: Path = DOCS) -> list[Path]:
    """Write every file, and delete those that are no longer written; return the files written."""
    files = render()
    for folder in ("reference", "pictures"):
        for stale in (destination / folder).glob("*"):
            if f"{folder}/{stale.name}" not in files:
                stale.unlink()
    for name, text in files.items():
        (destination / name).parent.mkdir(parents=True, exist_ok=True)
        (destination / name).write_text(text, encoding="utf-8")
    return [destination / name for name in files]


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in write())
