"""The OpenAPI documents of the resources, from their msgspec Structs: for `kubectl explain`, clients and generators.

A Struct's docstring describes it; that of a field stands in `msgspec.Meta(description=…)`. Version 3 is what clients
of today ask for. Version 2 is what the apiserver merges into its own for older ones: it has no `anyOf`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Set
from typing import Any, Final

import msgspec

from controller.extension_api.paths import ROOT
from controller.extension_api.resources import API_VERSION, GROUP, VERSION, Registry, Resource

Json = dict[str, Any]
_PREFIX: Final = "dev.penstock.visibility.v1alpha1."
_ROWS: Final = f"{_PREFIX}status."
"""A row may be called as its kind."""
_SPECS: Final = f"{_PREFIX}spec."
_V3, _V2 = "#/components/schemas/", "#/definitions/"
_TEXT: Final = {"type": "string"}
_KINDS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_ENVELOPE: Final[Json] = {
    "apiVersion": {**_TEXT, "description": f"Version of the form of this object: {_KINDS}#resources"},
    "kind": {**_TEXT, "description": f"Kind of this object: {_KINDS}#types-kinds"},
}
_METADATA: Final[Json] = {
    "type": "object",
    "description": "Name of the object, and its namespace. Computed objects have neither uid nor version.",
    "properties": {"name": _TEXT, "namespace": _TEXT},
}
_TEXTS: Final[Json] = {"type": "object", "additionalProperties": _TEXT}
_SENT_METADATA: Final[Json] = {
    "type": "object",
    "description": "Metadata of the object, which is not stored: the answer repeats it.",
    "properties": {
        "name": _TEXT,
        "namespace": _TEXT,
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "creationTimestamp": {**_TEXT, "nullable": True},
    },
}
_LIST_METADATA: Final[Json] = {
    "type": "object",
    "properties": {"continue": _TEXT, "remainingItemCount": {"type": "integer", "format": "int64"}},
}


def version_3(registry: Registry) -> Json:
    """Return the document of the version."""
    info = {"title": "Penstock visibility", "version": VERSION}
    schemas = _schemas(registry, _V3)
    return {"openapi": "3.0.0", "info": info, "paths": _paths(registry, _V3), "components": {"schemas": schemas}}


def version_2(registry: Registry) -> Json:
    """Return the same for those who read Swagger 2.0."""
    info = {"title": "Penstock visibility", "version": VERSION}
    definitions = _without_choices(_schemas(registry, _V2))
    return {"swagger": "2.0", "info": info, "paths": _paths(registry, _V2), "definitions": definitions}


def index(document: bytes) -> Json:
    """Return where the document is, with a digest of it, so that it is fetched again only when it has changed."""
    digest = hashlib.sha256(document).hexdigest().upper()
    path = f"apis/{API_VERSION}"
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}}}


def _paths(registry: Registry, prefix: str) -> Json:
    paths: Json = {path: {"get": operation} for one in registry.all for path, operation in _operations(one, prefix)}
    for one in registry.all:
        if one.create is not None:
            paths.setdefault(_within(one, one.plural), {})["post"] = _creation(one, prefix)
    return paths


def _within(one: Resource, path: str) -> str:
    return f"{ROOT}/namespaces/{{namespace}}/{path}" if one.is_namespaced else f"{ROOT}/{path}"


def _operations(one: Resource, prefix: str) -> Iterator[tuple[str, Json]]:
    if one.subresource:
        path = _within(one, f"{one.plural}/{{name}}/{one.subresource}")
        yield path, _operation(one, prefix, is_list=one.list is not None)
        return
    if one.list is not None:
        yield _within(one, one.plural), _operation(one, prefix, is_list=True)
    if one.list is not None and one.is_namespaced:
        of_all = _operation(one, prefix, is_list=True)
        yield f"{ROOT}/{one.plural}", {**of_all, "operationId": f"{of_all['operationId']}ForAllNamespaces"}
    if one.get is not None:
        yield _within(one, f"{one.plural}/{{name}}"), _operation(one, prefix, is_list=False)


def _operation(one: Resource, prefix: str, *, is_list: bool) -> Json:
    return {
        "description": f"{'list' if is_list else 'read'} {one.path}",
        "operationId": f"{'list' if is_list else 'read'}{one.kind}{one.plural.title()}{one.subresource.title()}",
        **(_parameters(one, prefix) if is_list else {}),
        "responses": {"200": _body("OK", one.list_kind if is_list else one.kind, prefix)},
        "x-kubernetes-action": "list" if is_list else "get",
        "x-kubernetes-group-version-kind": _kind(one.kind),
    }


def _parameters(one: Resource, prefix: str) -> Json:
    """Return those of the resource alone: each is a text, and some may be repeated."""
    form: Json = _TEXT if prefix == _V2 else {"schema": _TEXT}
    found = [{"name": name, "in": "query", "description": text, **form} for name, text in one.parameters.items()]
    return {"parameters": found} if found else {}


def _creation(one: Resource, prefix: str) -> Json:
    if prefix == _V2:
        sent: Json = {"parameters": [{"name": "body", "in": "body", "required": True, **_content(one.kind, prefix)}]}
    else:
        sent = {"requestBody": {"required": True, **_content(one.kind, prefix)}}
    return {
        "description": f"create {one.path}: the object is not stored, its status is the answer",
        "operationId": f"create{one.kind}{one.plural.title()}",
        **sent,
        "responses": {"201": _body("Created", one.kind, prefix)},
        "x-kubernetes-action": "post",
        "x-kubernetes-group-version-kind": _kind(one.kind),
    }


def _body(description: str, kind: str, prefix: str) -> Json:
    return {"description": description, **_content(kind, prefix)}


def _content(kind: str, prefix: str) -> Json:
    schema = {"schema": {"$ref": f"{prefix}{_PREFIX}{kind}"}}
    return schema if prefix == _V2 else {"content": {"application/json": schema}}


def _schemas(registry: Registry, prefix: str) -> Json:
    specs = {one.create.spec for one in registry.all if one.create is not None}
    schemas = {
        **_structs({one.item for one in registry.all}, f"{prefix}{_ROWS}"),
        **_structs(specs, f"{prefix}{_SPECS}"),
    }
    for one in registry.all:
        schemas[_PREFIX + one.kind] = _object(one, prefix)
        if one.list is not None:
            schemas[_PREFIX + one.list_kind] = _list(one, prefix)
    return schemas


def _structs(structs: Set[type[msgspec.Struct]], ref: str) -> Json:
    """Return the schemas of these, and of those in them, by names that come after `ref` where they are referred to."""
    _, found = msgspec.json.schema_components(sorted(structs, key=lambda one: one.__name__), ref_template="{name}")
    within = ref.rpartition("/")[2]
    return {f"{within}{name}": _as_kubernetes(schema, ref) for name, schema in found.items()}


def _object(one: Resource, prefix: str) -> Json:
    row = {"allOf": [{"$ref": f"{prefix}{_ROWS}{one.item.__name__}"}], "default": {}}
    spec: Json = {}
    if one.create is not None:
        spec = {"spec": {"allOf": [{"$ref": f"{prefix}{_SPECS}{one.create.spec.__name__}"}], "default": {}}}
    return {
        "type": "object",
        "description": _text(one.item.__doc__ or ""),
        "properties": {**_ENVELOPE, "metadata": _SENT_METADATA if spec else _METADATA, **spec, "status": row},
        "x-kubernetes-group-version-kind": [_kind(one.kind)],
    }


def _list(one: Resource, prefix: str) -> Json:
    items = {"type": "array", "items": {"$ref": f"{prefix}{_PREFIX}{one.kind}"}}
    return {
        "type": "object",
        "description": f"A list of {one.kind}.",
        "properties": {**_ENVELOPE, "metadata": _LIST_METADATA, "items": items},
        "required": ["items"],
        "x-kubernetes-group-version-kind": [_kind(one.list_kind)],
    }


def _kind(kind: str) -> dict[str, str]:
    return {"group": GROUP, "version": VERSION, "kind": kind}


def _as_kubernetes(schema: Any, ref: str) -> Any:
    """Return what msgspec writes in the dialect of Kubernetes: `nullable` instead of a choice, full names in `$ref`."""
    if isinstance(schema, list):
        return [_as_kubernetes(one, ref) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"allOf": [{"$ref": f"{ref}{schema['$ref']}"}]}
    choices = schema.get("anyOf", [])
    if {"type": "null"} in choices and len(choices) == 2:
        (other,) = (one for one in choices if one != {"type": "null"})
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        return {**rest, **_as_kubernetes(other, ref), "nullable": True}
    # additionalProperties may be a schema; false is what every object means to kubectl that has properties
    schema = {**schema, "description": _text(schema["description"])} if "description" in schema else schema
    return {
        key: _fields(value, lambda field: _as_kubernetes(field, ref))
        if key == "properties"
        else _as_kubernetes(value, ref)
        for key, value in schema.items()
        if key not in ("title", "default") and value is not False
    }


def _text(docstring: str) -> str:
    """Return a docstring as paragraphs of one line each, which whoever shows it breaks."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))


def _fields(properties: Json, convert: Callable[[Any], Any]) -> Json:
    """Convert the schemas of fields, whatever those are called."""
    return {name: convert(schema) for name, schema in properties.items()}


def _without_choices(schema: Any) -> Any:
    """Return a schema for Swagger 2.0, which knows neither `nullable` nor a reference beside other words."""
    if isinstance(schema, list):
        return [_without_choices(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "allOf" in schema:
        return dict(schema["allOf"][0])
    return {
        key: _fields(value, _without_choices) if key == "properties" else _without_choices(value)
        for key, value in schema.items()
        if key not in ("nullable", "default")
    }
