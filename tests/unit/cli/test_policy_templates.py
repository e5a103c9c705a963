"""`penstock policy` and policies for templates: a workload's template first, then the pod that is made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.core.keys import POLICIES
from tests.support.api_objects import Json, cluster_pod_policy, pod_policy
from tests.support.policy_files import a_namespace, a_pod
from tests.unit.cli.test_policy_scheduling import Tool, live, step

BOTH = ("Deployment", "CronJob")
FOR_TEMPLATES = cluster_pod_policy("shape", target="PodTemplates", nodeSelector={"pool": "a"}, schedulerName="other")


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("COLUMNS", "200")
    return Tool(tmp_path, capsys)


def a_workload(kind: str = "Deployment", **spec: object) -> Json:
    template: Json = {"spec": {"containers": [{"name": "main", "image": "none"}], **spec}}
    if kind == "CronJob":
        body: Json = {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "web"}, "spec": body}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": {"template": template}}


@pytest.mark.parametrize("kind", BOTH)
def test_the_template_is_changed_and_the_pod_is_made_from_it(kind: str, tool: Tool) -> None:
    later = pod_policy("later", nodeSelector={"pool": "b", "zone": "c"})
    answer = tool.answer(a_workload(kind), FOR_TEMPLATES, later)
    place = "spec.template" if kind == "Deployment" else "spec.jobTemplate.spec.template"
    written = {one["path"]: one["after"] for one in answer["template"]["changes"]}
    assert written[f"{place}.spec.nodeSelector[pool]"] == "a"
    assert written[f"{place}.metadata.annotations[{POLICIES}]"] == "shape"
    assert [(one["policy"], one["target"]) for one in answer["template"]["policies"]] == [("shape", "PodTemplates")]
    assert [one["policy"] for one in step(answer, "Pod scheduling policies")["policies"]] == ["default/later"]
    assert answer["directives"]["nodeSelector"] == {"pool": "a", "zone": "c"}
    assert answer["directives"]["schedulerName"] == "other"
    assert (answer["result"], answer["notSelecting"]) == ("changed", [])


def test_the_text_tells_of_the_template_before_the_pod(tool: Tool) -> None:
    _, text, _ = tool.text(a_workload(), FOR_TEMPLATES, pod_policy("web", target="PodTemplates", podSelector=None))
    head, _, _ = text.partition("Filled in")
    assert "Template of Deployment 'web': Pod scheduling policies for templates, in order:\n" in head
    assert "   ClusterPodSchedulingPolicy 'shape' (priority 0) changes the template\n" in head
    assert "     spec.nodeSelector[pool]: + a\n" in head
    assert "   Not for this template:\n     PodSchedulingPolicy 'web': podSelector is left out" in head


def test_a_workload_is_refused_before_any_pod_is_made(tool: Tool) -> None:
    strict = pod_policy("strict", target="PodTemplates", nodeSelector={"pool": "a"}, onConflict="Reject")
    answer = tool.answer(a_workload(nodeSelector={"pool": "b"}), strict)
    assert (answer["refusedBy"], answer["steps"]) == ("Pod scheduling policies for templates", [])
    assert answer["message"].startswith("PodSchedulingPolicy 'strict' refuses the template at spec.template: ")
    _, text, _ = tool.text(a_workload(nodeSelector={"pool": "b"}), strict)
    assert "'strict' (priority 0) refuses the template\n" in text
    assert "Result: refused by Pod scheduling policies for templates\n" in text


def test_what_is_only_told_of_a_template_is_a_warning(tool: Tool) -> None:
    answer = tool.answer(a_workload(), pod_policy("told", target="PodTemplates", mode="Warn", nodeSelector={"a": "b"}))
    assert (answer["result"], answer["warnings"]) == (
        "allowed",
        ["PodSchedulingPolicy 'told' (mode Warn) would set nodeSelector"],
    )
    assert answer["template"]["changes"] == []


def test_a_pod_is_told_which_policies_are_for_templates(tool: Tool) -> None:
    answer = tool.answer(a_pod(), FOR_TEMPLATES)
    assert (answer["result"], answer["template"]) == ("allowed", None)
    assert [(one["policy"], one["reason"]) for one in answer["notSelecting"]] == [
        ("shape", "target is PodTemplates: it is for the templates of workloads, and this is a pod")
    ]


def test_without_policies_for_templates_nothing_is_said_of_them(tool: Tool) -> None:
    assert tool.answer(a_workload(), cluster_pod_policy("pods", nodeSelector={"a": "b"}))["template"] is None
    elsewhere = pod_policy("other", "elsewhere", target="PodTemplates", nodeSelector={"a": "b"})
    assert tool.answer(a_workload(), elsewhere)["template"] is None


def test_namespaces_left_out_keep_their_templates(tool: Tool) -> None:
    workload = a_workload()
    workload["metadata"]["namespace"] = "kube-system"
    assert tool.answer(workload, FOR_TEMPLATES, a_namespace("kube-system"))["result"] == "allowed"


@pytest.mark.parametrize(("owner", "result"), [("Deployment", "allowed"), ("Etcd", "refused"), (None, "refused")])
def test_a_replica_set_is_taken_as_its_deployments(owner: str | None, result: str, tool: Tool) -> None:
    strict = pod_policy("strict", target="PodTemplates", nodeSelector={"pool": "a"}, onConflict="Reject")
    workload = {**a_workload(nodeSelector={"pool": "b"}), "kind": "ReplicaSet"}
    workload["metadata"] = {"name": "web", **({"ownerReferences": [an_owner(owner)]} if owner else {})}
    assert tool.answer(workload, strict)["result"] == result


def an_owner(kind: str) -> Json:
    return {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "1", "controller": True}


def test_a_report_counts_policies_for_pods_alone(tool: Tool) -> None:
    pods = cluster_pod_policy("pods", nodeSelector={"a": "b"})
    own = pod_policy("own", "elsewhere", target="PodTemplates", nodeSelector={"a": "b"})
    found = tool.report(FOR_TEMPLATES, pods, own, live("one"), arguments=("-n", "default"))
    assert [one["policy"] for one in found["policies"]] == ["pods"]
    assert (found["forTemplates"], found["pods"]["changed"]) == (["shape"], 1)
    code, text, _ = tool("report", "--objects", str(tool.folder / "objects.yaml"))
    assert (code, "for templates and not for pods: shape, elsewhere/own\n" in text) == (0, True)
