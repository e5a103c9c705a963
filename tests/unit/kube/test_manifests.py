"""Reading manifests: what is taken, what is left out, and the words for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.kube.manifests import ManifestError, is_policy_test, load_documents, read_documents

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


def test_a_file_may_hold_many_objects_and_gaps(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text(f"# a comment\n---\n{POD}---\n---\n{POD}")

    assert [document["kind"] for document in load_documents(file)] == ["Pod", "Pod"]


def test_a_folder_is_read_in_order_without_kustomizations(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one.yml").write_text(POD.replace("name: a", "name: second"))
    (tmp_path / "a.yaml").write_text(POD.replace("name: a", "name: first"))
    (tmp_path / "kustomization.yaml").write_text("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
    (tmp_path / "readme.txt").write_text("no manifest")

    assert [document["metadata"]["name"] for document in load_documents(tmp_path)] == ["first", "second"]


def test_objects_of_a_list_know_where_they_stood(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    item = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"
    file.write_text(f"{POD}---\napiVersion: v1\nkind: List\nitems: [{item}, {item}]\n---\nkind: List\napiVersion: v1\n")

    found = read_documents(file)

    assert [document["kind"] for document in found] == ["Pod", "Pod", "Pod"]
    assert [document.where for document in found] == [
        f"{file}: document 1",
        f"{file}: document 2: items[0]",
        f"{file}: document 2: items[1]",
    ]


def test_policy_tests_are_no_objects(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POD)
    for name in ("policy-test.yaml", "gpu.policy-test.yaml"):
        (tmp_path / name).write_text("name: a suite\n")
        assert is_policy_test(tmp_path / name)

    assert not is_policy_test(tmp_path / "my-policy-test.yaml")
    assert len(load_documents(tmp_path)) == 1


def test_a_name_can_be_left_to_whoever_reads(tmp_path: Path) -> None:
    file = tmp_path / "generated.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n")

    assert len(read_documents(file)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not YAML: "),
        ("a: 1\na: 2\n", "not YAML: 'a' stands here twice"),
        ("a: &a\n  b: *a\n", "line 2: *a stands within what it refers to"),
        ("{apiVersion: v1, kind: Pod, metadata: x}", "document 1: Pod: metadata must be an object, is text"),
        ("{apiVersion: v1, kind: Pod, metadata: null}", "document 1: Pod: metadata must be an object, is nothing"),
        (f"a:\n  {'[' * 10_000}{']' * 10_000}", "line 2: is nested more than 200 levels deep, as no object is"),
        (f"{POD}---\n{'[' * 100_000}", "line 5: is nested more than 200 levels deep"),
        ("apiVersion: v1\nkind: List\nitems: [3]\n", "document 1: items[0]: must be an object, is a number"),
        (
            "apiVersion: v1\nkind: List\nitems: [2026-01-01]\n",
            "document 1: items[0]: must be an object, is something else",
        ),
        ("- a\n", "document 1: must be an object, is a list"),
        (f"{POD}---\nkind: Pod\n", "document 2: apiVersion is required and must be text"),
        ("apiVersion: v1\nkind: 3\n", "document 1: kind is required and must be text"),
        ("apiVersion: v1\nkind: Pod\n", "document 1: Pod: metadata.name is required and must be text"),
    ],
)
def test_a_fault_names_file_and_document(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "faulty.yaml"
    file.write_text(text)

    with pytest.raises(ManifestError) as caught:
        load_documents(file)

    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="no such file or folder"):
        load_documents(tmp_path / "absent")
    with pytest.raises(ManifestError, match=r"holds no \.yaml"):
        load_documents(tmp_path)
