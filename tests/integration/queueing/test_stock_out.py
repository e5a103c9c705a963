"""Stock-out and return on a real control plane: nodes that do not come, and pods that fall back."""

from __future__ import annotations

import pytest

from controller.core.keys import ADMITTED_AT, QUEUE_NAME
from controller.kube.clock import epoch
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Team, flavor_of, held_to, is_gated

pytestmark = pytest.mark.integration


async def spot_whose_nodes_do_not_come_then_steady(team: Team, cool_down: str = "1h") -> tuple[str, str]:
    capacity = {"mode": "Autoscaled", "max": {"cpu": 64}, "provisionTimeout": "8s", "coolDown": cool_down}
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


async def test_a_flavor_without_nodes_returns_pods_that_fall_back(team: Team) -> None:
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

    said, _ = await until_dry(team, spot)
    assert said.startswith(f"no node came for pod {team.namespace}/")
    # who cannot use another flavor waits for this one
    await team.pod("picky", spec={"nodeSelector": {"shape": "spot"}})
    assert "tried again from" in await team.until_waiting("picky", "FlavorDry")


async def test_a_dry_flavor_is_tried_again_after_its_cool_down(team: Team) -> None:
    spot, steady = await spot_whose_nodes_do_not_come_then_steady(team, cool_down="40s")
    await team.pod("early")
    _, until = await until_dry(team, spot)
    # others have the next flavor at once meanwhile, though `fallbackAfter` is an hour
    await team.pod("meanwhile")
    assert flavor_of((await team.until_bound("meanwhile"))["meanwhile"]) == steady
    await team.pod("picky", spec={"nodeSelector": {"shape": "spot"}})
    assert "tried again from" in await team.until_waiting("picky", "FlavorDry")
    await team.nodes("spot", cpu="8", taints=("spot=true:NoSchedule",))
    # who was admitted to it before runs when nodes come; who waits does so until the time is over
    pods = await team.until_bound("early")
    assert (flavor_of(pods["early"]), is_gated(pods["picky"])) == (spot, True)

    picky = (await team.until_bound("picky", seconds=90))["picky"]
    assert (flavor_of(picky), picky["spec"]["nodeName"].startswith(team.full("spot"))) == (spot, True)
    assert epoch(picky["metadata"]["annotations"][ADMITTED_AT]) >= until
    await team.pod("late")
    assert flavor_of((await team.until_bound("late"))["late"]) == spot

    async def forgotten() -> bool:
        return "Dry" not in {c["type"] for c in (await team.status("resourceflavors", spot))["conditions"]}

    await eventually(forgotten, message="the flavor says yet that it is dry")


async def until_dry(team: Team, flavor: str) -> tuple[str, float]:
    """Wait until the flavor says that it is dry; return why, and until when."""

    async def told() -> tuple[str, float]:
        status = await team.status("resourceflavors", flavor)
        dry = {c["type"]: c for c in status["conditions"]}["Dry"]
        assert (dry["status"], dry["reason"]) == ("True", "StockOut")
        return str(dry["message"]), epoch(status["dryUntil"])

    return await eventually(told, message="the flavor does not say that it is dry")
