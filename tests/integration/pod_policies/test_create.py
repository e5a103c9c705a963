"""Pods as they come out of the apiserver when policies concern them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
import yaml
from click.testing import CliRunner

from controller.cli.main import root
from controller.core.keys import POLICIES, QUEUE_NAME
from controller.kube.errors import Forbidden
from controller.sandbox import Sandbox
from tests.integration.pod_policies.conftest import WIDE, PolicyTeam, policies_of
from tests.support import plain_http
from tests.support.api_objects import field_requirement, node_terms, requirement
from tests.support.eventually import eventually
from tests.support.other_webhook import another_webhook
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.team import OURS, TEAM_LABEL, Json, is_gated

pytestmark = pytest.mark.integration

SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
NEAR = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}, "namespaceSelector": {}}


def required(pod: Json) -> list[Json]:
    terms: list[Json] = pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return terms


def pool(*values: str) -> Json:
    return {"matchExpressions": [requirement("In", *values)]}


async def test_a_pod_is_given_what_the_policies_of_both_kinds_want(team: PolicyTeam) -> None:
    wide = await team.wide("all", nodeSelector={"a": "wide"}, affinity=node_terms(pool("x"), pool("y")))
    affinity = {"podAntiAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": NEAR}]}}
    await team.policy("own", nodeSelector={"b": "own"}, tolerations=[SPOT], schedulerName="other", affinity=affinity)
    await team.in_effect()
    created = await team.pod("one", queue=None)
    spec = (await team.get("one"))["spec"]
    assert created["spec"]["nodeSelector"] == spec["nodeSelector"] == {"a": "wide", "b": "own"}
    assert required(created) == [pool("x"), pool("y")]
    assert spec["affinity"]["podAntiAffinity"] == affinity["podAntiAffinity"]
    assert SPOT in spec["tolerations"]
    assert spec["schedulerName"] == "other"
    assert policies_of(created) == f"{wide},{team.namespace}/own"


async def test_a_dry_run_shows_the_change_and_leaves_nothing(team: PolicyTeam) -> None:
    await team.policy("own", nodeSelector={"a": "b"})
    await team.in_effect()
    pod, warnings = await team.tried()
    assert (pod["spec"]["nodeSelector"], warnings) == ({"a": "b"}, [])
    assert await team.all() == {}


async def test_what_a_copied_pod_says_of_policies_is_not_believed(team: PolicyTeam) -> None:
    await team.policy("own", nodeSelector={"a": "b"})
    await team.in_effect()
    pod, warnings = await team.tried(metadata={"annotations": {POLICIES: f"other,{team.namespace}/own", "mine": "x"}})
    assert pod["metadata"]["annotations"] == {POLICIES: f"{team.namespace}/own", "mine": "x"}
    assert len(warnings) == 1
    assert warnings[0].startswith(f"removed other from {POLICIES}: only Penstock writes it")
    again, warnings = await team.tried(
        metadata={"annotations": pod["metadata"]["annotations"]}, nodeSelector={"a": "b"}
    )
    assert (policies_of(again), warnings) == (f"{team.namespace}/own", [])


async def test_the_pods_own_word_stays_with_a_warning(team: PolicyTeam) -> None:
    await team.policy("own", nodeSelector={"a": "policy", "b": "policy"})
    await team.in_effect()
    pod, warnings = await team.tried(nodeSelector={"a": "pod"})
    assert pod["spec"]["nodeSelector"] == {"a": "pod", "b": "policy"}
    assert len(warnings) == 1
    assert "PodSchedulingPolicy 'own' is left out in part: spec.nodeSelector[a] is 'pod', not 'policy'" in warnings[0]


async def test_a_queued_pod_passes_two_registrations_warned_once(team: PolicyTeam) -> None:
    await team.local_queue()
    await team.policy("own", nodeSelector={"a": "policy", "b": "policy"}, tolerations=[SPOT])
    await team.policy("told", nodeSelector={"c": "1"}, mode="Warn")
    await team.in_effect()
    labels = {"labels": {QUEUE_NAME: "main"}}
    pod, warnings = await team.tried(metadata=labels, nodeSelector={"a": "pod"})
    assert is_gated(pod)
    assert (pod["spec"]["nodeSelector"], policies_of(pod)) == ({"a": "pod", "b": "policy"}, f"{team.namespace}/own")
    assert pod["spec"]["tolerations"].count(SPOT) == 1
    assert [warning.split(" (")[0].split(" is ")[0] for warning in warnings] == [
        "PodSchedulingPolicy 'own'",
        "PodSchedulingPolicy 'told'",
    ]


async def test_system_namespaces_are_left_alone(team: PolicyTeam, sandbox: Sandbox) -> None:
    selector = {"matchExpressions": [{"key": TEAM_LABEL, "operator": "DoesNotExist"}]}
    await team.wide("system", namespaceSelector=selector, podSelector={"matchLabels": {"of": team.id}}, nodeName="n")
    await team.in_effect()
    body = {
        "metadata": {"name": "one", "labels": {"of": team.id}},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    elsewhere, _ = await plain_http.create(sandbox, "/api/v1/namespaces/default/pods?dryRun=All", body)
    system, _ = await plain_http.create(sandbox, "/api/v1/namespaces/kube-system/pods?dryRun=All", body)
    assert (elsewhere["spec"].get("nodeName"), system["spec"].get("nodeName")) == ("n", None)


async def test_a_rejecting_policy_refuses_a_pod_that_differs(team: PolicyTeam) -> None:
    await team.policy("own", nodeSelector={"a": "policy"}, onConflict="Reject")
    await team.in_effect()
    text = r"PodSchedulingPolicy 'own' refuses the pod: spec.nodeSelector\[a\] is 'pod', not 'policy'; change the pod"
    with pytest.raises(Forbidden, match=text):
        await team.pod("one", queue=None, spec={"nodeSelector": {"a": "pod"}})
    assert (await team.pod("two", queue=None))["spec"]["nodeSelector"] == {"a": "policy"}


async def test_a_warning_policy_tells_and_changes_nothing(team: PolicyTeam) -> None:
    await team.policy("own", nodeSelector={"a": "policy"}, tolerations=[SPOT], mode="Warn")
    await team.in_effect()
    pod, warnings = await team.tried()
    assert ("nodeSelector" in pod["spec"], policies_of(pod)) == (False, None)
    assert len(warnings) == 1
    assert "PodSchedulingPolicy 'own' (mode Warn) would set nodeSelector, tolerations" in warnings[0]


async def test_an_auditing_policy_tells_the_audit_log_alone(team: PolicyTeam, sandbox: Sandbox) -> None:
    await team.policy("own", nodeSelector={"a": "policy"}, mode="Audit")
    await team.in_effect()
    pod, warnings = await team.tried(metadata={"name": "audited"})
    assert ("nodeSelector" in pod["spec"], policies_of(pod), warnings) == (False, None, [])

    async def logged() -> bool:
        events = [line for line in audit_log(sandbox) if f"{team.namespace}/own: nodeSelector" in line]
        return any("pod-policies.penstock.dev/policies-not-enforced" in line for line in events)

    await eventually(logged, message="nothing in the audit log")


def audit_log(sandbox: Sandbox) -> list[str]:
    found = [path for path in sandbox.folder.rglob("*audit*") if path.is_file() and path.suffix in (".log", ".jsonl")]
    return [line for path in found for line in path.read_text().splitlines()]


async def test_a_node_by_name_passes_the_scheduler_by(team: PolicyTeam) -> None:
    node = (await team.nodes("any"))[0]
    await team.policy("own", nodeName=node)
    await team.in_effect()
    assert (await team.pod("one", queue=None))["spec"]["nodeName"] == node


async def test_a_pod_changed_after_us_gets_everything_once(team: PolicyTeam, tmp_path: Path) -> None:
    await team.policy("own", nodeSelector={"a": "b"}, tolerations=[SPOT], affinity=node_terms(pool("x"), pool("y")))
    # selects what the other webhook makes of the pod, so that its effect shows that we were called again
    await team.policy("second", podSelector={"matchLabels": {"late": "yes"}}, nodeSelector={"c": "d"})
    await team.in_effect()
    late_toleration = {"key": "late", "operator": "Exists"}
    operations: list[Json] = [
        {"op": "add", "path": "/metadata/labels/late", "value": "yes"},
        {"op": "add", "path": "/spec/tolerations/-", "value": late_toleration},
    ]
    async with another_webhook(team, operations, tmp_path):

        async def called() -> Json | None:
            pod, warnings = await team.tried(metadata={"labels": {"asks": "twice"}})
            if "late" not in pod["metadata"]["labels"]:
                return None
            assert warnings == []
            return pod

        pod = await eventually(called, message="the other webhook is not called")
    assert pod is not None
    assert pod["spec"]["nodeSelector"] == {"a": "b", "c": "d"}
    assert required(pod) == [pool("x"), pool("y")]
    assert [pod["spec"]["tolerations"].count(one) for one in (SPOT, late_toleration)] == [1, 1]
    assert policies_of(pod) == f"{team.namespace}/own,{team.namespace}/second"


async def test_a_queued_pod_is_bound_where_its_policies_allow(team: PolicyTeam) -> None:
    await team.ready({"spot": {"cpu": 8}})
    second = (await team.nodes("spot", count=3, cpu="8", memory="32Gi"))[-1]
    await team.policy(
        "own", nodeName=second, affinity=node_terms({"matchExpressions": [requirement("Exists", key="shape")]})
    )
    await team.in_effect()
    pod = await team.pod("one", "1")
    assert is_gated(pod)
    assert "nodeName" not in pod["spec"]
    expected = {
        "matchExpressions": [{"key": "shape", "operator": "Exists"}],
        "matchFields": [field_requirement(second)],
    }
    assert required(pod) == [expected]
    bound = (await team.until_bound("one"))["one"]
    assert bound["spec"]["nodeName"] == second
    assert policies_of(bound) == f"{team.namespace}/own"


async def test_a_converted_object_of_kupid_works(team: PolicyTeam) -> None:
    written = {
        "apiVersion": "kupid.gardener.cloud/v1alpha1",
        "kind": "ClusterPodSchedulingPolicy",
        "metadata": {"name": team.full("kupid"), "uid": "old", "resourceVersion": "7"},
        "spec": {
            "namespaceSelector": {"matchLabels": {TEAM_LABEL: team.id}},
            "podSelector": {},
            "affinity": node_terms(pool("etcd")),
            "tolerations": [{"key": "etcd", "operator": "Equal", "value": "true", "effect": "NoExecute"}],
        },
    }
    done = CliRunner().invoke(root, ["import", "kupid", "-f", "-"], input=yaml.safe_dump(written))
    assert done.exit_code == 0, done.output
    await team.client.post(f"{OURS}/{WIDE}", next(yaml.safe_load_all(done.stdout)))
    try:
        await team.in_effect()
        pod, _ = await team.tried()
    finally:
        await team.client.delete(f"{OURS}/{WIDE}/{team.full('kupid')}")
    assert required(pod) == [pool("etcd")]
    assert written["spec"]["tolerations"][0] in pod["spec"]["tolerations"]  # type: ignore[index]
    assert policies_of(pod) == team.full("kupid")


async def test_the_first_pod_of_a_namespace_gets_its_policies(team: PolicyTeam) -> None:
    label = team.full("fresh")
    await team.wide("fresh", namespaceSelector={"matchLabels": {label: "yes"}}, nodeSelector={"a": "b"})
    await team.in_effect()
    body = {
        "metadata": {"name": "one"},
        "spec": {"serviceAccountName": "first", "containers": [{"name": "main", "image": "none"}]},
    }
    found = []
    for number in range(30):
        name = team.full(f"new-{number}")
        await team.client.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": {label: "yes"}}})
        # an account of one's own: the default one comes later
        await team.client.post(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "first"}})
        pods = f"/api/v1/namespaces/{name}/pods"
        pod = orjson.loads(await team.client.post(pods, body, params={"dryRun": "All"}))
        found.append(pod["spec"].get("nodeSelector"))
        await team.client.delete(f"/api/v1/namespaces/{name}")
    assert found == [{"a": "b"}] * 30
