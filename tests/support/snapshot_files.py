"""Files of `penstock snapshot` of worlds that tests make up."""

from __future__ import annotations

from pathlib import Path

from controller.replay.as_written import as_written
from controller.replay.snapshot_file import to_bytes
from controller.simulator.filling import filled
from controller.simulator.world import World


def file_bytes(world: World) -> bytes:
    cache = filled(world)
    return to_bytes(cache.snapshot(), as_written(cache))


def a_file(folder: Path, world: World) -> str:
    file = folder / "now.json"
    file.write_bytes(file_bytes(world))
    return str(file)
