"""The objects that a page of the documentation shows, as people copy them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_DOCS = Path(__file__).resolve().parents[2] / "docs"


def shown(page: str, kind: str) -> dict[str, Any]:
    """The object of this kind on a page, which has one alone. A part of a file, such as `patches`, is no object."""
    blocks = (_DOCS / page).read_text("utf-8").split("```yaml\n")[1:]
    found = [yaml.safe_load(block.partition("```")[0]) for block in blocks]
    (one,) = [block for block in found if block.get("kind") == kind]
    return dict(one)
