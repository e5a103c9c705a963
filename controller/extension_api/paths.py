"""Reads the path of a request: which resource, in which namespace, which object."""

from __future__ import annotations

from dataclasses import dataclass

from controller.extension_api.resources import GROUP, VERSION, Registry, Resource
from controller.extension_api.statuses import Refused

GROUP_PATH = f"/apis/{GROUP}"
ROOT = f"{GROUP_PATH}/{VERSION}"
UNKNOWN_RESOURCE = "the server could not find the requested resource"
"""How a 404 begins that is about a path, not about an object; these are the apiserver's own words."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about; `namespace` and `name` are empty where the path has none."""

    resource: Resource
    namespace: str
    name: str

    @property
    def is_list(self) -> bool:
        """Whether many objects are asked for: all, or what belongs to one."""
        return not self.name or (bool(self.resource.subresource) and self.resource.list is not None)

    @property
    def verb(self) -> str:
        """As the apiserver authorizes it: whatever has a name in its path is got."""
        return "get" if self.name else "list"


def read_path(path: str, registry: Registry) -> Target:
    """Return what a decoded path below ROOT asks for. Raises Refused, 404, for one that no resource has."""
    parts = path.removeprefix(ROOT).strip("/").split("/")
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource, *rest = (*parts, "", "", "")
    resource = None if any(rest) else registry.find(plural, subresource)
    if resource is None or (namespace and not resource.is_namespaced):
        why = registry.why_absent(plural)
        raise _unknown(path) if not why else Refused(404, f"{UNKNOWN_RESOURCE}: {plural}: {why}")
    if resource.is_namespaced and name and not namespace:
        raise _unknown(path)
    return Target(resource, namespace, name)


def _unknown(path: str) -> Refused:
    return Refused(404, f"{UNKNOWN_RESOURCE}: {path}; {ROOT} lists what there is")
