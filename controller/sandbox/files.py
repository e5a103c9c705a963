"""Writing files that hold secrets or are read while being written. Knows nothing of what is in them."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def write_private(path: Path, data: bytes) -> Path:
    """Replace `path` in one step, readable by its owner only; a reader sees the old or the new text, never half."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    draft.replace(path)
    return path


def make_private_folder(path: Path) -> Path:
    """Create `path` and what is missing above it, readable by its owner only."""
    path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    return path
