"""`penstock policy` against a real cluster: its answers are what the webhook then really does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from controller.core.keys import POLICIES, QUEUE_NAME
from controller.sandbox import Sandbox
from tests.integration.pod_policies.conftest import PolicyTeam
from tests.support import plain_http
from tests.support.api_objects import node_terms, requirement
from tests.support.eventually import eventually
from tests.support.pod_update_rules import PREFERRED
from tests.support.policy_commands import explained
from tests.support.sandbox import Answer, CommandLine
from tests.support.team import TEAM_LABEL, Json

pytestmark = pytest.mark.integration

SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
COMPARED = (
    "schedulerName",
    "serviceAccountName",
    "priority",
    "preemptionPolicy",
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulingGates",
    "runtimeClassName",
)


class Tool:
    """The command line with the rights of an administrator, unless a kubeconfig is given."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._line = CommandLine(folder / "state")

    async def __call__(self, *arguments: str, kubeconfig: Path | None = None) -> Answer:
        settings = ("--kubeconfig", str(kubeconfig or self._sandbox.kubeconfig))
        return await asyncio.to_thread(self._line.run, "policy", *arguments, *settings)

    async def explained(self, bodies: Mapping[str, Json], namespace: str) -> dict[str, Json]:
        where = ("-n", namespace, "--kubeconfig", str(self._sandbox.kubeconfig))
        return await asyncio.to_thread(explained, self._line, self._folder / "pods.yaml", bodies, *where)

    async def report(self, *arguments: str) -> Json:
        answer = await self("report", *arguments, "-o", "json")
        assert answer.code == 0, answer.err
        return dict(orjson.loads(answer.out))


@pytest.fixture
def tool(sandbox: Sandbox, tmp_path: Path) -> Tool:
    return Tool(sandbox, tmp_path)


def a_pod(name: str = "tried", labels: Json | None = None, **spec: Any) -> Json:
    containers = [{"name": "main", "image": "none"}]
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def pool(*values: str, **more: Any) -> Json:
    return {"matchExpressions": [requirement("In", *values)], **more}


PODS: dict[str, Json] = {
    "plain": a_pod(),
    "queued": a_pod(labels={QUEUE_NAME: "main"}),
    "queued nowhere": a_pod(labels={QUEUE_NAME: "absent"}),
    "with an affinity": a_pod(affinity=node_terms(pool("x", "y"), pool("z"))),
    "with another affinity": a_pod(affinity=node_terms(pool("w"))),
    "with tolerations": a_pod(tolerations=[SPOT, {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]),
    "with a class of priority": a_pod(priorityClassName="system-cluster-critical"),
    "with a node": a_pod(nodeName="nowhere"),
    "with a scheduler": a_pod(schedulerName="mine"),
    "with what others want": a_pod(nodeSelector={"zone": "c", "pool": "x"}),
    "refused": a_pod(labels={"strict": "yes"}, nodeSelector={"zone": "b"}),
    "selected and not refused": a_pod(labels={"strict": "yes"}, nodeSelector={"zone": "a"}),
    "on the named node": a_pod(labels={"pinned": "yes"}),
    "queued and on the named node": a_pod(labels={"pinned": "yes", QUEUE_NAME: "main"}),
    "with a copied annotation": {
        **a_pod(),
        "metadata": {"name": "tried", "annotations": {POLICIES: "other", "mine": "x"}},
    },
}


async def policies(team: PolicyTeam) -> None:
    """Of both kinds and all modes, some of which contradict each other."""
    near = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
    both = {
        **node_terms(pool("x"), pool("y")),
        "podAntiAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": near}]},
    }
    await team.wide("first", priority=9, affinity=both, tolerations=[SPOT])
    await team.wide(
        "seconds",
        tolerations=[
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 60,
            }
        ],
    )
    await team.wide("elsewhere", namespaceSelector={"matchLabels": {TEAM_LABEL: "nobody"}}, nodeName="never")
    await team.policy("own", nodeSelector={"zone": "a"}, schedulerName="other")
    await team.policy("told", nodeSelector={"disk": "ssd", "zone": "z"}, mode="Warn")
    await team.policy("noted", nodeSelector={"disk": "hdd"}, mode="Audit")
    strict = {"matchLabels": {"strict": "yes"}}
    await team.policy("strict", priority=5, podSelector=strict, nodeSelector={"zone": "a"}, onConflict="Reject")
    await team.policy("pinned", podSelector={"matchLabels": {"pinned": "yes"}}, nodeName="n1")
    await team.in_effect()


async def test_explain_says_what_the_webhook_then_does(team: PolicyTeam, tool: Tool) -> None:
    await team.local_queue()
    await policies(team)
    told_of = await tool.explained(PODS, team.namespace)
    for name, pod in PODS.items():
        told = told_of[name]
        done, warnings = await plain_http.create(team.sandbox, team.pods_path + "?dryRun=All", pod)
        if done["kind"] == "Status":
            assert told["result"] == "refused", (name, done)
            assert done["message"].endswith(f"denied the request: {told['message']}"), name
            continue
        expected = {field: done["spec"][field] for field in COMPARED if field in done["spec"]}
        found = {change["path"]: change["after"] for change in told["filledIn"]}
        predicted = {field: found[f"spec.{field}"] for field in COMPARED if f"spec.{field}" in found}
        predicted |= {field: value for field, value in told["directives"].items() if field in COMPARED}
        predicted |= {
            field: pod["spec"][field] for field in COMPARED if field in pod["spec"] and field not in predicted
        }
        assert predicted == expected, name
        told_warnings = [warning[:250] for warning in told["warnings"]]
        assert _told_once(warnings) == told_warnings, name
        noted = [change for step in told["steps"] for change in step["changes"] if POLICIES in change["path"]]
        assert noted[-1]["after"] == done["metadata"]["annotations"][POLICIES], name
    assert [name for name, told in told_of.items() if told["result"] == "refused"] == ["refused"]


def _told_once(warnings: list[str]) -> list[str]:
    """As the apiserver sends them, which ends each text with a quote and leaves out repeated ones."""
    return [re.sub(r"\\(.)", r"\1", warning.removesuffix('"')) for warning in warnings]


async def test_explain_of_workloads_says_what_becomes_of_their_pods(team: PolicyTeam, tool: Tool) -> None:
    await policies(team)
    await team.for_templates("shape", nodeSelector={"made": "so"})
    await team.in_effect()
    names = await team.nodes("any", labels={"pool": "x", "zone": "a", "made": "so"})
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {**spec, "restartPolicy": "Always"}}
    serving = {"selector": {"matchLabels": labels}, "template": template}
    made = {
        "jobs": ("batch/v1", "Job", {"template": {"spec": spec}}),
        "deployments": ("apps/v1", "Deployment", serving),
        "daemonsets": ("apps/v1", "DaemonSet", serving),
        "statefulsets": ("apps/v1", "StatefulSet", {**serving, "serviceName": "x"}),
    }
    documents = {
        plural: {"apiVersion": version, "kind": kind, "metadata": {"name": plural}, "spec": body}
        for plural, (version, kind, body) in made.items()
    }
    told = await tool.explained(documents, team.namespace)
    for plural, document in documents.items():
        await team.client.post(f"/apis/{document['apiVersion']}/namespaces/{team.namespace}/{plural}", document)

    async def created() -> dict[str, Json] | None:
        pods = {pod["metadata"]["name"].split("-")[0]: pod for pod in (await team.all()).values()}
        return pods if made.keys() <= pods.keys() else None

    pods = await eventually(created, message="not every workload has a pod")
    assert pods is not None
    for plural in made:
        answer = orjson.loads(orjson.dumps(told[plural]["directives"]).replace(b'"NODE"', orjson.dumps(names[0])))
        spec = pods[plural]["spec"]
        node = {"nodeName"}  # the scheduler's
        assert {name: spec.get(name) for name in answer if name not in node} == answer, plural
        assert (told[plural]["template"]["policies"][0]["policy"], spec["nodeSelector"]["made"]) == (
            f"{team.namespace}/shape",
            "so",
        )


@pytest.mark.more
async def test_a_report_judges_pods_without_what_the_cluster_added(team: PolicyTeam, tool: Tool) -> None:
    node = (await team.nodes("any", labels={"pool": "x"}))[0]
    await team.pod("scheduled", queue=None)
    await team.pod("asked", queue=None, spec={"nodeName": node})
    await team.pod("done", queue=None)
    await team.pod("other", queue=None, spec={"nodeSelector": {"pool": "x"}})
    await team.until_bound("scheduled", "done", "other")
    await team.end("done")
    await team.policy("elsewhere", nodeName="elsewhere", onConflict="Reject", mode="Audit")
    await team.policy("pool", nodeSelector={"pool": "y"}, mode="Warn")
    await team.wide("batch", tolerations=[SPOT])
    await team.in_effect()
    found = await tool.report("-n", team.namespace)
    fates = {one["name"]: (one["result"], [r["policy"] for r in one["reasons"]]) for one in found["findings"]}
    own = team.namespace
    wide = team.full("batch")
    assert fates == {
        "asked": ("refused", [f"{own}/elsewhere"]),
        "scheduled": ("changed", [wide, f"{own}/elsewhere", f"{own}/pool"]),
        "other": ("changed", [wide, f"{own}/elsewhere", f"{own}/pool"]),
    }
    assert (found["pods"]["judged"], found["pods"]["leftOut"]["finished"]) == (3, 1)
    counted = {one["policy"]: (one["mode"], one["selected"], one["refused"]) for one in found["policies"]}
    assert counted[f"{own}/elsewhere"] == ("Audit", 3, 1)
    assert counted[f"{own}/pool"] == ("Warn", 2, 0)
    everywhere = await tool.report("-A", "--all")
    assert {one["name"] for one in everywhere["findings"] if one["namespace"] == own} == set(fates)
    assert (await tool("report", "-n", own, "--fail")).code == 1
    table = await tool("report", "-n", own)
    assert f"3 pods in namespace '{own}' (1 finished: left out), were all policies enforced: 1 refused" in table.out


async def test_pods_that_the_policies_made_stay_as_they_are(team: PolicyTeam, tool: Tool) -> None:
    await policies(team)
    await team.nodes("any", labels={"pool": "x", "zone": "a"})
    await team.pod("one", queue=None)
    await team.pod("pinned", queue=None, labels={"pinned": "yes"})
    for name in ("told", "noted"):
        await team.client.delete(
            f"/apis/penstock.dev/v1alpha1/namespaces/{team.namespace}/podschedulingpolicies/{name}"
        )
    found = await tool.report("-n", team.namespace)
    assert [one for one in found["findings"] if one["result"] != "conflict"] == []
    assert found["pods"]["judged"] == 2


async def until_refused(tool: Callable[..., Awaitable[Answer]], text: str, *arguments: str) -> None:
    async def told() -> bool:
        answer = await tool(*arguments)
        assert answer.code == 2
        assert answer.err.startswith(f"Error: no right to {text}"), answer.err
        assert answer.err.count("\n") == 1
        return True

    await eventually(told, seconds=30)


def cluster_role(name: str) -> Json:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}


@pytest.mark.more
async def test_people_read_with_the_roles_that_there_are(team: PolicyTeam, tool: Tool, tmp_path: Path) -> None:
    account = f"/api/v1/namespaces/{team.namespace}/serviceaccounts"
    await team.client.post(account, {"metadata": {"name": "person"}})
    kubeconfig = await team.sandbox.service_account_kubeconfig(team.namespace, "person")
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump(a_pod()))
    explain = ("explain", "-f", str(file), "-n", team.namespace)
    subject = {"kind": "ServiceAccount", "name": "person", "namespace": team.namespace}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    refused = partial(until_refused, partial(tool, kubeconfig=kubeconfig))
    await refused(f"get namespaces in namespace '{team.namespace}': ask for the role view there", *explain)
    view = {"metadata": {"name": "view"}, "roleRef": cluster_role("view"), "subjects": [subject]}
    await team.client.post(f"{rbac}/namespaces/{team.namespace}/rolebindings", view)
    clusterwide = "list clusterpodschedulingpolicies.penstock.dev in the whole cluster: ask for the ClusterRole penst"
    await refused(clusterwide, *explain)
    await refused("list namespaces in the whole cluster: ask for the ClusterRole view", "report", "-A")
    role = cluster_role("penstock-policy-reader")
    reader = {"metadata": {"name": team.full("reader")}, "roleRef": role, "subjects": [subject]}
    await team.client.post(f"{rbac}/clusterrolebindings", reader)
    try:

        async def allowed() -> bool:
            for command in (explain, ("report", "-n", team.namespace)):
                answer = await tool(*command, kubeconfig=kubeconfig)
                assert (answer.code, answer.err) == (0, "")
            return True

        await eventually(allowed, seconds=30)
    finally:
        await team.client.delete(f"{rbac}/clusterrolebindings/{team.full('reader')}")


async def test_a_namespace_that_does_not_exist_is_told(tool: Tool, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(a_pod()))
    answer = await tool("explain", "-f", str(file), "-n", "absent")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "Error: namespace 'absent' does not exist; create it, or name another with --namespace\n"
