"""`penstock policy test`: every way in which its input can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.api_objects import Json, cluster_pod_policy, pod_policy
from tests.support.policy_commands import the_tool
from tests.support.policy_files import a_case, a_namespace, a_pod, a_suite, write


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


FAULTS: list[tuple[Json, str]] = [
    ({"title": "x"}, 'title: "x": is not a field that Penstock knows; remove it or correct its spelling'),
    ({"name": 3}, "name: 3: must be text"),
    ({"name": ""}, 'name: "": must not be empty'),
    ({"objects": []}, "objects: []: must not be empty"),
    ({"objects": "objects.yaml"}, 'objects: "objects.yaml": must be a list'),
    ({"objects": ["absent"]}, "absent: no such file or folder"),
    ({"settings": {"runtimeClasses": "yes"}}, 'settings.runtimeClasses: "yes": must be true or false'),
    ({"settings": {"podPolicies": True}}, "settings.podPolicies: true: is not a field that Penstock knows"),
    (
        {"settings": {"defaultRuntimeClass": "Kata"}},
        'settings.defaultRuntimeClass: "Kata": cannot be the name of a RuntimeClass',
    ),
    ({"cases": []}, "cases: []: must not be empty"),
    ({"cases": [a_case(), a_case()]}, "must have names of their own; 'first' is there twice"),
    ({"cases": [{"name": "a", "pod": {}}]}, "cases[0].expect: is required"),
    (
        {"cases": [a_case(result="denied")]},
        "cases[0].expect.result: \"denied\": must be 'allowed', 'changed' or 'refused'",
    ),
    (
        {"cases": [a_case(result="refused", pod={}, policies=[], absent=["spec"])]},
        "must not have pod, policies, absent: a pod that is refused is not there",
    ),
    ({"cases": [a_case(message="x")]}, "must not have message: only a refusal has one; see warnings"),
    ({"cases": [a_case(pods={})]}, "cases[0].expect.pods: {}: is not a field that Penstock knows"),
    ({"cases": [a_case(warnings="x")]}, 'cases[0].expect.warnings: "x": must be a list'),
    (
        {"cases": [{**a_case(), "pod": 3}]},
        "cases[0].pod: 3: must be a pod, or the path of a file with one, from this file's folder",
    ),
    ({"cases": [a_case(made="absent.yaml")]}, "absent.yaml: no such file or folder"),
    (
        {"cases": [a_case(made="objects.yaml")]},
        "cases[0].pod: 'objects.yaml': must hold one of Pod, ReplicationController, ReplicaSet",
    ),
    ({"cases": [a_case(made={"kind": "Service"})]}, "cases[0].pod: kind: 'Service': must be one of Pod, "),
    ({"cases": [a_case(made={"apiVersion": "v2"})]}, "cases[0].pod: apiVersion: 'v2': must be v1"),
    (
        {"cases": [a_case(made={"spec": {"nodeselector": {}}})]},
        "cases[0].pod: spec.nodeselector: is not a field that Kubernetes knows; did you mean nodeSelector?",
    ),
    (
        {"cases": [a_case(made={"spec": {"nodeSelector": {"a": 1}}})]},
        "cases[0].pod: spec.nodeSelector[a]: 1: must be text; put it in quotes",
    ),
    (
        {"cases": [a_case(made=a_pod(namespace="a"), namespace="b")]},
        "cases[0].pod: metadata.namespace: 'a': is not the namespace that was requested, 'b'",
    ),
    (
        {"cases": [a_case(made={"apiVersion": "batch/v1", "kind": "Job", "spec": {}})]},
        "cases[0].pod: spec.template: is required: without it no pod is made",
    ),
    (
        {
            "cases": [
                a_case(
                    made={
                        "spec": {
                            "affinity": {
                                "nodeAffinity": {
                                    "requiredDuringSchedulingIgnoredDuringExecution": {
                                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "in"}]}]
                                    }
                                }
                            }
                        }
                    }
                )
            ]
        },
        "cases[0].pod: spec.affinity, spec.tolerations or spec.nodeSelector: not of the form that pods have",
    ),
    (
        {"cases": [a_case(made={"spec": {"tolerations": [{"operators": "NoSchedule"}]}})]},
        "cases[0].pod: spec.tolerations[0].operators: is not a field that Kubernetes knows; remove it",
    ),
    (
        {"cases": [{**a_case(), "expect": {"result": "changed", "pod": {"spec": {"nodeSelecter": {}}}}}]},
        "cases[0].expect.pod.spec.nodeSelecter: is not a field that Kubernetes knows",
    ),
    (
        {"cases": [a_case(contains={"spec": {"tolerations": {}}})]},
        "cases[0].expect.contains.spec.tolerations: {}: must be a list",
    ),
    (
        {"cases": [a_case(absent=["spec.nodeSelecter", "spec.tolerations[0].key"])]},
        "cases[0].expect.absent[0]: spec.nodeSelecter: is not a field that Kubernetes knows",
    ),
]


@pytest.mark.parametrize(("fields", "text"), FAULTS, ids=[text[:60] for _, text in FAULTS])
def test_a_faulty_suite_is_told_with_file_path_and_value(
    fields: Json, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_suite(tmp_path)
    write(file, {**yaml.safe_load(file.read_text()), **fields})
    code, out, err = the_tool(capsys, tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert text in err
    assert str(tmp_path) in err
    assert "Traceback" not in err


def test_of_a_list_with_a_faulty_entry_that_entry_alone_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_suite(tmp_path, a_case(result="allowed", warnings=3))
    _, _, err = the_tool(capsys, tmp_path)
    assert err == f"Error: {file}: cases[0].expect.warnings: 3: must be a list\n"


OBJECTS: list[tuple[Json | str, str]] = [
    ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, "holds none of Namespace, ClusterPodSched"),
    ("a: [", "objects.yaml: not YAML: "),
    ("apiVersion: v1\nkind: Namespace\nkind: Pod\n", "objects.yaml: not YAML: 'kind' stands here twice"),
    ("- a", "objects.yaml: document 1: must be an object, is a list"),
    (
        {**cluster_pod_policy(), "kind": "PodSchedulingPolicies"},
        "objects.yaml: document 2: kind: 'PodSchedulingPolicies': must be one of ClusterPodSchedulingPolicy, ",
    ),
    (
        {**cluster_pod_policy(), "apiVersion": "penstock.dev/v1"},
        "apiVersion: 'penstock.dev/v1': must be penstock.dev/v1a",
    ),
    (cluster_pod_policy(mode="Enforced"), "spec.mode: \"Enforced\": must be 'Enforce', 'Warn' or 'Audit'"),
    (pod_policy(namespace=""), "PodSchedulingPolicy: metadata.namespace: is required: 'batch' is in no namespace"),
    (
        {**cluster_pod_policy(), "metadata": {"name": "a", "namespace": "b"}},
        "metadata.namespace: 'b': must go, because the kind is in no namespace",
    ),
    ({**cluster_pod_policy(), "metadata": {}}, "metadata.name: is required and must be text"),
    ({**cluster_pod_policy(), "metadata": [1]}, "metadata must be an object, is a list"),
    (a_namespace("default") | {"sepc": {}}, "Namespace: sepc: is not a field that Kubernetes knows"),
    (
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "a"}},
        "PriorityClass: priorityclass: Object missing required field `value`",
    ),
    (
        {"apiVersion": "penstock.dev/v1alpha1", "kind": "LocalQueue", "metadata": {"name": "a", "namespace": "b"}},
        "LocalQueue: spec: is required",
    ),
    (a_namespace("twice"), "Namespace 'twice' is there twice: also "),
]


@pytest.mark.parametrize(("faulty", "text"), OBJECTS, ids=[text[:60] for _, text in OBJECTS])
def test_faulty_objects_are_told_with_file_document_and_path(
    faulty: Json | str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_suite(tmp_path)
    file = tmp_path / "objects.yaml"
    if isinstance(faulty, str):
        file.write_text(faulty)
    elif faulty.get("kind") == "ConfigMap":
        write(file, faulty)
    else:
        write(file, a_namespace("twice"), faulty)
    code, out, err = the_tool(capsys, tmp_path)
    assert (code, out) == (2, "")
    assert text in err
    assert str(file) in err or "'objects.yaml'" in err


def test_all_faulty_suites_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_suite(tmp_path / "a", name=1)
    a_suite(tmp_path / "b", name=2)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "policy-test.yaml").write_text("---\na: 1\n---\nb: 1\n")
    (tmp_path / "d.policy-test.yaml").write_bytes(b"\xff")
    code, _, err = the_tool(capsys, tmp_path)
    assert code == 2
    assert [line.split(": ", 1)[1] for line in err.removeprefix("Error: ").splitlines()] == [
        "name: 1: must be text",
        "name: 2: must be text",
        "must hold one suite, holds 2 documents",
        "cannot be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    ]
