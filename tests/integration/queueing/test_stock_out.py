"""Stock-out and return on a real control plane: nodes that do not come, and pods that fall back."""

from __future__ import annotations

import pytest

from controller.core.keys import QUEUE_NAME
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Team, flavor_of, held_to

pytestmark = pytest.mark.integration


async def spot_whose_nodes_do_not_come_then_steady(team: Team) -> tuple[str, str]:
    capacity = {"mode": "Autoscaled", "max": {"cpu": 64}, "provisionTimeout": "8s", "coolDown": "1h"}
    labels = {TEAM_LABEL: team.id, "shape": "spot"}
    tolerations = [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]
    spot = await team.flavor("spot", nodeLabels=labels, capacity=capacity, tolerations=tolerations)
    await team.nodes("steady", cpu="8")
    steady = await team.flavor("steady")
    cpu = [{"name": "cpu", "nominalQuota": 8}]
    flavors = [
        {"name": spot, "fallbackAfter": "1h", "resources": cpu},
        {"name": steady, "resources": cpu},
    ]
    await team.make("clusterqueues", "ClusterQueue", team.full("cq"), {"namespaceSelector": {}, "flavors": flavors})
    await team.local_queue()
    return spot, steady


async def two_replicas(team: Team) -> None:
    """Pods that are made anew once they are given back."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {QUEUE_NAME: "main", "app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    path = f"/apis/apps/v1/namespaces/{team.namespace}/replicasets"
    await team.client.post(path, {"metadata": {"name": "web"}, "spec": spec})


@pytest.mark.timeout(180)
async def test_a_flavor_whose_nodes_do_not_come_gives_its_pods_back_and_they_fall_back(team: Team) -> None:
    spot, steady = await spot_whose_nodes_do_not_come_then_steady(team)
    await two_replicas(team)
    await team.pod("bare")

    async def on_spot() -> bool:
        assert [flavor_of(pod) for pod in (await team.all()).values()] == [spot] * 3
        return True

    await eventually(on_spot, message="the pods were not admitted onto the Autoscaled flavor")

    async def fallen_back() -> bool:
        pods = (await team.all()).values()
        made = [pod for pod in pods if pod["metadata"]["labels"].get("app") == "web"]
        assert [flavor_of(pod) for pod in made] == [steady] * 2
        assert all(pod["spec"].get("nodeName") for pod in made)
        # the new pods carry nothing of the flavor whose nodes did not come
        assert [held_to(pod)[::2] for pod in made] == [({TEAM_LABEL: team.id, "shape": "steady"}, set())] * 2
        return True

    await eventually(fallen_back, seconds=40, message="the pods did not fall back")
    bare = await team.get("bare")
    assert (flavor_of(bare), held_to(bare)[::2]) == (spot, ({TEAM_LABEL: team.id, "shape": "spot"}, {"spot"}))

    async def told() -> str:
        status = await team.status("resourceflavors", spot)
        dry = {c["type"]: c for c in status["conditions"]}["Dry"]
        assert (dry["status"], dry["reason"]) == ("True", "StockOut")
        assert status["dryUntil"]
        return str(dry["message"])

    said = await eventually(told, message="the flavor does not say that it is dry")
    assert said.startswith(f"no node came for pod {team.namespace}/")
    # who cannot use another flavor waits for this one
    await team.pod("picky", spec={"nodeSelector": {"shape": "spot"}})
    assert "tried again from" in await team.until_waiting("picky", "FlavorDry")
