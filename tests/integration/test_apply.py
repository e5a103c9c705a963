"""Server-side apply of manifests on a real apiserver."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest

from controller.kube.apply import ApplyError, Reference, apply, delete
from controller.kube.client import Client
from controller.kube.manifests import load_documents

pytestmark = pytest.mark.integration


def config_map(name: str = "facts", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def crd(group: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def test_objects_without_a_namespace_go_to_the_one_given(admin: Client, namespace: str) -> None:
    applied = await apply(admin, [config_map()], namespace=namespace)

    assert applied == [Reference("v1", "ConfigMap", namespace, "facts")]
    assert await admin.get(f"/api/v1/namespaces/{namespace}/configmaps/facts")


async def test_instances_may_come_before_kind_and_namespace(admin: Client) -> None:
    group = f"x{secrets.token_hex(4)}.example.com"
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": group.split(".")[0]}}
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": group.split(".")[0]}}
    documents = [thing, crd(group), home]

    applied = await apply(admin, documents)

    assert [reference.kind for reference in applied] == ["Namespace", "CustomResourceDefinition", "Thing"]
    assert await delete(admin, documents) == applied[::-1]


async def test_deleting_what_is_not_there_is_no_fault(admin: Client, namespace: str) -> None:
    unknown_kind = {"apiVersion": "nothing.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}

    assert await delete(admin, [config_map(), unknown_kind], namespace=namespace) == []


async def test_a_refusal_names_file_kind_and_name(admin: Client, namespace: str, tmp_path: Path) -> None:
    file = tmp_path / "faulty.yaml"
    file.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: Facts, namespace: {namespace}}}\n")

    with pytest.raises(ApplyError) as caught:
        await apply(admin, load_documents(file))

    assert str(caught.value).startswith(f"{file}: ConfigMap {namespace}/Facts: 422 Invalid: ")
    assert "metadata.name" in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_field_that_does_not_exist_is_refused(admin: Client, namespace: str) -> None:
    with pytest.raises(ApplyError, match=r"ConfigMap facts: .*\.datum: field not declared in schema"):
        await apply(admin, [config_map(datum={})], namespace=namespace)


async def test_a_kind_that_is_not_served_is_named(admin: Client) -> None:
    with pytest.raises(ApplyError, match=r"^Pot a: 404: the apiserver has no kind Pot in v1$"):
        await apply(admin, [{"apiVersion": "v1", "kind": "Pot", "metadata": {"name": "a"}}])


async def test_a_namespace_that_does_not_exist_is_named_at_once(admin: Client) -> None:
    with pytest.raises(ApplyError, match=r'^ConfigMap facts: 404 NotFound: namespaces "nowhere" not found$'):
        await apply(admin, [config_map()], namespace="nowhere")
