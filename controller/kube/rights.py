"""A right that the apiserver refused, and the role to ask for.

The roles are Kubernetes' own `view` and `edit`, which contain `penstock-view` and `penstock-edit` of config/rbac by
aggregation, and `view` also `penstock-visibility-viewer`; the other roles of the visibility API are in none. What a
command needs beyond a role stands where the command is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Self

from controller.core.keys import GROUP

VISIBILITY_VIEWER: Final = "penstock-visibility-viewer"
VISIBILITY_SIMULATOR: Final = "penstock-visibility-simulator"
VISIBILITY_ACCOUNTANT: Final = "penstock-visibility-accountant"
_CREATED: Final = {
    "simulations": VISIBILITY_SIMULATOR,
    "usagereports": VISIBILITY_VIEWER,
    "clusterusagereports": VISIBILITY_ACCOUNTANT,
}
"""Of the visibility API: which role lets people create what."""
_REFUSAL: Final = re.compile(
    r'cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)" '
    r'(?:in the namespace "(?P<namespace>[^"]*)"|at the cluster scope)'
)
"""What Kubernetes' authorizer says, staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go."""

_READING: Final = frozenset({"get", "list", "watch"})
_WRITING: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_OURS: Final = frozenset(
    f"{plural}.{GROUP}"
    for plural in (
        "clusterpodschedulingpolicies",
        "clusterqueues",
        "localqueues",
        "podschedulingpolicies",
        "resourceflavors",
        "schedulingpolicies",
        "workloadkinds",
        "workloadpriorityclasses",
    )
)
_DEVICES: Final = frozenset({"deviceclasses.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io"})
_COMPLETING: Final = frozenset({"limitranges", "priorityclasses.scheduling.k8s.io", "runtimeclasses.node.k8s.io"})
_VIEWED: Final = _OURS | _DEVICES | _COMPLETING | {"jobs.batch", "namespaces", "pods"}
_VISIBLE: Final = f".visibility.{GROUP}"
_EDITED: Final = frozenset({f"localqueues.{GROUP}", "jobs.batch", "pods"})


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource as people write it, such as jobs.batch; in a namespace, or in the whole cluster."""

    verb: str
    resource: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.place}"

    @property
    def place(self) -> str:
        """Where it is needed."""
        return f"in namespace {self.namespace}" if self.namespace else "in the whole cluster"

    @classmethod
    def refused(cls, message: str) -> Self | None:
        """Read the message of a 403; None where something else than RBAC refused."""
        found = _REFUSAL.search(message)
        if found is None:
            return None
        resource, group, verb = found["resource"], found["group"], found["verb"]
        # a newer Kubernetes says impersonate-on:user-info:list, of what is to be done as somebody else
        verb = "impersonate" if verb.startswith("impersonate") else verb
        return cls(verb, f"{resource}.{group}" if group else resource, found["namespace"] or "")

    @property
    def role(self) -> str:
        """The role that gives it; empty where none does that Kubernetes or Penstock brings along."""
        if self.resource.endswith(_VISIBLE):
            role = visibility_role(self.verb, self.resource.removesuffix(_VISIBLE))
            return "view" if self.namespace and role == VISIBILITY_VIEWER else role
        if self.verb in _READING and self.resource in _VIEWED:
            return "penstock-view" if self.resource in _OURS and not self.namespace else "view"
        return "edit" if self.verb in _WRITING and self.resource in _EDITED else ""


def visibility_role(verb: str, resource: str) -> str:
    """Return the role that gives a right to the visibility API; empty: none does."""
    return _CREATED.get(resource, "") if verb == "create" else VISIBILITY_VIEWER if verb in _READING else ""


def what_to_ask_for(missing: Collection[Right]) -> str:
    """Say which role to ask for, of rights in one place, and which rights no role has."""
    (place,) = {right.place for right in missing}
    roles = sorted({right.role for right in missing} - {""})
    if "view" in roles or "edit" in roles:
        # each contains those before it
        roles = roles[:1] if "edit" in roles else ["view"]
    wanted = [f"for the ClusterRole {role} {place}" for role in roles]
    bare = [right for right in missing if not right.role]
    for verb in sorted({right.verb for right in bare}):
        resources = ", ".join(right.resource for right in bare if right.verb == verb)
        wanted.append(f"for the right to {verb} {resources}" + ("" if roles else f" {place}"))
    return f"ask {' and '.join(wanted)}"
