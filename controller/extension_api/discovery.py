"""What clients ask before all else: which groups, versions and resources there are."""

from __future__ import annotations

from typing import Any

from controller.extension_api.resources import API_VERSION, GROUP, VERSION, Registry, Resource

_VERSION = {"groupVersion": API_VERSION, "version": VERSION}


def group() -> dict[str, Any]:
    """Return the only group there is (APIGroup)."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group()}


def groups() -> dict[str, Any]:
    """Return the list of groups (APIGroupList)."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group()]}


def resources(registry: Registry) -> dict[str, Any]:
    """Return all resources of the version (APIResourceList)."""
    members = [_resource(one) for one in registry.all]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API_VERSION, "resources": members}


def _group() -> dict[str, Any]:
    return {"name": GROUP, "versions": [_VERSION], "preferredVersion": _VERSION}


def _resource(one: Resource) -> dict[str, Any]:
    names = {"shortNames": list(one.short_names)} if one.short_names else {}
    return {
        "name": one.path,
        "singularName": one.singular,
        "namespaced": one.is_namespaced,
        "kind": one.kind if one.list is None or not one.subresource else one.list_kind,
        "verbs": list(one.verbs),
        **names,
    }
