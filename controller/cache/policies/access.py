"""Which SchedulingPolicies a service account may use, from the RBAC objects that four informers keep.

Bounded: of roles only those are kept that grant something, of bindings only those that can concern a service account
(a few hundred bytes each), and answers for at most 10,000 accounts. Bindings are kept whatever their role, which may be
written later. Nothing is asked of the apiserver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from controller.core.scheduling_policies.rbac import NOTHING, Binding, Key, Role, Usable, principals, union
from controller.kube.wire import Owned

_T = TypeVar("_T", Role, Binding)


class Access:
    """Roles and bindings, and the answers that follow from them until one changes."""

    def __init__(self, *, most_kept: int = 10_000) -> None:
        """`most_kept`: for so many accounts the answers are kept."""
        self._most_kept = most_kept
        self.roles: dict[Key, Usable] = {}
        self.bindings: dict[Key, Binding] = {}
        self._by_principal: dict[tuple[str, str], dict[Key, Key]] = {}
        """Of (namespace of the binding, principal): its bindings and their roles."""
        self._answers: dict[tuple[str, str], Usable] = {}

    def usable(self, namespace: str, account: str) -> Usable:
        """Return the policies that pods of this service account may use: names that need not exist, or ALL."""
        known = self._answers.get((namespace, account))
        if known is None:
            if len(self._answers) >= self._most_kept:
                self._answers.clear()
            known = self._answers[namespace, account] = self._look_up(namespace, account)
        return known

    def _look_up(self, namespace: str, account: str) -> Usable:
        roles = {
            role
            for principal in principals(namespace, account)
            for place in ("", namespace)
            for role in self._by_principal.get((place, principal), {}).values()
        }
        return union(self.roles.get(role, NOTHING) for role in roles)

    def put_role(self, role: Role) -> None:
        """One role is new or changed."""
        if role.grants == self.roles.get(role.key, NOTHING):
            return
        if role.grants == NOTHING:
            del self.roles[role.key]
        else:
            self.roles[role.key] = role.grants
        self._answers.clear()

    def put_binding(self, binding: Binding) -> None:
        """One binding is new or changed."""
        if binding == self.bindings.get(binding.key):
            return
        self.drop_binding(binding.key)
        if not binding.principals:
            return
        self.bindings[binding.key] = binding
        for principal in binding.principals:
            self._by_principal.setdefault((binding.key[0], principal), {})[binding.key] = binding.role
        self._answers.clear()

    def drop_role(self, key: Key) -> None:
        """One role is gone."""
        self.put_role(Role(key=key, grants=NOTHING))

    def drop_binding(self, key: Key) -> None:
        """One binding is gone."""
        known = self.bindings.pop(key, None)
        if known is None:
            return
        for principal in known.principals:
            place = (key[0], principal)
            del self._by_principal[place][key]
            if not self._by_principal[place]:
                del self._by_principal[place]
        self._answers.clear()


class AccessSink(Generic[_T]):
    """One kind's way into `Access`. Made by `role_sink` and `binding_sink`."""

    def __init__(
        self,
        put: Callable[[_T], None],
        drop: Callable[[Key], None],
        known: Callable[[], Iterable[Key]],
        *,
        cluster_wide: bool,
    ) -> None:
        self.upsert: Callable[[_T], None] = put
        self._drop = drop
        self._known = known
        self._cluster_wide = cluster_wide

    def replace(self, items: Iterable[_T]) -> None:
        """All there are of the kind."""
        listed = {item.key: item for item in items}
        for key in [key for key in self._known() if (key[0] == "") is self._cluster_wide and key not in listed]:
            self._drop(key)
        for item in listed.values():
            self.upsert(item)

    def remove(self, gone: Owned) -> None:
        """One is gone."""
        self._drop(gone.key)


def role_sink(access: Access, *, cluster_wide: bool) -> AccessSink[Role]:
    """Roles, or ClusterRoles."""
    return AccessSink(access.put_role, access.drop_role, lambda: access.roles, cluster_wide=cluster_wide)


def binding_sink(access: Access, *, cluster_wide: bool) -> AccessSink[Binding]:
    """RoleBindings, or ClusterRoleBindings."""
    return AccessSink(access.put_binding, access.drop_binding, lambda: access.bindings, cluster_wide=cluster_wide)
