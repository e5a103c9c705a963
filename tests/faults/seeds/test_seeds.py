"""Whatever goes wrong, by seeds: every promise holds, and all work is done at last.

`make faults SEEDS=200` tries many; `FIRST=` says where to begin.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.seeds.jumping import CLOCK
from tests.faults.seeds.run import Run
from tests.faults.seeds.script import draw
from tests.support.clusters import Cluster
from tests.support.team import Team

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

SEEDS, FIRST = "PENSTOCK_FAULT_SEEDS", "PENSTOCK_FAULT_FIRST"
_FEW = 3


def seeds() -> range:
    """Which seeds are tried."""
    first = int(os.environ.get(FIRST) or 0)
    return range(first, first + int(os.environ.get(SEEDS) or _FEW))


@pytest.mark.parametrize("seed", seeds())
async def test_promises_hold(
    cluster: Cluster, team: Team, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    monkeypatch.setenv(CLOCK, str(clock))
    script = draw(seed)
    (tmp_path / "script").write_text(str(script))
    assert await Run(cluster, team, script, tmp_path, clock).violations() == [], f"{script}\nlogs: {tmp_path}"
