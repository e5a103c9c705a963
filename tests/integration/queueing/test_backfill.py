"""Backfill on a real control plane: a large pod has a reservation, short ones pass it, long ones do not."""

from __future__ import annotations

from re import search

import pytest

from controller.core.keys import EXPECTED_RUNTIME
from controller.kube.clock import epoch, now
from tests.support.eventually import eventually
from tests.support.team import Team, condition_of, is_gated

pytestmark = pytest.mark.integration

MINUTE = 60


async def runs_for(team: Team, name: str, cpu: str, runtime: str) -> None:
    await team.pod(name, cpu, annotations={EXPECTED_RUNTIME: runtime})


def kept_from(message: str) -> float:
    """When the reservation begins that a condition tells of, epoch seconds."""
    found = search(r"from (\S+Z) on", message)
    assert found is not None, message
    return epoch(found[1])


@pytest.mark.timeout(120)
async def test_short_pods_pass_a_large_one_and_long_ones_do_not(team: Team) -> None:
    await team.ready({"spot": {"cpu": 8}}, queueingStrategy="Backfill")
    await runs_for(team, "running", "5", "1h")
    await team.until_bound("running")
    await runs_for(team, "large", "6", "2h")
    await team.looked_at()
    await runs_for(team, "long", "3", "2h")
    kept = kept_from(await team.until_waiting("long", "WouldDelay"))
    assert 50 * MINUTE < kept - now() <= 60 * MINUTE
    message = await team.until_waiting("large", "QuotaExceeded")
    assert kept_from(message) == kept, message
    await runs_for(team, "short", "1", "10m")
    await runs_for(team, "beside", "2", "20h")
    await team.until_bound("short", "beside")
    await team.end("running")
    await team.until_waiting("large", "QuotaExceeded")
    await team.end("short")
    await team.until_bound("large")
    assert is_gated(await team.get("long"))


@pytest.mark.timeout(120)
async def test_deadlines_are_runtimes_and_unreadable_ones_are_none(team: Team) -> None:
    await team.ready({"spot": {"cpu": 4}}, queueingStrategy="Backfill")
    await team.job("first", "3", activeDeadlineSeconds=1800)

    async def started() -> bool:
        return any("startTime" in pod["status"] for pod in (await team.all()).values())

    await eventually(started, seconds=30, message="the Job's pod did not start")
    await team.pod("large", "4")
    await team.looked_at()
    await team.pod("unknown", annotations={EXPECTED_RUNTIME: "soon"})
    kept = kept_from(await team.until_waiting("unknown", "WouldDelay"))
    assert 20 * MINUTE < kept - now() <= 30 * MINUTE
    condition = condition_of(await team.get("unknown"))
    assert condition is not None
    assert f"nobody knows how long it runs: set {EXPECTED_RUNTIME}" in condition["message"]
    await team.pod("bounded", spec={"activeDeadlineSeconds": 600})
    await team.until_bound("bounded")
