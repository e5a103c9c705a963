"""Rolling updates through a queue that is full: they end or say what they wait for, and never pass the quota."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.queueing.rollouts import MAIN, Owner
from tests.support.eventually import eventually
from tests.support.team import Json, Team

pytestmark = pytest.mark.integration


def rolling(surge: int | str, unavailable: int | str) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


async def full(team: Team, plural: str, replicas: int, **options: Any) -> Owner:
    """A queue of so many cpu that an owner's pods use all of."""
    await team.ready({"spot": {"cpu": replicas}})
    owner = Owner(team, plural)
    await owner.make(replicas, **options)
    await owner.until_runs(replicas)
    return owner


# the default of two replicas: of 25 % unavailable none is left, of 25 % more one
@pytest.mark.parametrize("strategy", [rolling(1, 0), {}], ids=["surge", "default"])
async def test_a_surge_waits_for_quota_that_only_old_pods_have(team: Team, strategy: Json) -> None:
    owner = await full(team, "deployments", 2, strategy=strategy)
    await owner.update()
    text = await owner.until_waits("QuotaExceeded")
    assert "needs 1 cpu, more than is free of its quota" in text
    await team.visited()
    assert (len(await owner.pods("old")), owner.peak) == (2, 2)
    more = [{"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": 3}]}]
    await team.change("clusterqueues", team.full("cq"), {"flavors": more})
    await owner.until_runs(2, "new")
    assert owner.peak <= 3


@pytest.mark.parametrize(("change", "left"), [({"strategy": rolling(0, 1)}, 2), ({"replicas": 1}, 1)], ids=str)
async def test_a_rollout_that_waits_goes_on_without_more(team: Team, change: Json, left: int) -> None:
    owner = await full(team, "deployments", 2, strategy=rolling(1, 0))
    await owner.update()
    await owner.until_waits("QuotaExceeded")
    await owner.update(**change)
    await owner.until_runs(left, "new")
    assert owner.peak == 2


@pytest.mark.parametrize(
    "strategy", [rolling(0, 1), rolling(1, 1), rolling("25%", "25%"), {"type": "Recreate"}], ids=str
)
async def test_a_deployment_that_gives_up_pods_first_is_updated(team: Team, strategy: Json) -> None:
    owner = await full(team, "deployments", 4, strategy=strategy)
    await owner.update()
    await owner.until_runs(4, "new")
    assert owner.peak == 4


@pytest.mark.parametrize("management", ["OrderedReady", "Parallel"])
async def test_a_stateful_set_is_updated_one_by_one(team: Team, management: str) -> None:
    owner = await full(team, "statefulsets", 3, serviceName="web", podManagementPolicy=management)
    await owner.update()
    pods = await owner.until_runs(3, "new")
    assert sorted(pod["metadata"]["name"] for pod in pods) == ["web-0", "web-1", "web-2"]
    assert owner.peak == 3


async def test_a_place_that_a_rollout_gives_up_goes_to_who_is_next(team: Team) -> None:
    owner = await full(team, "deployments", 2, strategy=rolling(0, 1))
    await team.pod("older", "1")
    await team.until_waiting("older", "QuotaExceeded")
    await owner.update()
    await team.until_bound("older")
    await owner.until_waits("QuotaExceeded")
    assert len(await owner.pods("old")) == 1
    await team.delete("older")
    await owner.until_runs(2, "new")
    assert owner.peak == 2


async def test_sidecars_are_charged_and_their_pods_are_updated(team: Team) -> None:
    half = {"image": "none", "resources": {"requests": {"cpu": "500m"}}}
    sidecar = {"name": "proxy", "restartPolicy": "Always", **half}
    # before the sidecar starts, less is requested than afterwards
    first = {"name": "first", "image": "none", "resources": {"requests": {"cpu": "1200m"}}}
    pod = {"initContainers": [first, sidecar], "containers": [MAIN]}
    await team.ready({"spot": {"cpu": 3}})
    owner = Owner(team, "deployments")
    await owner.make(2, pod, strategy=rolling(0, 1))
    await owner.until_runs(2)

    async def charged() -> bool:
        (flavor,) = (await team.status("clusterqueues", team.full("cq")))["flavorsUsage"]
        return bool(flavor["resources"][0]["total"] == "3")

    await eventually(charged, message="the queue is not charged with 1500m cpu for each pod")
    await owner.update()
    await owner.until_runs(2, "new")
    assert owner.peak == 2
    await team.pod("small", "1m")
    assert "needs 1m cpu" in await team.until_waiting("small", "QuotaExceeded")
