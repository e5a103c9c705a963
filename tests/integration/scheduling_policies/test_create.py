"""Pods as they come out of the apiserver when SchedulingPolicies concern them."""

from __future__ import annotations

import pytest

from controller.core.keys import POLICIES
from controller.kube.errors import Forbidden
from tests.support import plain_http
from tests.support.accounts import AccountTeam, noted_of
from tests.support.eventually import eventually
from tests.support.pod_update_rules import PREFERRED
from tests.support.team import TEAM_LABEL, Json

pytestmark = pytest.mark.integration

SPOT = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
ALLOWS_SPOT = {
    "tolerations": [{"keys": ["spot"], "operators": ["Equal"], "values": ["yes"], "effects": ["NoSchedule"]}]
}
NEAR = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}


async def test_without_a_policy_everything_passes(team: AccountTeam) -> None:
    pod = await team.pod("one", queue=None, spec={"nodeSelector": {"a": "b"}, "tolerations": [SPOT]})
    assert (pod["spec"]["nodeSelector"], noted_of(pod)) == ({"a": "b"}, None)


async def test_what_is_allowed_passes_and_what_is_not_is_refused(team: AccountTeam) -> None:
    name = await team.policy("own", allowed={"nodeSelectors": {"disk": ["ssd"]}, **ALLOWS_SPOT})
    await team.in_effect()
    pod = await team.pod("one", queue=None, spec={"nodeSelector": {"disk": "ssd"}, "tolerations": [SPOT]})
    assert noted_of(pod) is None
    assert await team.refused(nodeSelector={"disk": "hdd"}) == (
        "admission webhook \"scheduling-policies.penstock.dev\" denied the request: spec.nodeSelector[disk] is 'hdd', "
        f"allowed is 'ssd' (allowed.nodeSelectors[disk] of SchedulingPolicy '{name}')"
    )
    text = await team.refused(schedulerName="mine", tolerations=[{"key": "spot", "operator": "Exists"}])
    assert "spec.schedulerName is 'mine', which needs allowed.schedulerNames" in text
    assert "spec.tolerations[0] is spot" in text
    assert list(await team.all()) == ["one"]


async def test_an_account_that_may_use_no_policy_is_refused_every_pod(team: AccountTeam) -> None:
    await team.policy("own", allowed={})
    await team.account("other")
    await team.in_effect()
    assert (await team.tried())[0]["kind"] == "Pod"
    text = await team.refused(serviceAccountName="other")
    assert (
        f"ServiceAccount 'other' of namespace '{team.namespace}' may use none of the SchedulingPolicies; grant it the "
        "verb use on one of schedulingpolicies.penstock.dev"
    ) in text


async def test_a_pod_that_says_nothing_is_given_the_defaults_once(team: AccountTeam) -> None:
    affinity = {"podAntiAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": NEAR}]}}
    name = await team.policy(
        "own",
        required={"nodeSelectors": {"arch": ["amd64"]}},
        allowed={"schedulerNames": [], "tolerations": [], "nodeSelectors": {"os": []}, "affinities": {}},
        default={
            "schedulerName": "theirs",
            "nodeSelector": {"os": "linux"},
            "tolerations": [{"key": "spot", "operator": "Equal", "values": ["yes"], "effect": "NoSchedule"}],
            "affinity": affinity,
        },
    )
    await team.in_effect()
    pod = await team.pod("one", queue=None)
    spec = pod["spec"]
    assert (spec["schedulerName"], spec["nodeSelector"]) == ("theirs", {"arch": "amd64", "os": "linux"})
    assert spec["tolerations"].count(SPOT) == 1
    assert spec["affinity"] == affinity
    assert noted_of(pod) == f"SchedulingPolicy/{name}"


async def test_a_dry_run_shows_the_change_and_leaves_nothing(team: AccountTeam) -> None:
    name = await team.policy("own", default={"nodeSelector": {"a": "b"}})
    await team.in_effect()
    pod, warnings = await team.tried()
    assert (pod["spec"]["nodeSelector"], warnings, noted_of(pod)) == ({"a": "b"}, [], f"SchedulingPolicy/{name}")
    refused, _ = await team.tried(nodeSelector={"a": "c"})
    assert refused["code"] == 403
    assert await team.all() == {}


async def test_several_policies_become_one(team: AccountTeam) -> None:
    allowed = {"disk": ["ssd"], "x": []}, {"disk": ["sata"], "y": []}
    first = await team.policy("a", allowed={"nodeSelectors": allowed[0]}, default={"nodeSelector": {"x": "1"}})
    second = await team.policy("b", allowed={"nodeSelectors": allowed[1]}, default={"nodeSelector": {"y": "2"}})
    await team.in_effect()
    for disk in ("ssd", "sata"):
        pod, _ = await team.tried(nodeSelector={"disk": disk})
        assert pod["spec"]["nodeSelector"] == {"disk": disk, "x": "1", "y": "2"}
        assert noted_of(pod) == f"SchedulingPolicy/{first},SchedulingPolicy/{second}"
    assert "allowed is 'ssd' or 'sata'" in await team.refused(nodeSelector={"disk": "hdd"})


async def test_a_default_priority_class_brings_its_priority(team: AccountTeam) -> None:
    name = team.full("gold")
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    body = {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": "Never"}
    await team.client.post(classes, body)
    try:
        await team.policy("own", default={"priorityClassName": name})
        await team.in_effect()
        spec = (await team.pod("one", queue=None))["spec"]
    finally:
        await team.client.delete(f"{classes}/{name}")
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == (name, 1000, "Never")


async def test_the_global_priority_class_needs_no_permission(team: AccountTeam) -> None:
    name = team.full("common")
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await team.client.post(classes, {"metadata": {"name": name}, "value": 10, "globalDefault": True})
    try:
        await team.policy("own", allowed={})

        async def let_in() -> bool:
            pod, _ = await team.tried()
            return bool(pod["kind"] == "Pod" and pod["spec"].get("priorityClassName") == name)

        await eventually(let_in, message="the default class is refused")
        await team.policy("gold", default={"priorityClassName": "system-node-critical"})
        await team.in_effect()
        assert (await team.tried())[0]["spec"]["priorityClassName"] == "system-node-critical"
    finally:
        await team.client.delete(f"{classes}/{name}")


async def test_the_rules_of_a_class_by_policy_need_no_permission(team: AccountTeam) -> None:
    name = team.full("kata")
    classes = "/apis/node.k8s.io/v1/runtimeclasses"
    scheduling = {"nodeSelector": {"runtime": "kata"}, "tolerations": [{"key": "sandboxed", "operator": "Exists"}]}
    await team.client.post(classes, {"metadata": {"name": name}, "handler": "kata", "scheduling": scheduling})
    try:
        policy = await team.policy("own", default={"runtimeClassName": name})
        await team.in_effect()
        pod = await team.pod("one", queue=None)
        refused = await team.refused(runtimeClassName=name, nodeSelector={"other": "x"})
    finally:
        await team.client.delete(f"{classes}/{name}")
    assert (pod["spec"]["runtimeClassName"], pod["spec"]["nodeSelector"]) == (name, {"runtime": "kata"})
    assert noted_of(pod) == f"SchedulingPolicy/{policy}"
    assert "spec.nodeSelector[other]" in refused
    assert "runtime]" not in refused


async def test_what_a_copied_pod_says_of_policies_is_not_believed(team: AccountTeam) -> None:
    name = await team.policy("own", default={"nodeSelector": {"a": "b"}})
    await team.in_effect()
    mine = f"SchedulingPolicy/{name}"
    copied = {"annotations": {POLICIES: f"SchedulingPolicy/other,{mine},wide"}}
    pod, warnings = await team.tried(metadata=copied)
    assert noted_of(pod) == mine
    assert sorted(warning.split(" from ")[0] for warning in warnings) == [
        "removed SchedulingPolicy/other",
        "removed wide",
    ]
    kept = {"annotations": pod["metadata"]["annotations"]}
    again, warnings = await team.tried(metadata=kept, nodeSelector={"a": "b"})
    assert (noted_of(again), warnings) == (mine, [])


async def test_a_warning_policy_tells_and_lets_pass(team: AccountTeam) -> None:
    await team.policy("own", allowed={"nodeSelectors": {}})
    zones = {"nodeSelectors": {"zone": ["a", "b"], "c": ["d"]}}
    name = await team.policy("warned", mode="Warn", required=zones)
    await team.in_effect()
    pod, warnings = await team.tried(nodeSelector={"x": "y"})
    assert (pod["spec"]["nodeSelector"], noted_of(pod)) == ({"x": "y"}, None)
    told = "".join(warnings)
    assert f"SchedulingPolicy '{name}' would set spec.nodeSelector[c] to d (mode Warn)" in told
    assert "the pod would be refused: spec.nodeSelector[zone] is not set" in told


async def test_an_auditing_policy_tells_the_audit_log_alone(team: AccountTeam) -> None:
    await team.policy("own", allowed={"nodeSelectors": {}})
    await team.policy("told", mode="Audit", required={"nodeSelectors": {"zone": ["a", "b"]}})
    await team.in_effect()
    pod, warnings = await team.tried(metadata={"name": "audited"})
    assert (pod["kind"], warnings) == ("Pod", [])

    def logged() -> bool:
        said = "scheduling-policies.penstock.dev/scheduling-policies-not-enforced", team.namespace, "must be 'a' or 'b'"
        lines = team.sandbox.audit_log.read_text().splitlines()
        return any(all(text in line for text in said) for line in lines)

    await eventually(logged, message="nothing in the audit log")


async def test_system_namespaces_are_left_alone(team: AccountTeam) -> None:
    await team.policy("own", allowed={})
    await team.in_effect()
    body = {
        "metadata": {"name": "one"},
        "spec": {"nodeSelector": {"a": "b"}, "containers": [{"name": "main", "image": "none"}]},
    }
    system, _ = await plain_http.create(team.sandbox, "/api/v1/namespaces/kube-system/pods?dryRun=All", body)
    elsewhere, _ = await plain_http.create(team.sandbox, "/api/v1/namespaces/default/pods?dryRun=All", body)
    assert (system["kind"], elsewhere["code"]) == ("Pod", 403)


def workloads(account: str) -> dict[str, Json]:
    """The specs of a Job, a Deployment and a CronJob whose pods run as this account, by path."""
    pods = {"serviceAccountName": account, "containers": [{"name": "main", "image": "none"}]}
    job = {"template": {"spec": {"restartPolicy": "Never", **pods}}}
    labels = {"app": account}
    server = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pods}}
    return {
        "/apis/batch/v1/namespaces/NAMESPACE/jobs": job,
        "/apis/apps/v1/namespaces/NAMESPACE/deployments": server,
        "/apis/batch/v1/namespaces/NAMESPACE/cronjobs": {"schedule": "* * * * *", "jobTemplate": {"spec": job}},
    }


async def test_pods_of_workloads_are_judged_by_their_account(team: AccountTeam) -> None:
    await team.nodes("any", labels={"a": "b"})
    await team.policy("own", allowed={"nodeSelectors": {"a": ["b"]}}, default={"nodeSelector": {"a": "b"}})
    await team.account("other")
    await team.in_effect()
    for account in ("default", "other"):
        for path, spec in workloads(account).items():
            where = path.replace("NAMESPACE", team.namespace)
            await team.client.post(where, {"metadata": {"name": f"{path.rsplit('/', 1)[-1]}-{account}"}, "spec": spec})

    async def created() -> bool:
        pods = list((await team.all()).values())
        assert all(pod["spec"]["nodeSelector"] == {"a": "b"} for pod in pods)
        assert {pod["spec"]["serviceAccountName"] for pod in pods} == {"default"}
        prefixes = {pod["metadata"]["name"].split("-")[0] for pod in pods}
        return prefixes == {"jobs", "deployments", "cronjobs"}

    # the CronJob's first pod comes with the next full minute
    await eventually(created, seconds=150, message="not every workload has a pod")

    async def told() -> bool:
        return any("ServiceAccount 'other' of namespace" in one["message"] for one in await team.events())

    await eventually(told, message="no Event tells of the account that has no rights")


async def test_additions_to_daemon_pods_need_no_permission(team: AccountTeam) -> None:
    await team.nodes("any")
    await team.policy("own", allowed={"nodeSelectors": {TEAM_LABEL: []}})
    await team.in_effect()
    labels = {"app": "agent"}
    template: Json = {
        "metadata": {"labels": labels},
        "spec": {"nodeSelector": {TEAM_LABEL: team.id}, "containers": [{"name": "main", "image": "none"}]},
    }
    path = f"/apis/apps/v1/namespaces/{team.namespace}/daemonsets"
    body = {"metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    await team.client.post(path, body)

    async def bound() -> bool:
        return [bool(pod["spec"].get("nodeName")) for pod in (await team.all()).values()] == [True]

    await eventually(bound, message="the daemon set's pod did not reach its node")


async def test_a_node_by_name_needs_permission(team: AccountTeam) -> None:
    await team.policy("own", allowed={"nodeNames": ["one"]})
    await team.in_effect()
    assert (await team.tried(nodeName="one"))[0]["kind"] == "Pod"
    with pytest.raises(Forbidden, match=r"spec.nodeName is 'two', allowed is 'one'"):
        await team.pod("two", queue=None, spec={"nodeName": "two"})
