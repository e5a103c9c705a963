"""How pods come to one of several flavors, on a real control plane."""

from __future__ import annotations

import pytest

from tests.support.team import TEAM_LABEL, Team, flavor_of

pytestmark = pytest.mark.integration


async def test_of_a_mixed_queue_the_first_pods_run_on_demand_and_of_the_rest_half_on_spot(team: Team) -> None:
    for shape, kind in (("spot", "Spot"), ("steady", "OnDemand")):
        await team.nodes(shape, cpu="8")
        await team.flavor(shape, nodeLabels={TEAM_LABEL: team.id, "shape": shape}, capacityType=kind)
    quotas = {"spot": {"cpu": 8}, "steady": {"cpu": 8}}
    await team.cluster_queue(quotas, onDemandBase=1, spotPercent=50)
    await team.local_queue()
    pods = await team.until_bound(*await team.pods(5))
    assert sorted(str(flavor_of(pod)) for pod in pods.values()) == [team.full("spot")] * 2 + [team.full("steady")] * 3

    await team.pod("cheap", spec={"nodeSelector": {TEAM_LABEL: team.id, "shape": "spot"}})
    said = await team.until_waiting("cheap", "MixLimit")
    assert f"needs 1 more pod of ClusterQueue {team.full('cq')} on-demand first: 2 of its 5 are on spot" in said
    await team.pod("sure", spec={"nodeSelector": {TEAM_LABEL: team.id, "shape": "steady"}})
    await team.until_bound("sure", "cheap")
