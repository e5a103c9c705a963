"""The snapshots that are written from scenarios: the world right before a step's decision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from controller.replay.as_written import as_written
from controller.replay.packing import packed
from controller.replay.snapshot_file import to_bytes
from tests.corpus.plans import snapshot_file
from tests.scenarios.model import load
from tests.scenarios.play import before

_SCENARIOS: Final = Path(__file__).parents[1] / "scenarios"
_STEPS: Final = (
    ("backfill/other-queues", 2),
    ("fair-sharing/preemption", 2),
    ("gangs/order", 2),
    ("mix/gang", 3),
    ("preemption/when-can-preempt", 2),
    ("topology/slices", 6),
)


def write_snapshots() -> Iterator[str]:
    """Write each anew; yield its name."""
    for scenario, step in _STEPS:
        cluster = before(load(_SCENARIOS / f"{scenario}.yaml"), step).cluster
        cluster.cache.advance(cluster.now)
        name = f"scenario-{scenario.replace('/', '-')}"
        snapshot_file(name).write_bytes(packed(to_bytes(cluster.cache.snapshot(), as_written(cluster.cache))))
        yield name
