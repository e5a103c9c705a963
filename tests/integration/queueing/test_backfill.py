"""Backfill on a real control plane: a large pod has a reservation, short ones pass it, long ones do not."""

from __future__ import annotations

from pathlib import Path
from re import search

import pytest

from controller.core.keys import EXPECTED_RUNTIME
from controller.kube.clock import epoch, now
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Team, condition_of, is_gated

pytestmark = pytest.mark.integration

MINUTE = 60


async def runs_for(team: Team, name: str, cpu: str, runtime: str) -> None:
    await team.pod(name, cpu, annotations={EXPECTED_RUNTIME: runtime})


async def kept_from(team: Team, name: str, folder: Path) -> float:
    """When the reservation begins for which a pod waits, or that it has, epoch seconds, as `penstock replay` says."""
    file = str(folder / "now.json")
    assert (await penstock(team.sandbox, "snapshot", "-o", file)).code == 0
    done = await penstock(team.sandbox, "replay", file, "--pod", f"{team.namespace}/{name}")
    found = search(r"from (\S+Z) on", done.output)
    assert found is not None, done.output
    return epoch(found[1])


async def test_short_pods_pass_a_large_one_and_long_ones_do_not(team: Team, tmp_path: Path) -> None:
    await team.ready({"spot": {"cpu": 8}}, queueingStrategy="Backfill")
    await runs_for(team, "running", "5", "1h")
    await team.until_bound("running")
    await runs_for(team, "large", "6", "2h")
    await team.visited()
    await runs_for(team, "long", "3", "2h")
    message = await team.until_waiting("long", "WouldDelay")
    kept_for = f"kept for the first of ClusterQueue {team.full('cq')}; it is expected to run 2h"
    assert message == f"flavor {team.full('spot')}: needs 3 cpu, more than is left without what is {kept_for}"
    kept = await kept_from(team, "long", tmp_path)
    assert 50 * MINUTE < kept - now() <= 60 * MINUTE
    await team.until_waiting("large", "QuotaExceeded")
    assert await kept_from(team, "large", tmp_path) == kept
    await runs_for(team, "short", "1", "10m")
    await runs_for(team, "beside", "2", "20h")
    await team.until_bound("short", "beside")
    await team.end("running")
    await team.until_waiting("large", "QuotaExceeded")
    await team.end("short")
    await team.until_bound("large")
    assert is_gated(await team.get("long"))


async def test_deadlines_are_runtimes_and_unreadable_ones_are_none(team: Team, tmp_path: Path) -> None:
    await team.ready({"spot": {"cpu": 4}}, queueingStrategy="Backfill")
    await team.job("first", "3", activeDeadlineSeconds=1800)

    async def started() -> bool:
        return any("startTime" in pod["status"] for pod in (await team.all()).values())

    await eventually(started, seconds=30, message="the Job's pod did not start")
    await team.pod("large", "4")
    await team.visited()
    await team.pod("unknown", annotations={EXPECTED_RUNTIME: "soon"})
    await team.until_waiting("unknown", "WouldDelay")
    kept = await kept_from(team, "unknown", tmp_path)
    assert 20 * MINUTE < kept - now() <= 30 * MINUTE
    condition = condition_of(await team.get("unknown"))
    assert condition is not None
    assert f"its runtime is not known: set {EXPECTED_RUNTIME}" in condition["message"]
    await team.pod("bounded", spec={"activeDeadlineSeconds": 600})
    await team.until_bound("bounded")
