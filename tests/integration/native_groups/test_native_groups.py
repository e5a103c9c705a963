"""Kubernetes' own PodGroups on a real control plane: Penstock and kube-scheduler agree on what a gang is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.native_groups.conftest import MEMBER, pod_group
from tests.support.command import penstock
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration


async def test_the_members_of_a_pod_group_are_released_together(team: Team) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.pod("one", spec=MEMBER)
    message = await team.until_waiting("one", "GangIncomplete")
    assert message == "PodGroup train, which its pods name in spec.schedulingGroup, does not exist; create it"
    await pod_group(team, {"gang": {"minCount": 2}})
    await team.pod("alone")
    await team.until_bound("alone")
    assert is_gated(await team.get("one"))
    await team.pod("two", spec=MEMBER)
    pods = await team.until_bound("one", "two")
    assert not any(map(is_gated, pods.values()))


async def test_more_than_the_least_may_come_and_each_goes_by_itself(team: Team) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await pod_group(team, {"gang": {"minCount": 2}})
    for name in ("one", "two", "three"):
        await team.pod(name, spec=MEMBER)
    pods = await team.until_bound("one", "two", "three")
    assert not any(map(is_gated, pods.values()))


async def test_pods_of_a_group_of_the_basic_policy_stand_alone(team: Team) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await pod_group(team, {"basic": {}})
    await team.pod("one", spec=MEMBER)
    assert not is_gated((await team.until_bound("one"))["one"])


async def test_a_snapshot_has_the_groups(team: Team, tmp_path: Path) -> None:
    """A gang is as large as its PodGroup says, which nothing but that object does."""
    await team.ready({"spot": {"cpu": 4}})
    await pod_group(team, {"gang": {"minCount": 3}})
    await team.pod("one", spec=MEMBER)
    message = await team.until_waiting("one", "GangIncomplete")
    file = str(tmp_path / "now.json")
    assert (await penstock(team.sandbox, "snapshot", "-o", file)).code == 0
    done = await penstock(team.sandbox, "replay", file, "--pod", f"{team.namespace}/one")
    assert done.output == f"{team.namespace}/one waits (GangIncomplete): {message}\n"
    assert "3" in message
