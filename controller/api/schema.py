"""From a pydantic model to a structural schema, the form of OpenAPI v3 that a CRD may hold.

Knows JSON Schema and the apiserver's rules for it; knows no kind of ours. What a structural schema cannot say in the
same way is turned round or dropped here: `$ref` is put in place, `anyOf` with null becomes an optional value, `const`
an `enum`, `title` and `additionalProperties: false` go (the apiserver prunes or, if strict, refuses unknown fields).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_DROPPED = ("title", "const", "anyOf", "$ref", "$defs")
_BOUNDED = {"array": "maxItems", "string": "maxLength", "object": "maxProperties"}


class NotStructural(Exception):
    """A model says something that a CRD cannot hold; the text names the place in the model."""


def structural(model: type[BaseModel]) -> Schema:
    """Return the structural schema of `model`. Raises NotStructural for what has no counterpart."""
    whole = model.model_json_schema(by_alias=True, mode="validation")
    return _convert(whole, whole.get("$defs", {}), model.__name__)


def _convert(node: Mapping[str, Any], definitions: Mapping[str, Schema], where: str) -> Schema:
    node = _resolve(node, definitions)
    if node.get("x-kubernetes-int-or-string"):
        return dict(node)
    result = {key: value for key, value in node.items() if key not in _DROPPED}
    if "const" in node:
        result["enum"] = [node["const"]]
    # An empty default says no more than absence does, and would be written into every object.
    if "default" in result and (default := _without_nulls(result.pop("default"))) not in (None, "", 0, [], {}):
        result["default"] = default
    _check(result, where)
    _convert_children(result, definitions, where)
    return result


def _convert_children(result: Schema, definitions: Mapping[str, Schema], where: str) -> None:
    if "items" in result:
        result["items"] = _convert(result["items"], definitions, f"{where}[]")
    if result.get("additionalProperties") is False:
        del result["additionalProperties"]
    elif "additionalProperties" in result:
        result["additionalProperties"] = _convert(result["additionalProperties"], definitions, f"{where}[*]")
    if "properties" in result:
        result["properties"] = {
            name: _convert(child, definitions, f"{where}.{name}") for name, child in result["properties"].items()
        }


def _resolve(node: Mapping[str, Any], definitions: Mapping[str, Schema]) -> Schema:
    """Put the referred schema in place; what the field says beside the reference wins over the model's own words."""
    node = dict(node)
    if "$ref" in node:
        target = definitions[node["$ref"].removeprefix("#/$defs/")]
        return {**_resolve(target, definitions), **{key: value for key, value in node.items() if key != "$ref"}}
    if "anyOf" in node and not node.get("x-kubernetes-int-or-string"):
        choices = [choice for choice in node["anyOf"] if choice.get("type") != "null"]
        if len(choices) == 1:
            beside = {key: value for key, value in node.items() if key != "anyOf"}
            return {**_resolve(choices[0], definitions), **beside}
    return node


def _without_nulls(default: Any) -> Any:
    if isinstance(default, dict):
        return {key: _without_nulls(value) for key, value in default.items() if value is not None}
    return default


def _check(schema: Schema, where: str) -> None:
    kind = schema.get("type")
    if kind is None:
        raise NotStructural(f"{where}: has no single type")
    # CEL's cost is estimated from the largest value that the schema lets in, so everything needs a bound.
    bound = _BOUNDED.get(kind)
    open_ended = kind != "object" or schema.get("additionalProperties")
    if bound and open_ended and not {bound, "enum", "format"} & schema.keys():
        raise NotStructural(f"{where}: has no {bound}")
