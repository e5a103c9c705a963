"""From gate to node: who is released, onto which flavor, and when what was taken comes back."""

from __future__ import annotations

import pytest

from controller.core.keys import ADMITTED_AT, CLUSTER_QUEUE, DEFAULT_QUEUE, FLAVOR, QUEUE_NAME
from controller.kube.client import MERGE_PATCH
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Team, flavor_of, is_gated

pytestmark = pytest.mark.integration


async def test_a_queued_pod_is_gated_released_and_bound(team: Team) -> None:
    await team.ready()
    created = await team.pod("one")
    assert is_gated(created)
    pod = (await team.until_bound("one"))["one"]
    assert pod["spec"]["nodeName"] == f"{team.full('spot')}-0"
    assert pod["spec"]["nodeSelector"] == {TEAM_LABEL: team.id, "shape": "spot"}
    assert pod["metadata"]["labels"][CLUSTER_QUEUE] == team.full("cq")
    assert pod["metadata"]["labels"][FLAVOR] == team.full("spot")
    assert ADMITTED_AT in pod["metadata"]["annotations"]


async def test_an_event_says_that_the_pod_was_admitted(team: Team) -> None:
    await team.ready()
    await team.pod("one")
    await team.until_bound("one")

    async def told() -> bool:
        path = f"/api/v1/namespaces/{team.namespace}/events"
        body = await team.client.get(path, {"fieldSelector": "involvedObject.name=one,reason=Admitted"})
        return f"Admitted by ClusterQueue {team.full('cq')} onto flavor {team.full('spot')}".encode() in body

    await eventually(told, message="no Event tells of the release")


async def test_the_second_flavor_is_used_for_want_of_quota(team: Team) -> None:
    await team.ready({"spot": {"cpu": 2}, "on-demand": {"cpu": 1}})
    for name in ("a", "b", "c"):
        await team.pod(name)
        await team.until_bound(name)
    await team.pod("d")
    message = await team.until_waiting("d", "QuotaExceeded")
    pods = await team.all()
    placed = [flavor_of(pods[name]) for name in ("a", "b", "c")]
    assert placed == [team.full("spot"), team.full("spot"), team.full("on-demand")]
    assert message == (
        f"flavor {team.full('spot')}: needs 1 cpu, more than is free of its quota; "
        f"flavor {team.full('on-demand')}: needs 1 cpu, more than is free of its quota"
    )


async def test_the_second_flavor_is_used_for_want_of_room(team: Team) -> None:
    await team.ready({"spot": {"cpu": 100}, "on-demand": {"cpu": 100}})
    await team.pod("large", "6")
    await team.until_bound("large")
    await team.pod("second", "6")
    pods = await team.until_bound("second")
    assert flavor_of(pods["second"]) == team.full("on-demand")


@pytest.mark.parametrize("how", ["ends", "fails", "is deleted"])
async def test_a_waiting_pod_gets_quota_that_another_returns(team: Team, how: str) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    await team.pod("second")
    await team.visited()
    assert is_gated(await team.get("second"))
    match how:
        case "is deleted":
            await team.delete("first")
        case _:
            await team.end("first", "Succeeded" if how == "ends" else "Failed")
    await team.until_bound("second")


async def test_a_waiting_pod_gets_room_that_comes_back(team: Team) -> None:
    await team.ready({"spot": {"cpu": 100}})
    await team.pod("first", "8")
    await team.until_bound("first")
    await team.pod("second", "8")
    await team.visited()
    assert is_gated(await team.get("second"))
    await team.end("first")
    await team.until_bound("second")


async def test_a_waiting_pod_is_released_when_a_node_comes(team: Team) -> None:
    await team.ready({"spot": {"cpu": 100}})
    await team.pod("large", "16")
    await team.visited()
    assert is_gated(await team.get("large"))
    names = await team.nodes("spot", cpu="16", memory="32Gi")
    pods = await team.until_bound("large")
    assert pods["large"]["spec"]["nodeName"] == names[0]


async def test_pods_that_are_not_ours_take_room_too(team: Team) -> None:
    await team.ready({"spot": {"cpu": 100}})
    selector = {"nodeSelector": {TEAM_LABEL: team.id}}
    await team.pod("foreign", "6", queue=None, spec=selector)
    await team.until_bound("foreign")
    await team.pod("ours", "4")
    message = await team.until_waiting("ours", "NoCapacity")
    assert message == f"flavor {team.full('spot')}: needs 4 cpu, more than is free on its emptiest node"


async def test_a_cordoned_node_takes_no_pod_until_it_is_open_again(team: Team) -> None:
    await team.ready()
    node = f"/api/v1/nodes/{team.full('spot')}-0"
    await team.client.patch(node, {"spec": {"unschedulable": True}}, content_type=MERGE_PATCH)
    await team.visited("first-probe")
    await team.pod("one")
    await team.visited()
    assert is_gated(await team.get("one"))
    await team.client.patch(node, {"spec": {"unschedulable": False}}, content_type=MERGE_PATCH)
    await team.until_bound("one")


async def test_a_flavor_gives_its_tolerations_and_requirements(team: Team) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi", labels={"zone": "b"}, taints=("spot=true:NoSchedule",))
    await team.flavor(
        "spot",
        nodeLabels={TEAM_LABEL: team.id},
        nodeRequirements=[{"key": "zone", "operator": "NotIn", "values": ["a"]}],
        tolerations=[{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
    )
    await team.cluster_queue({"spot": {"cpu": 8}})
    await team.local_queue()
    own = {"key": "zone", "operator": "In", "values": ["a", "b"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [own]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    await team.pod("one", spec={"affinity": affinity})
    pod = (await team.until_bound("one"))["one"]
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    wanted = {"key": "zone", "operator": "NotIn", "values": ["a"]}
    assert required["nodeSelectorTerms"] == [{"matchExpressions": [own, wanted]}]
    assert {"key": "spot", "operator": "Exists", "effect": "NoSchedule"} in pod["spec"]["tolerations"]


async def test_a_static_flavor_counts_sums_over_all_queues(team: Team) -> None:
    await team.nodes("any", cpu="32", memory="64Gi")
    await team.flavor(
        "static", nodeLabels={TEAM_LABEL: team.id}, capacity={"mode": "Static", "static": {"cpu": 2, "memory": "1Gi"}}
    )
    for name in ("cq", "other"):
        await team.cluster_queue({"static": {"cpu": 100, "memory": "64Gi"}}, name)
    await team.local_queue()
    await team.local_queue("second", "other")
    await team.pod("a", queue="main")
    await team.until_bound("a")
    await team.pod("b", queue="second")
    await team.until_bound("b")
    await team.pod("c", queue="second")
    await team.visited()
    assert is_gated(await team.get("c"))
    await team.end("a")
    await team.until_bound("c")


async def test_a_namespace_can_have_a_default_queue(team: Team) -> None:
    await team.ready()
    path = f"/api/v1/namespaces/{team.namespace}"
    await team.client.patch(path, {"metadata": {"labels": {DEFAULT_QUEUE: "main"}}}, content_type=MERGE_PATCH)

    async def gated() -> bool:
        # the webhook learns of the label a moment after the apiserver has it
        pod = await team.pod("trial", queue=None, params={"dryRun": "All"})
        return is_gated(pod) and pod["metadata"]["labels"][QUEUE_NAME] == "main"

    await eventually(gated, message="the default queue is not applied")
    await team.pod("one", queue=None)
    await team.until_bound("one")


async def test_status_and_counts_of_the_objects_follow(team: Team) -> None:
    await team.ready({"spot": {"cpu": 2, "memory": "8Gi"}})
    names = await team.pods(3, requests={"memory": "1Gi"})
    assert len(names) == 3

    async def told() -> bool:
        queue = await team.status("clusterqueues", team.full("cq"))
        local = await team.status("localqueues", "main")
        flavor = await team.status("resourceflavors", team.full("spot"))
        for status in (queue, local):
            counts = [status.get(name) for name in ("pending", "reserved", "running")]
            assert counts == [1, 0, 2], status
        used = {r["name"]: (r["total"], r["quota"]) for r in queue["flavorsUsage"][0]["resources"]}
        assert used == {"cpu": ("2", "2"), "memory": ("2Gi", "8Gi")}
        assert flavor["nodes"] == 1
        assert flavor["free"]["cpu"] == "6"
        active = [c for s in (queue, local, flavor) for c in s["conditions"] if c["type"] == "Active"]
        assert [c["status"] for c in active] == ["True"] * 3
        return True

    await eventually(told, message="the statuses do not follow")
