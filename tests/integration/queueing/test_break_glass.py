"""What the break-glass group does past the queue is charged as it is; the queue says when it is over its quota."""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson
import pytest

from controller.core.keys import BREAK_GLASS, GATE
from controller.kube.client import STRATEGIC_PATCH
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Reply, impersonation
from tests.support.team import OURS, TEAM_LABEL, Team, is_gated

pytestmark = pytest.mark.integration

ADMINISTRATOR = Identity("jane", ("system:masters", "system:authenticated"))
BREAKING_GLASS = Identity("jane", ("system:masters", "system:authenticated", BREAK_GLASS))


NOWHERE = {"nodeSelector": {TEAM_LABEL: "nobody"}}
"""Keeps pods from nodes: fake ones do not say that they can resize."""


async def edit(cluster: Cluster, who: Identity, path: str, spec: dict[str, Any]) -> Reply:
    async with impersonation(cluster.sandbox) as apiserver:
        return await apiserver.send(who, "PATCH", path, {"spec": spec}, content_type=STRATEGIC_PATCH)


async def resize(cluster: Cluster, team: Team, who: Identity, name: str, cpu: str) -> Reply:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    return await edit(cluster, who, f"{team.pods_path}/{name}/resize", {"containers": containers})


async def released(team: Team, name: str) -> bool:
    return not is_gated(await team.get(name))


async def over_quota(team: Team) -> dict[str, Any] | None:
    queue = orjson.loads(await team.client.get(f"{OURS}/clusterqueues/{team.full('cq')}"))
    conditions = queue.get("status", {}).get("conditions", ())
    return next((dict(one) for one in conditions if one["type"] == "OverQuota"), None)


async def test_what_break_glass_lets_grow_is_charged_and_shown(team: Team, cluster: Cluster) -> None:
    await team.flavor("spot", capacity={"mode": "Static", "static": {"cpu": 8}})
    await team.cluster_queue({"spot": {"cpu": 2}})
    await team.local_queue()
    await team.pod("one", "2", spec=NOWHERE)
    await eventually(partial(released, team, "one"), message="the first pod is not admitted")
    assert (await resize(cluster, team, ADMINISTRATOR, "one", "3")).code == 403
    assert await over_quota(team) is None

    assert (await resize(cluster, team, BREAKING_GLASS, "one", "3")).code == 200

    async def shown() -> bool:
        condition = await over_quota(team)
        assert condition is not None
        assert (condition["status"], condition["reason"]) == ("True", "UsageAboveQuota")
        assert f"flavor {team.full('spot')}: 3 of 2 cpu" in condition["message"]
        return True

    await eventually(shown, message="the queue does not say that it is over its quota")
    assert is_gated(await team.pod("two", "1", spec=NOWHERE))
    await team.until_waiting("two", "QuotaExceeded")

    assert (await resize(cluster, team, ADMINISTRATOR, "one", "1")).code == 200

    async def gone() -> bool:
        return await over_quota(team) is None

    await eventually(gone, message="the queue still says that it is over its quota")
    await eventually(partial(released, team, "two"), message="what was given back is not used")


async def test_break_glass_pods_are_charged_by_their_label(team: Team, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 8}}, stopPolicy="Hold")
    await team.pod("one", "2")
    opened = {"schedulingGates": [{"name": GATE, "$patch": "delete"}]}
    path = f"{team.pods_path}/one"
    assert (await edit(cluster, ADMINISTRATOR, path, opened)).code == 403
    assert (await edit(cluster, BREAKING_GLASS, path, opened)).code == 200
    await team.until_bound("one")

    async def charged() -> bool:
        (flavor,) = (await team.status("clusterqueues", team.full("cq")))["flavorsUsage"]
        return bool(flavor["resources"][0]["total"] == "2")

    await eventually(charged, message="the pod is not charged")
