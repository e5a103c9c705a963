"""Who may use which SchedulingPolicy. tests/integration/test_access.py proves that the apiserver says the same."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.cache.policies.access import Access, binding_sink, role_sink
from controller.core.scheduling_policies.rbac import ALL, NOTHING, Usable
from controller.kube.decode import decode_metadata
from controller.kube.decode_rbac import decode_binding, decode_role
from controller.kube.errors import UnreadableObject
from tests.support.rbac_objects import a_binding, a_role, a_rule, access_of, account, group, put, user

Json = dict[str, Any]

ME = account("me", "team")


def usable(*documents: Json) -> Usable:
    return access_of(documents).usable("team", "me")


def names(*policies: str) -> frozenset[str]:
    return frozenset(policies)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (a_rule("a", "b"), names("a", "b")),
        (a_rule(), ALL),
        (a_rule(resourceNames=[]), ALL),
        (a_rule("*"), names("*")),
        (a_rule("a", verbs=["get", "use"]), names("a")),
        (a_rule("a", verbs=["*"]), names("a")),
        (a_rule(apiGroups=["*"]), ALL),
        (a_rule(resources=["*"]), ALL),
        (a_rule(verbs=["get", "list"]), NOTHING),
        (a_rule(verbs=[]), NOTHING),
        (a_rule(apiGroups=["extensions", ""]), NOTHING),
        (a_rule(resources=["schedulingpolicies/status", "*/status", "pods"]), NOTHING),
        ({"verbs": ["use"], "nonResourceURLs": ["*"]}, NOTHING),
        ({"verbs": None}, NOTHING),
    ],
)
def test_a_rule_grants_what_it_names(rule: Json, expected: Usable) -> None:
    assert usable(a_role("r", rule), a_binding("b", "r", ME)) == expected


@pytest.mark.parametrize(
    ("subject", "in_cluster", "in_namespace"),
    [
        (ME, True, True),
        (account("me", "other"), False, False),
        (account("you", "team"), False, False),
        (account("me"), False, True),
        (user("system:serviceaccount:team:me"), True, True),
        (user("system:serviceaccount:team:you"), False, False),
        (user("me"), False, False),
        (user("system:serviceaccounts"), False, False),
        (user("system:authenticated"), False, False),
        (group("system:serviceaccounts"), True, True),
        (group("system:serviceaccounts:team"), True, True),
        (group("system:serviceaccounts:other"), False, False),
        (group("system:authenticated"), True, True),
        (group("system:unauthenticated"), False, False),
        (group("system:serviceaccount:team:me"), False, False),
        ({"kind": "Robot", "name": "me", "namespace": "team"}, False, False),
    ],
)
def test_a_subject_is_who_it_names(subject: Json, in_cluster: bool, in_namespace: bool) -> None:
    role = a_role("r", a_rule("a"))
    for namespace, is_meant in (("", in_cluster), ("team", in_namespace), ("other", False)):
        expected = names("a") if is_meant else NOTHING
        assert usable(role, a_binding("b", "r", subject, namespace=namespace)) == expected


def test_a_role_is_not_the_cluster_role_of_its_name() -> None:
    roles = (a_role("r", a_rule("wide")), a_role("r", a_rule("own"), namespace="team"), a_role("r", namespace="other"))
    assert usable(*roles, a_binding("b", "r", ME, namespace="team", kind="Role")) == names("own")
    assert usable(*roles, a_binding("b", "r", ME, namespace="team")) == names("wide")
    assert usable(*roles, a_binding("b", "r", ME, namespace="other", kind="Role")) == NOTHING


def test_what_several_bindings_grant_adds_up() -> None:
    roles = a_role("r", a_rule("a"), a_rule("b")), a_role("s", a_rule("c"), namespace="team"), a_role("all", a_rule())
    some = a_binding("b", "r", ME), a_binding("b", "s", group("system:authenticated"), namespace="team", kind="Role")
    assert usable(*roles, *some) == names("a", "b", "c")
    assert usable(*roles, *some, a_binding("all", "all", group("system:serviceaccounts"))) == ALL


def test_a_binding_may_come_before_its_role() -> None:
    access = access_of([a_binding("b", "r", ME)])
    assert access.usable("team", "me") == NOTHING
    put(access, a_role("r", a_rule("a")))
    assert access.usable("team", "me") == names("a")


@pytest.mark.parametrize(
    "change",
    [a_role("r"), a_role("r", a_rule(verbs=["get"])), a_binding("b", "r"), a_binding("b", "other", ME)],
    ids=["no rules", "another verb", "no subjects", "another role"],
)
def test_a_right_that_is_taken_away_is_gone(change: Json) -> None:
    access = access_of([a_role("r", a_rule("a")), a_binding("b", "r", ME)])
    assert access.usable("team", "me") == names("a")
    put(access, change)
    assert access.usable("team", "me") == NOTHING


def test_what_is_deleted_or_no_longer_listed_grants_nothing() -> None:
    role, own_role = a_role("r", a_rule("a")), a_role("r", a_rule("b"), namespace="team")
    binding, own_binding = a_binding("b", "r", ME), a_binding("b", "r", ME, namespace="team", kind="Role")
    everything = (role, own_role, binding, own_binding)
    left = {0: names("b"), 1: names("a"), 2: names("b"), 3: names("a")}
    for number, document in enumerate(everything):
        is_wide = "namespace" not in document["metadata"]
        gone = decode_metadata(orjson.dumps(document))
        for listed in (False, True):
            access = access_of(everything)
            assert access.usable("team", "me") == names("a", "b")
            if "roleRef" in document:
                bindings = binding_sink(access, cluster_wide=is_wide)
                bindings.replace([]) if listed else bindings.remove(gone)
            else:
                roles = role_sink(access, cluster_wide=is_wide)
                roles.replace([]) if listed else roles.remove(gone)
            assert access.usable("team", "me") == left[number]


def test_a_list_brings_what_is_new_and_changed() -> None:
    access = Access()
    role_sink(access, cluster_wide=True).replace([decode_role(orjson.dumps(a_role("r", a_rule("a"))))])
    binding_sink(access, cluster_wide=True).replace([decode_binding(orjson.dumps(a_binding("b", "r", ME)))])
    assert access.usable("team", "me") == names("a")
    role_sink(access, cluster_wide=True).replace([decode_role(orjson.dumps(a_role("r", a_rule("b"))))])
    assert access.usable("team", "me") == names("b")


def test_only_what_can_matter_is_kept() -> None:
    access = access_of(
        [
            a_role("edit", {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"]}),
            a_binding("people", "edit", user("jane"), group("admins")),
            a_binding("b", "edit", ME),
        ]
    )
    assert (access.roles, list(access.bindings)) == ({}, [("", "b")])


def test_answers_do_not_pile_up() -> None:
    access = Access(most_kept=2)
    for role in ("a", "b"):
        put(access, a_role(role, a_rule(role)))
        put(access, a_binding(role, role, ME))
    first = access.usable("team", "me")
    assert access.usable("team", "me") is first, "it is kept"
    for number in range(2):
        access.usable("team", f"account-{number}")
    again = access.usable("team", "me")
    assert (again, again is first) == (names("a", "b"), False)


@pytest.mark.parametrize("read", [decode_role, decode_binding])
def test_what_is_no_rbac_object_is_unreadable(read: Any) -> None:
    with pytest.raises(UnreadableObject):
        read(b'{"metadata": 5}')
