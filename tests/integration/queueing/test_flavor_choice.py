"""How pods come to one of several flavors, on a real control plane."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import (
    FLAVORS,
    PLANNED_NODE,
    POD_GROUP,
    POD_GROUP_SIZE,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGY,
)
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Team, flavor_of

pytestmark = pytest.mark.integration


async def test_a_mixed_queue_splits_pods_by_base_and_percentage(team: Team) -> None:
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
    assert f"needs more pods of ClusterQueue {team.full('cq')} on-demand first" in said
    await team.pod("sure", spec={"nodeSelector": {TEAM_LABEL: team.id, "shape": "steady"}})
    await team.until_bound("sure", "cheap")


async def test_a_pod_open_to_all_flavors_is_counted_where_it_lands(team: Team) -> None:
    for shape in ("spot", "steady"):
        await team.nodes(shape, cpu="4")
        await team.flavor(shape)
    await team.cluster_queue({"spot": {"cpu": 4}, "steady": {"cpu": 4}}, flavorMode="Any")
    await team.local_queue()
    pods = await team.until_bound(*await team.pods(2, "2"))
    names = f"{team.full('spot')},{team.full('steady')}"
    assert {pod["metadata"]["annotations"][FLAVORS] for pod in pods.values()} == {names}
    assert {flavor_of(pod) for pod in pods.values()} == {None}
    affinity = pods["pod-0"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "shape", "operator": "In", "values": ["spot", "steady"]}]
    await eventually(lambda: _used(team, {"spot": "4", "steady": "0"}), message="usage is not where the pods are")

    # the scheduler has its own mind: what is open to the next pod, it may put elsewhere than we planned
    await team.pod("third", "1")
    await team.until_bound("third")
    await eventually(lambda: _used(team, {"spot": "4", "steady": "1"}), message="usage is not where the pods are")


async def _used(team: Team, expected: dict[str, str]) -> bool:
    status = await team.status("clusterqueues", team.full("cq"))
    found = {flavor["name"]: flavor["resources"][0]["total"] for flavor in status.get("flavorsUsage", ())}
    assert found == {team.full(name): amount for name, amount in expected.items()}
    return True


async def test_a_gang_stays_in_one_zone_and_so_do_its_new_pods(team: Team) -> None:
    for zone, count in (("a", 3), ("b", 2)):
        await team.nodes(zone, count=count, cpu="2", labels={"zone": zone, "pool": "all"})
    await team.flavor("all", nodeLabels={TEAM_LABEL: team.id, "pool": "all"})
    await team.cluster_queue({"all": {"cpu": 64}})
    await team.local_queue()
    gang: dict[str, Any] = {
        "labels": {POD_GROUP: "train"},
        "annotations": {POD_GROUP_SIZE: "4", REQUIRED_TOPOLOGY: "zone"},
    }
    pods = await team.until_bound(*await team.pods(4, "1", **gang))
    nodes = {pod["spec"]["nodeName"] for pod in pods.values()}
    assert nodes == {f"{team.full('b')}-{number}" for number in range(2)}, nodes

    await team.delete("pod-0")
    await team.pod("again", "1", **gang)
    found = await team.until_bound("again")
    assert found["again"]["spec"]["nodeName"] in nodes
    affinity = found["again"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "zone", "operator": "In", "values": ["b"]}]


async def test_each_slice_has_one_rack_and_new_pods_go_back_there(team: Team) -> None:
    for rack, count in (("a", 1), ("b", 2)):
        await team.nodes(rack, count=count, cpu="3", labels={"rack": rack, "pool": "all"})
    await team.flavor("all", nodeLabels={TEAM_LABEL: team.id, "pool": "all"})
    await team.cluster_queue({"all": {"cpu": 64}})
    await team.local_queue()
    notes = {POD_GROUP_SIZE: "8", SLICE_TOPOLOGY: "rack", SLICE_SIZE: "2"}
    gang: dict[str, Any] = {"labels": {POD_GROUP: "train"}, "annotations": notes}
    pods = await team.until_bound(*await team.pods(8, "1", **gang))
    racks = {name: pod["spec"]["nodeName"].removeprefix(f"{team.id}-")[0] for name, pod in pods.items()}
    assert [racks[f"pod-{number}"] for number in range(8)] == ["b"] * 6 + ["a"] * 2

    await team.delete("pod-6")
    await team.pod("again", "1", **gang)
    found = await team.until_bound("again")
    affinity = found["again"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "rack", "operator": "In", "values": ["a"]}]


async def test_without_pin_the_node_is_noted_and_packing_decides(team: Team) -> None:
    for name, cpu in (("small", "4"), ("large", "8")):
        await team.nodes(name, cpu=cpu, labels={"pool": "all"})
    labels = {TEAM_LABEL: team.id, "pool": "all"}
    await team.flavor("all", nodeLabels=labels, capacity={"packing": "MostFree"})
    await team.cluster_queue({"all": {"cpu": 64}}, pin="None")
    await team.local_queue()
    await team.pod("first", "1")
    pod = (await team.until_bound("first"))["first"]
    assert pod["metadata"]["annotations"][PLANNED_NODE] == f"{team.full('large')}-0"
    assert "affinity" not in pod["spec"]

    await team.change("resourceflavors", team.full("all"), {"capacity": {"packing": "LeastFree"}})
    await team.change("clusterqueues", team.full("cq"), {"pin": "Prefer"})
    await team.visited()
    await team.pod("second", "1")
    pod = (await team.until_bound("second"))["second"]
    assert pod["spec"]["nodeName"] == f"{team.full('small')}-0"
    assert PLANNED_NODE not in pod["metadata"]["annotations"]
