"""Spot first, then on-demand by timer, on a real control plane."""

from __future__ import annotations

import pytest

from controller.kube import clock
from tests.support.team import TEAM_LABEL, Team, flavor_of, held_to

pytestmark = pytest.mark.integration


async def test_a_pod_without_spot_goes_on_demand_in_time(team: Team) -> None:
    for shape in ("spot", "steady"):
        await team.nodes(shape, cpu="2")
        tolerations = [{"key": shape, "operator": "Exists", "effect": "NoSchedule"}]
        await team.flavor(shape, nodeLabels={TEAM_LABEL: team.id, "shape": shape}, tolerations=tolerations)
    cpu = [{"name": "cpu", "nominalQuota": 8}]
    flavors = [
        {"name": team.full("spot"), "fallbackAfter": "30s", "resources": cpu},
        {"name": team.full("steady"), "resources": cpu},
    ]
    await team.make("clusterqueues", "ClusterQueue", team.full("cq"), {"namespaceSelector": {}, "flavors": flavors})
    await team.local_queue()
    await team.pod("first", "2")
    await team.until_bound("first")
    created = clock.epoch((await team.pod("second", "2"))["metadata"]["creationTimestamp"])
    said = await team.until_waiting("second", "NoCapacity")
    at = clock.rfc3339(created + 30)
    assert said.endswith(f"; flavor {team.full('steady')}: tried from {at} on"), said
    # who chooses on-demand himself need not wait
    await team.pod("third", "1m", spec={"nodeSelector": {TEAM_LABEL: team.id, "shape": "steady"}})
    await team.until_bound("third")
    await team.end("third")

    pods = await team.until_bound("second", seconds=90)
    assert {name: flavor_of(pod) for name, pod in pods.items()} == {
        "first": team.full("spot"),
        "second": team.full("steady"),
        "third": team.full("steady"),
    }
    for name, shape in (("first", "spot"), ("second", "steady")):
        # of what the flavors ask for, and tolerate, only that of the one it was given
        selector, affinity, tolerated = held_to(pods[name])
        assert (selector, tolerated) == ({TEAM_LABEL: team.id, "shape": shape}, {shape})
        assert "requiredDuringSchedulingIgnoredDuringExecution" not in affinity.get("nodeAffinity", {})
    released = clock.epoch(pods["second"]["metadata"]["annotations"]["penstock.dev/admitted-at"])
    assert 0 <= released - (created + 30) < 5, released - created
