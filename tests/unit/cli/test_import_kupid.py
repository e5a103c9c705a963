"""`penstock import kupid`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from controller.cli.main import root
from tests.support.api_objects import Json, node_terms, requirement

WIDE = "ClusterPodSchedulingPolicy"


def of_kupid(kind: str = "PodSchedulingPolicy", **spec: Any) -> Json:
    metadata: Json = {"name": "etcd", "uid": "x", "resourceVersion": "7", "labels": {"a": "b"}}
    if kind != WIDE:
        metadata["namespace"] = "shoot"
    return {"apiVersion": "kupid.gardener.cloud/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def convert(*documents: Any, options: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(root, ["import", "kupid", "-f", "-", *options], input=yaml.safe_dump_all(documents))


def test_objects_become_ours_with_their_whole_spec() -> None:
    spec: Json = {
        "podSelector": {},
        "nodeSelector": {"pool": "", "zone": "a"},
        "affinity": node_terms({"matchExpressions": [requirement("In", "etcd")]}),
        "tolerations": [{"key": "etcd", "operator": "", "value": "x", "effect": "NoExecute"}],
        "nodeName": "",
        "schedulerName": None,
    }
    done = convert(of_kupid(**spec), of_kupid(WIDE, namespaceSelector={}, podSelector=None))
    assert done.exit_code == 0, done.output
    own, wide = yaml.safe_load_all(done.stdout)
    assert own == {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PodSchedulingPolicy",
        "metadata": {"name": "etcd", "namespace": "shoot", "labels": {"a": "b"}},
        "spec": {
            "podSelector": {},
            "nodeSelector": spec["nodeSelector"],
            "affinity": spec["affinity"],
            "tolerations": [{"key": "etcd", "value": "x", "effect": "NoExecute"}],
        },
    }
    assert (wide["kind"], wide["spec"]) == (WIDE, {"namespaceSelector": {}})
    assert done.stderr.startswith("Warning: kupid changed the templates in Deployments")
    assert done.stderr.count("Warning: ") == 1


def test_what_differs_is_told_on_stderr() -> None:
    done = convert(of_kupid(podSelector={}, nodeName="n1", schedulerName="x"))
    assert done.exit_code == 0
    assert "Warning: <stdin>: document 1: spec.nodeName: becomes a required node affinity" in done.stderr
    assert "Warning: <stdin>: document 1: spec.schedulerName: takes effect here" in done.stderr


def test_templates_are_the_target_where_that_is_asked_for() -> None:
    done = convert(of_kupid(podSelector={}), of_kupid(WIDE), options=("--target", "PodTemplates"))
    assert done.exit_code == 0, done.output
    assert [one["spec"]["target"] for one in yaml.safe_load_all(done.stdout)] == ["PodTemplates", "PodTemplates"]
    assert done.stderr.startswith("Warning: templates are changed only with config/components/pod-template-policies")
    assert done.stderr.count("Warning: ") == 1


def test_a_list_is_taken_apart_and_kubectls_annotation_goes() -> None:
    item = of_kupid()
    item["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "x"}
    done = convert({"apiVersion": "v1", "kind": "List", "items": [item, of_kupid(WIDE)]})
    assert done.exit_code == 0, done.output
    first, second = yaml.safe_load_all(done.stdout)
    assert first["metadata"]["annotations"] == {"mine": "x"}
    assert second["kind"] == WIDE


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({**of_kupid(), "apiVersion": "kupid.gardener.cloud/v2"}, "v2': must be kupid.gardener.cloud/v1alpha1"),
        ({**of_kupid(), "kind": "Policy"}, "kind: 'Policy': must be PodSchedulingPolicy or ClusterPodSchedulingPolicy"),
        ({**of_kupid(), "kind": []}, "kind: []: must be PodSchedulingPolicy or ClusterPodSchedulingPolicy"),
        ({"kind": "PodSchedulingPolicy"}, "apiVersion: is required: kupid.gardener.cloud/v1alpha1"),
        ("text", "must be an object, is text"),
        ({**of_kupid(), "metadata": 3}, "metadata: 3: must be an object"),
        ({**of_kupid(), "spec": None}, "spec: null: must be an object"),
        (of_kupid(affinity=node_terms({})), "nodeSelectorTerms[0]: {}: must have matchExpressions or matchFields"),
        (of_kupid(nodename="x"), 'spec.nodename: "x": is not a field that Penstock knows'),
    ],
)
def test_a_fault_names_its_place_and_nothing_is_written(document: Any, text: str) -> None:
    done = convert(of_kupid(), document)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: <stdin>: document 2: ")
    assert text in done.stderr


def test_an_empty_list_is_no_fault_beside_an_object() -> None:
    done = convert({"apiVersion": "v1", "kind": "List", "items": []}, of_kupid(podSelector={}))
    assert (done.exit_code, len(list(yaml.safe_load_all(done.stdout)))) == (0, 1)


@pytest.mark.parametrize("project", ["kupid", "kueue"])
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a: [", "not YAML: "),
        ("a: 1\na: 2\n", "not YAML: 'a' stands here twice"),
        ("\x00", "not YAML: "),
        ("", "holds no object"),
        ("---\n", "no object"),
        ("{kind: List, items: []}", "holds no object"),
        (f"a: {'[' * 10_000}{']' * 10_000}", "line 1: is nested more than 200 levels deep, as no object is"),
    ],
)
def test_a_file_without_objects_is_told_by_its_name(tmp_path: Path, project: str, content: str, text: str) -> None:
    file = tmp_path / "policies.yaml"
    file.write_text(content)
    done = CliRunner().invoke(root, ["import", project, "-f", str(file)])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {file}: ")
    assert text in done.stderr


def test_several_files_are_converted_together(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.yaml" for name in ("one", "two")]
    for file in files:
        document = of_kupid(WIDE, podSelector={})
        document["metadata"]["name"] = file.stem
        file.write_text(yaml.safe_dump(document))
    done = CliRunner().invoke(root, ["import", "kupid", "-f", str(files[0]), "-f", str(files[1])])
    assert done.exit_code == 0, done.output
    assert [one["metadata"]["name"] for one in yaml.safe_load_all(done.stdout)] == ["one", "two"]


def test_two_policies_of_one_name_are_refused() -> None:
    done = convert(of_kupid(podSelector={}), of_kupid(WIDE, podSelector={}), of_kupid(podSelector={}))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: <stdin>: document 3: PodSchedulingPolicy etcd: metadata.name: there is another at "
        "<stdin>: document 1; leave one out\n"
    )


def test_objects_of_other_projects_are_left_out_and_named() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shoot"}}
    done = convert(namespace, of_kupid(podSelector={}))
    assert done.exit_code == 0
    assert [one["kind"] for one in yaml.safe_load_all(done.stdout)] == ["PodSchedulingPolicy"]
    assert "Warning: <stdin>: document 1: Namespace is left out: nothing to convert\n" in done.stderr
    alone = convert(namespace)
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert "Error: <stdin>: holds no object of kupid.gardener.cloud/v1alpha1\n" in alone.stderr
