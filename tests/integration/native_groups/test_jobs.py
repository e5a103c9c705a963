"""A Job that says in spec.scheduling that its pods are a gang: its PodGroup is what Penstock goes by."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration

GANG: dict[str, Any] = {"schedulingPolicy": {"gang": {}}}


async def until_made(team: Team, count: int) -> list[str]:
    async def made() -> list[str]:
        names = sorted(await team.all())
        return names if len(names) == count else []

    return await eventually(made, message=f"the Job has not made {count} pods")


async def test_the_pods_of_a_job_that_is_a_gang_go_together(team: Team) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.job("train", parallelism=3, completions=3, scheduling=GANG)
    names = await until_made(team, 3)
    pods = await team.until_bound(*names)
    assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in pods.values()} != {None}


async def test_a_job_that_is_a_gang_is_never_half_released(team: Team) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.job("train", "2", parallelism=3, completions=3, scheduling=GANG)
    names = await until_made(team, 3)
    for name in names:
        await team.until_waiting(name, "NeverFits")
    assert all(map(is_gated, (await team.all()).values()))
