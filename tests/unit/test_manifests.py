"""Reading manifests: what is taken, what is left out, and the words for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.kube.manifests import ManifestError, load_documents

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


def test_a_file_may_hold_many_objects_and_gaps(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text(f"# a comment\n---\n{POD}---\n---\n{POD}")

    assert [document["kind"] for document in load_documents(file)] == ["Pod", "Pod"]


def test_a_folder_is_read_in_the_order_of_its_paths_without_kustomizations(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one.yml").write_text(POD.replace("name: a", "name: second"))
    (tmp_path / "a.yaml").write_text(POD.replace("name: a", "name: first"))
    (tmp_path / "kustomization.yaml").write_text("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
    (tmp_path / "readme.txt").write_text("no manifest")

    assert [document["metadata"]["name"] for document in load_documents(tmp_path)] == ["first", "second"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not YAML: "),
        ("- a\n", "document 1: must be an object, is list"),
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
