"""The structural schemas that CRDs are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from controller.api.crd import KINDS, render, render_files
from controller.api.schema import NotStructural, Schema, structural


class Inner(BaseModel):
    """The words of the model."""

    value: Annotated[str, Field(max_length=9)] = "x"


class Outer(BaseModel):
    own: Inner
    described: Annotated[Inner, Field(description="The words of the field.")]
    optional: Inner | None = None
    fixed: Literal["a"] = "a"
    many: Annotated[tuple[Inner, ...], Field(max_length=4)] = ()
    by_name: Annotated[dict[str, Inner], Field(max_length=4)] = Field(default_factory=dict)


def schemas_within(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from schemas_within(child, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from schemas_within(schema[name], f"{path}[]")


def openapi(crd: dict[str, Any]) -> Schema:
    schema: Schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def test_references_are_replaced_and_the_field_wins() -> None:
    properties = structural(Outer)["properties"]

    assert properties["own"]["description"] == "The words of the model."
    assert properties["described"]["description"] == "The words of the field."
    assert properties["optional"]["properties"].keys() == {"value"}
    assert properties["many"]["items"]["type"] == "object"
    assert properties["by_name"]["additionalProperties"]["type"] == "object"


def test_nullable_is_optional_and_constant_an_enum() -> None:
    schema = structural(Outer)

    assert schema["required"] == ["own", "described"]
    assert schema["properties"]["fixed"] == {"default": "a", "enum": ["a"], "type": "string"}


def test_empty_defaults_are_not_written() -> None:
    properties = structural(Outer)["properties"]

    assert "default" not in properties["many"]
    assert "default" not in properties["by_name"]


def test_a_value_without_a_bound_is_refused_with_its_place() -> None:
    class Unbounded(BaseModel):
        names: Annotated[tuple[str, ...], Field(max_length=3)]

    with pytest.raises(NotStructural, match=r"^Unbounded\.names\[\]: has no maxLength$"):
        structural(Unbounded)


def test_a_value_of_two_types_is_refused_with_its_place() -> None:
    class Mixed(BaseModel):
        value: int | bool

    with pytest.raises(NotStructural, match=r"^Mixed\.value: has no single type$"):
        structural(Mixed)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described(kind: Any) -> None:
    undescribed = [
        f"{path}.{name}"
        for path, schema in schemas_within(openapi(render(kind)))
        for name, child in schema.get("properties", {}).items()
        if not path.startswith(".metadata") and name != "metadata" and not child.get("description")
    ]

    assert undescribed == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_has_a_message(kind: Any) -> None:
    schemas = [schema for _, schema in schemas_within(openapi(render(kind)))]
    rules = [rule for schema in schemas for rule in schema.get("x-kubernetes-validations", ())]

    assert rules
    assert all(rule["message"] for rule in rules)


def test_rendering_twice_gives_the_same_text() -> None:
    assert render_files() == render_files()


def test_the_kinds_have_names_of_their_own() -> None:
    names = {crd["metadata"]["name"]: crd["spec"]["names"]["shortNames"] for crd in map(render, KINDS)}

    assert names == {
        "clusterpodschedulingpolicies.penstock.dev": ["pcpsp"],
        "podschedulingpolicies.penstock.dev": ["ppsp"],
        "clusterqueues.penstock.dev": ["pcq"],
        "localqueues.penstock.dev": ["plq"],
        "resourceflavors.penstock.dev": ["prf"],
        "schedulingpolicies.penstock.dev": ["schedpol"],
        "workloadkinds.penstock.dev": ["pwk"],
        "workloadpriorityclasses.penstock.dev": ["pwpc"],
    }
