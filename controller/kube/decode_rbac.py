"""RBAC objects off the wire, cut down to what they say about SchedulingPolicies: a cluster has thousands of them."""

from __future__ import annotations

from typing import Final

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

from controller.core.scheduling_policies import rbac
from controller.core.scheduling_policies.rbac import Binding, Role
from controller.kube.errors import UnreadableObject
from controller.kube.wire import Owned

_PATH: Final = "/apis/rbac.authorization.k8s.io/v1"

ROLES: Final = (f"{_PATH}/roles", f"{_PATH}/clusterroles")
BINDINGS: Final = (f"{_PATH}/rolebindings", f"{_PATH}/clusterrolebindings")


class _Rule(Struct, rename="camel"):
    verbs: list[str] | None = None
    groups: list[str] | None = field(name="apiGroups", default=None)
    resources: list[str] | None = None
    resource_names: list[str] | None = None


class _Role(Struct):
    metadata: Owned
    rules: list[_Rule] | None = None


class _Reference(Struct):
    kind: str = ""
    name: str = ""


class _Subject(Struct):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _Binding(Struct):
    metadata: Owned
    role: _Reference = field(name="roleRef")
    subjects: list[_Subject] | None = None


_role = Decoder(_Role)
_binding = Decoder(_Binding)


def decode_role(raw: bytes | Raw) -> Role:
    """Return a Role or ClusterRole; raise UnreadableObject when the bytes are none."""
    try:
        found = _role.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"role: {error}") from error
    rules = (
        rbac.Rule(
            verbs=tuple(rule.verbs or ()),
            groups=tuple(rule.groups or ()),
            resources=tuple(rule.resources or ()),
            names=tuple(rule.resource_names or ()),
        )
        for rule in found.rules or ()
    )
    return Role(key=(found.metadata.namespace, found.metadata.name), grants=rbac.union(rule.grants for rule in rules))


def decode_binding(raw: bytes | Raw) -> Binding:
    """Return a RoleBinding or ClusterRoleBinding; raise UnreadableObject when the bytes are none."""
    try:
        found = _binding.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"rolebinding: {error}") from error
    namespace = found.metadata.namespace
    subjects = (rbac.Subject(kind=one.kind, name=one.name, namespace=one.namespace) for one in found.subjects or ())
    return Binding(
        key=(namespace, found.metadata.name),
        # a ClusterRoleBinding can refer to no Role: the apiserver refuses it
        role=(namespace if found.role.kind == "Role" else "", found.role.name),
        principals=frozenset(one for subject in subjects if (one := subject.principal(namespace)) is not None),
    )
