"""Who may `use` which SchedulingPolicy, read from RBAC objects as the apiserver's own authorizer reads them.

RBAC objects rather than SubjectAccessReviews: with many namespaces and policies a review would ask the apiserver once
for each pair, while objects that a watch brings cost no request at all, and a right that is taken away bites as soon
as the watch tells, well within 10 s. The price: what authorizers other than RBAC grant (webhook, ABAC, and the group
system:masters) is not seen.

Mirrors plugin/pkg/auth/authorizer/rbac and pkg/registry/rbac/validation (DefaultRuleResolver) for one request: verb
`use`, group penstock.dev, resource schedulingpolicies, the policy's name, and the pod's namespace, as PodSecurityPolicy
had it. So a RoleBinding in the pod's namespace grants too, although the policy is of the whole cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from controller.core.keys import GROUP

VERB: Final = "use"
RESOURCE: Final = "schedulingpolicies"

_ANY = "*"
_ACCOUNT = "system:serviceaccount:"
_ACCOUNTS = "system:serviceaccounts"
_AUTHENTICATED = "system:authenticated"


class Everything(Enum):
    """The one value ALL: every policy, also those that are yet to come."""

    ALL = "every policy"


ALL: Final = Everything.ALL
NOTHING: Final[frozenset[str]] = frozenset()

Usable = frozenset[str] | Everything
"""Names of the policies that may be used, which need not exist; or ALL."""

Key = tuple[str, str]
"""(namespace, name); the namespace of cluster roles and their bindings is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """rbac/v1 PolicyRule. Without `names` it is about every object."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def grants(self) -> Usable:
        """The policies that whom the rule is given may use. In names, `*` is a name like any other."""
        about = ((self.verbs, VERB), (self.groups, GROUP), (self.resources, RESOURCE))
        if not all(_ANY in listed or wanted in listed for listed, wanted in about):
            return NOTHING
        return frozenset(self.names) if self.names else ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A Role or ClusterRole, of which only this matters."""

    key: Key
    grants: Usable


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """rbac/v1 Subject."""

    kind: str
    name: str
    namespace: str = ""

    def principal(self, binding_namespace: str) -> str | None:
        """Return the user or group that is meant, where that can be a service account; None where it cannot.

        The two never share a name: these users begin with `system:serviceaccount:`, and none of these groups does. An
        account without a namespace is of the binding's own, where it has one (appliesToUser).
        """
        match self.kind:
            case "User" if self.name.startswith(_ACCOUNT):
                return self.name
            case "Group" if self.name in (_AUTHENTICATED, _ACCOUNTS) or self.name.startswith(f"{_ACCOUNTS}:"):
                return self.name
            case "ServiceAccount" if self.namespace or binding_namespace:
                return f"{_ACCOUNT}{self.namespace or binding_namespace}:{self.name}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A RoleBinding or ClusterRoleBinding: its role, which need not exist, and who has it among service accounts."""

    key: Key
    role: Key
    principals: frozenset[str]


def union(grants: Iterable[Usable]) -> Usable:
    """Return what all of these grant together."""
    names: set[str] = set()
    for one in grants:
        if isinstance(one, Everything):
            return ALL
        names |= one
    return frozenset(names)


def principals(namespace: str, account: str) -> tuple[str, ...]:
    """Return the user and the groups that a pod of this service account acts as."""
    return f"{_ACCOUNT}{namespace}:{account}", f"{_ACCOUNTS}:{namespace}", _ACCOUNTS, _AUTHENTICATED
