"""Why a pod waits: each cause has its own reason on the pod, and goes when the cause goes."""

from __future__ import annotations

from typing import Any

import pytest

from controller.kube.client import MERGE_PATCH
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Team, condition_of, is_gated

pytestmark = pytest.mark.integration


async def queues_at_fault(team: Team) -> dict[str, tuple[str, str]]:
    """Make them; what pods of each wait for, by its name."""
    await team.ready({"spot": {"cpu": 8}})
    await team.local_queue("held", stopPolicy="Hold")
    await team.cluster_queue({"spot": {"cpu": 8}}, "stopped", stopPolicy="Hold")
    await team.local_queue("to-stopped", "stopped")
    await team.cluster_queue({"spot": {"cpu": 8}}, "elsewhere", namespaceSelector={"matchLabels": {"team": "x"}})
    await team.local_queue("outside", "elsewhere")
    await team.cluster_queue({"nowhere": {"cpu": 8}}, "flavorless")
    await team.local_queue("no-flavor", "flavorless")
    await team.local_queue("dangling", "missing")
    return {
        "absent": ("QueueNotFound", f"LocalQueue absent does not exist in namespace {team.namespace}"),
        "dangling": ("QueueNotFound", f"ClusterQueue {team.full('missing')} of LocalQueue dangling does not exist"),
        "held": ("QueueStopped", "LocalQueue held has stopPolicy Hold"),
        "to-stopped": ("QueueStopped", f"ClusterQueue {team.full('stopped')} has stopPolicy Hold"),
        "outside": (
            "NamespaceNotSelected",
            f"the namespaceSelector of ClusterQueue {team.full('elsewhere')} does not select namespace "
            f"{team.namespace}",
        ),
        "no-flavor": (
            "QueueInvalid",
            f"ClusterQueue {team.full('flavorless')} names ResourceFlavor {team.full('nowhere')}, "
            "which does not exist or is invalid",
        ),
    }


async def test_every_fault_of_queue_and_namespace_has_its_own_reason(team: Team) -> None:
    expected = await queues_at_fault(team)
    for queue in expected:
        await team.pod(queue, queue=queue)
    found = {name: await team.until_waiting(name, reason) for name, (reason, _) in expected.items()}
    assert found == {name: message for name, (_, message) in expected.items()}
    await team.change("localqueues", "held", {"stopPolicy": "None"})
    await team.local_queue("absent")
    labels = {"metadata": {"labels": {"team": "x"}}}
    await team.client.patch(f"/api/v1/namespaces/{team.namespace}", labels, content_type=MERGE_PATCH)
    pods = await team.until_bound("held", "absent", "outside")

    async def put_right() -> bool:
        conditions = [condition_of(await team.get(name)) for name in ("held", "absent", "outside")]
        assert [c["status"] if c else None for c in conditions] == ["True"] * 3
        return True

    await eventually(put_right, message="the conditions of released pods were not put right")
    assert is_gated(pods["dangling"])


async def test_a_pod_that_fits_nowhere_keeps_waiting_and_says_why(team: Team) -> None:
    await team.ready({"spot": {"cpu": 100, "memory": "10Gi"}})
    claims = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}
    await team.pod("large", "9")
    await team.pod("beyond", "101")
    await team.pod("elsewhere", spec={"nodeSelector": {"shape": "other"}})
    await team.pod("uncovered", requests={"ephemeral-storage": "1Gi"})
    await team.pod("claims", spec=claims)
    await team.pod("foreign", spec={"schedulingGates": [{"name": "example.com/hold"}]})
    spot = team.full("spot")
    expected = {
        "large": ("NeverFits", f"flavor {spot}: needs 9 cpu, more than its largest node has (8)"),
        "beyond": ("NeverFits", f"flavor {spot}: needs 101 cpu, more than the whole quota (100)"),
        "elsewhere": (
            "NeverFits",
            f"flavor {spot}: the pod's own node selector or affinity contradicts it on shape "
            "(the pod: shape=other; the flavor: shape=spot)",
        ),
        "uncovered": (
            "NeverFits",
            f"flavor {spot}: needs 1Gi ephemeral-storage, the queue has no quota for it (0)",
        ),
        "claims": (
            "UnsupportedResourceClaims",
            "spec.resourceClaims[gpu]: ResourceClaimTemplate gpu does not exist; create it",
        ),
        "foreign": (
            "ForeignGate",
            "waits for the scheduling gates of others to be removed first: example.com/hold",
        ),
    }
    found = {name: await team.until_waiting(name, reason) for name, (reason, _) in expected.items()}
    assert found == {name: message for name, (_, message) in expected.items()}


async def test_a_foreign_gate_stays_until_its_owner_removes_it(team: Team) -> None:
    await team.ready()
    await team.pod("one", spec={"schedulingGates": [{"name": "example.com/hold"}]})
    await team.visited()
    gates = [gate["name"] for gate in (await team.get("one"))["spec"]["schedulingGates"]]
    assert gates == ["example.com/hold", "penstock.dev/queue"]
    await team.patch("one", [{"op": "remove", "path": "/spec/schedulingGates/0"}])
    await team.until_bound("one")


@pytest.mark.parametrize("capacity", [{"mode": "Static", "static": {"cpu": 2}}, {"mode": "Nodes"}])
async def test_a_pod_that_contradicts_a_flavor_is_not_released(team: Team, capacity: dict[str, Any]) -> None:
    await team.flavor("static", nodeLabels={TEAM_LABEL: team.id}, capacity=capacity)
    await team.cluster_queue({"static": {"cpu": 2}})
    await team.local_queue()
    await team.pod("one", spec={"nodeSelector": {TEAM_LABEL: "another"}})
    message = await team.until_waiting("one", "NeverFits")
    assert message == (
        f"flavor {team.full('static')}: the pod's own node selector or affinity contradicts it on {TEAM_LABEL} "
        f"(the pod: {TEAM_LABEL}=another; the flavor: {TEAM_LABEL}={team.id})"
    )


async def test_a_status_says_why_an_object_cannot_be_used(team: Team) -> None:
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 1}, "gone": {"cpu": 1}})
    await team.cluster_queue({"spot": {"cpu": 1}}, "closed", namespaceSelector=None)
    await team.local_queue()
    await team.local_queue("dangling", "missing")
    expected = {
        ("clusterqueues", team.full("cq")): "FlavorNotFound",
        ("clusterqueues", team.full("closed")): "NoNamespaceSelected",
        ("localqueues", "dangling"): "ClusterQueueNotUsable",
    }

    async def told() -> bool:
        for (plural, name), reason in expected.items():
            conditions = (await team.status(plural, name)).get("conditions", ())
            found = [(c["status"], c["reason"]) for c in conditions if c["type"] == "Active"]
            assert found == [("False", reason)], (name, conditions)
        return True

    await eventually(told, message="the conditions do not say why")
