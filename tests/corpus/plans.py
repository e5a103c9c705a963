"""The snapshots of this folder, and what is decided on each: a plan in names, as it is stored beside the snapshot."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from controller.core.decision.decide import decide
from controller.core.snapshot import Snapshot
from controller.replay.packing import unpacked
from controller.replay.plan_document import Json, plan_document
from controller.replay.snapshot_file import from_bytes

FOLDER: Final = Path(__file__).parent
_SNAPSHOT, _PLAN = ".json.gz", ".plan.json"


def names() -> list[str]:
    """What the snapshots are called."""
    return sorted(file.name.removesuffix(_SNAPSHOT) for file in FOLDER.glob(f"*{_SNAPSHOT}"))


def snapshot_file(name: str) -> Path:
    """Where the snapshot is."""
    return FOLDER / f"{name}{_SNAPSHOT}"


def read(name: str) -> Snapshot:
    """Read a snapshot."""
    return from_bytes(unpacked(snapshot_file(name).read_bytes()))


def planned(snapshot: Snapshot) -> Json:
    """Decide, and write what comes of it."""
    return plan_document(snapshot, decide(snapshot, limit=sys.maxsize))


def expected(name: str) -> Json:
    """Return the plan that is stored."""
    found: Json = orjson.loads(_plan_file(name).read_bytes())
    return found


def write_plans() -> Iterator[str]:
    """Store what is decided on each; yield what is new or changed."""
    for name in names():
        written = orjson.dumps(planned(read(name)), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        file = _plan_file(name)
        if not file.exists() or file.read_bytes() != written:
            file.write_bytes(written)
            yield name


def _plan_file(name: str) -> Path:
    return FOLDER / f"{name}{_PLAN}"
