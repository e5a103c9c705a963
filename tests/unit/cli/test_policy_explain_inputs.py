"""`penstock policy explain`: what it takes a pod from, and what it says of input that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.main import root
from controller.core.keys import KUEUE_QUEUE, QUEUE_NAME
from tests.support.api_objects import Json, cluster_pod_policy, node_terms, pod_policy, requirement
from tests.support.policy_commands import ExplainTool, Stdin, step
from tests.support.policy_files import a_namespace, a_pod, write

CONFIG = Path(__file__).parents[3] / "config"
NOT_READY = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}"
UNREACHABLE = NOT_READY.replace("not-ready", "unreachable")
TERM = {"matchExpressions": [requirement("In", "a")]}
TEMPLATE: Json = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "none"}]}}


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ExplainTool:
    return ExplainTool(tmp_path, capsys)


WORKLOADS: list[tuple[str, str, Json, str]] = [
    ("v1", "ReplicationController", {"template": TEMPLATE}, "replication-controller"),
    ("apps/v1", "ReplicaSet", {"selector": {}, "template": TEMPLATE}, "replicaset-controller"),
    ("apps/v1", "Deployment", {"selector": {}, "template": TEMPLATE}, "replicaset-controller"),
    ("apps/v1", "StatefulSet", {"serviceName": "x", "selector": {}, "template": TEMPLATE}, "statefulset-controller"),
    ("apps/v1", "DaemonSet", {"selector": {}, "template": TEMPLATE}, "daemon-set-controller"),
    ("batch/v1", "Job", {"template": TEMPLATE}, "job-controller"),
    (
        "batch/v1",
        "CronJob",
        {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}},
        "job-controller",
    ),
]


@pytest.mark.parametrize(("version", "kind", "spec", "_account"), WORKLOADS)
def test_of_a_workload_the_pod_that_it_will_make_is_explained(
    version: str, kind: str, spec: Json, _account: str, tool: ExplainTool
) -> None:
    workload = {"apiVersion": version, "kind": kind, "metadata": {"name": "web", "namespace": "team"}, "spec": spec}
    policy = pod_policy(namespace="team", podSelector={"matchLabels": {"app": "web"}}, nodeSelector={"a": "b"})
    answer = tool.answer(workload, policy, a_namespace("team"))
    assert (answer["madeBy"], answer["namespace"], answer["result"]) == (f"{kind} 'web'", "team", "changed")
    place = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"
    assert answer["notes"][0].startswith(f"judged is the pod of {place}; labels whose values only the cluster knows")
    assert tool.text(workload, policy, a_namespace("team"))[1].startswith(
        f"The pod that {kind} 'web' makes in namespace"
    )


def test_labels_that_controllers_add_count(tool: ExplainTool) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": {"template": TEMPLATE}}
    by_job = pod_policy(podSelector={"matchLabels": {"job-name": "train"}}, nodeSelector={"a": "b"})
    assert tool.answer(job, by_job)["result"] == "changed"
    sets = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}}
    first = pod_policy(podSelector={"matchLabels": {"statefulset.kubernetes.io/pod-name": "db-0"}}, nodeName="n")
    spec = {"serviceName": "db", "selector": {}, "template": TEMPLATE}
    assert tool.answer({**sets, "spec": spec}, first)["directives"]["nodeName"] == "n"


def test_a_daemon_sets_pod_is_bound_to_its_node_not_queued(tool: ExplainTool) -> None:
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "hostNetwork": True, "affinity": node_terms(TERM)}}
    labelled = {**template, "metadata": {"labels": {QUEUE_NAME: "main"}}}
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}}
    answer = tool.answer(
        {**daemons, "spec": {"selector": {}, "template": labelled}}, cluster_pod_policy(nodeName="other")
    )
    field = {"key": "metadata.name", "operator": "In", "values": ["NODE"]}
    assert answer["directives"]["affinity"] == node_terms({**TERM, "matchFields": [field]})
    keys = [one["key"].removeprefix("node.kubernetes.io/") for one in answer["directives"]["tolerations"]]
    assert keys == [
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
        "network-unavailable",
    ]
    assert "schedulingGates" not in answer["directives"]
    assert "NODE stands for the name of each node that gets a pod" in answer["notes"]
    assert step(answer)["policies"][0]["conflicts"][0]["field"] == "nodeName"


def test_all_pods_of_a_file_are_explained_and_the_rest_is_told(tool: ExplainTool) -> None:
    refusing = pod_policy(nodeSelector={"a": "b"}, onConflict="Reject")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}
    code, out, err = tool.text([a_pod("one"), service, a_pod("two", nodeSelector={"a": "c"})], refusing)
    assert code == 1
    assert "Pod 'one' in namespace 'default'" in out
    assert "\n\nPod 'two' in namespace 'default'" in out
    assert err == f"{tool.folder / 'pod.yaml'}: document 2: Service: makes no pods, left out\n"


def test_a_pod_can_come_from_stdin(tool: ExplainTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(yaml.safe_dump(a_pod())))
    objects = write(tool.folder / "objects.yaml", a_namespace("default"))
    code, out, err = tool("-f", "-", "--objects", str(objects))
    assert (code, err) == (0, "")
    assert out.startswith("Pod 'one' in namespace 'default'")
    monkeypatch.setattr(sys, "stdin", Stdin("a: ["))
    code, _, err = tool("-f", "-", "--objects", str(objects))
    assert code == 2
    assert err.startswith("Error: <stdin>: not YAML: ")


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"apiVersion": "v1", "kind": "Service"}, "pod.yaml: holds Service; needed is one of Pod, ReplicationCont"),
        (None, "pod.yaml: holds no object; needed is one of Pod, "),
        ([1], "pod.yaml: document 1: must be an object, is a list"),
        ({"kind": "Pod"}, "pod.yaml: document 1: apiVersion is required and must be text"),
        ({**a_pod(), "apiVersion": "v2"}, "pod.yaml: document 1: Pod: apiVersion: 'v2': must be v1"),
        (a_pod(nodeselector={}), "Pod: spec.nodeselector: is not a field that Kubernetes knows; did you mean nodeSel"),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": []}},
            "Job: spec.template: []: must be an object",
        ),
        (a_pod(namespace="b"), "Pod: metadata.namespace: 'b': is not the namespace that was requested, 'a'"),
        (
            a_pod(affinity=node_terms({"matchExpressions": [{"key": "a", "operator": "in"}]})),
            "Pod: spec.affinity, spec.tolerations or spec.nodeSelector: not of the form that pods have",
        ),
    ],
)
def test_input_that_is_no_pod_has_no_answer(document: Any, text: str, tool: ExplainTool) -> None:
    code, out, err = tool.text([document], arguments=("-n", "a"))
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert text in err


def test_bytes_that_are_no_text_are_told(tool: ExplainTool) -> None:
    file = tool.folder / "pod.yaml"
    file.write_bytes(b"\xff\xfe")
    code, _, err = tool("-f", str(file), "--objects", str(tool.folder))
    assert code == 2
    assert err.startswith(f"Error: {file}: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("-f", "absent.yaml"),
        ("--objects", "absent"),
        ("-f", "-", "--default-runtime-class", "Kata", "--objects", "."),
        ("-f", "-", "-o", "yaml"),
        (),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...], tool: ExplainTool) -> None:
    code, out, err = tool(*arguments)
    assert (code, out) == (2, "")
    assert "Error: " in err


def test_several_files_are_explained_one_after_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [write(tmp_path / f"{name}.yaml", a_pod(name=name)) for name in ("one", "two")]
    namespaces = write(tmp_path / "objects.yaml", a_namespace("default"))
    arguments = ["policy", "explain", "-f", str(paths[0]), "-f", str(paths[1]), "--objects", str(namespaces)]
    assert root.main(arguments, standalone_mode=False) == 0
    out = capsys.readouterr().out
    assert out.index("one") < out.index("two")


@pytest.mark.parametrize("label", [QUEUE_NAME, KUEUE_QUEUE])
def test_a_queue_label_on_a_kind_that_is_not_queued_is_told(label: str, tool: ExplainTool) -> None:
    job_set = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"labels": {label: "main"}}}
    _, _, err = tool.text([a_pod(), job_set], a_namespace("default"))
    assert f"metadata.labels[{label}]: 'main' on JobSet without a name queues nothing" in err
    assert f"put the label {QUEUE_NAME} into the templates of its pods, or they run outside every queue" in err
    code, _, err = tool.text([job_set], a_namespace("default"))
    assert code == 2
    assert "document 1: metadata.labels" in err


def test_objects_of_groups_that_make_pods_are_never_passed_over(tool: ExplainTool) -> None:
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "fit"}}
    _, _, err = tool.text([a_pod(), job], a_namespace("default"))
    assert "document 2: RayJob fit: no WorkloadKind holds" in err
    assert "makes no pods" not in err
