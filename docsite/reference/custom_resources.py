"""A page for each kind of Penstock: every field with its type, default, bounds and description, as its CRD has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from controller.api.base import Resource
from controller.api.crd import KINDS, render
from docsite.reference.tables import WRITTEN, cell, code, table

_SIZES = (
    ("maxLength", "at most {} characters"),
    ("maxItems", "at most {} items"),
    ("maxProperties", "at most {} keys"),
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
)
_NO_BOUND = {2**31 - 1, 2**63 - 1}
"""What the type alone says, so that it is no bound worth a word."""
_EMPTY = ("minLength", "minItems", "minProperties")


def pages() -> dict[str, str]:
    """The text of each page, by its name."""
    return {f"{kind.definition.kind.lower()}.md": _page(kind) for kind in KINDS}


def _page(kind: type[Resource]) -> str:
    crd = render(kind)
    names, version = crd["spec"]["names"], crd["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    scope = "of a namespace" if kind.definition.namespaced else "of the cluster"
    head = (
        f"{WRITTEN}\n# {names['kind']}\n\n{schema['description']}\n\n"
        f"`apiVersion: {crd['spec']['group']}/{version['name']}`, an object {scope}."
        f" `kubectl get {names['plural']}`, or `{names['shortNames'][0]}`, lists them.\n"
    )
    parts = [(part, schema["properties"][part]) for part in ("spec", "status") if part in schema["properties"]]
    return head + "".join(f"\n## {part}\n\n{_part(part, of)}" for part, of in parts) + _columns(version)


def _part(part: str, schema: dict[str, Any]) -> str:
    text = f"{schema['description']}\n\n" if "description" in schema else ""
    rows = [(code(path), cell(kind), text) for path, kind, text in _fields(part, schema)]
    rules = "".join(f"- {cell(_about(rule, part))}\n" for rule in schema.get("x-kubernetes-validations", ()))
    return (
        text
        + (f"Rules about several fields:\n\n{rules}\n" if rules else "")
        + table(("field", "type", "meaning"), rows)
    )


def _fields(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Path, type and meaning of each field below `path`."""
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        yield here, _type(field), _meaning(field, is_required=name in required)
        yield from _fields(*_within(here, field))


def _within(path: str, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The schema that has the fields of a value, and its path: for lists and maps that of their members."""
    while True:
        if "items" in schema:
            path, schema = f"{path}[]", schema["items"]
        elif isinstance(schema.get("additionalProperties"), dict):
            path, schema = f"{path}.*", schema["additionalProperties"]
        else:
            return path, schema


def _type(schema: dict[str, Any]) -> str:
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map of {_type(schema['additionalProperties'])}"
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    return str(schema.get("format") if schema.get("format") == "date-time" else schema.get("type", "any"))


def _meaning(schema: dict[str, Any], *, is_required: bool) -> str:
    parts = ["**Required.**"] if is_required else []
    parts += [cell(schema["description"])] if "description" in schema else []
    if schema.get("default") is not None:
        parts.append(f"Default: {code(_value(schema['default']))}.")
    parts += [*_bounds(schema), *(cell(_about(rule)) + "." for rule in _rules(schema))]
    return " ".join(parts)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _bounds(schema: dict[str, Any]) -> Iterator[str]:
    member = schema.get("items") or schema
    if "enum" in member:
        yield f"One of {', '.join(code(_value(one)) for one in member['enum'])}."
    bounds = [text.format(schema[key]) for key, text in _SIZES if key in schema and schema[key] not in _NO_BOUND]
    if bounds:
        yield f"{'; '.join(bounds).capitalize()}."
    if any(schema.get(key) == 1 for key in _EMPTY):
        yield "Not empty."


def _rules(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rules of a field, or of the members of a list."""
    yield from schema.get("x-kubernetes-validations", ())
    yield from schema.get("items", {}).get("x-kubernetes-validations", ())


def _about(rule: dict[str, Any], part: str = "") -> str:
    """What a rule asks for, with the field that it is about."""
    field = f"{part}{rule.get('fieldPath', '')}" if part else ""
    message = rule["message"].rstrip(".")
    if field:
        return f"`{field}`: {message}"
    # a rule about another field begins with that field's name
    return message if "fieldPath" in rule else f"{message[:1].upper()}{message[1:]}"


def _columns(version: dict[str, Any]) -> str:
    rows = [
        (cell(one["name"]) + (" (with `-o wide`)" if one.get("priority") else ""), cell(one["description"]))
        for one in version["additionalPrinterColumns"]
    ]
    return f"\n## Columns of kubectl get\n\n{table(('column', 'meaning'), rows)}" if rows else ""
