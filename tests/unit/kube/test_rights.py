"""Which role is named for a right that is missing: the roles of config/rbac really give what they are named for."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import GROUP
from controller.kube.manifests import load_documents
from controller.kube.rights import (
    VISIBILITY_ACCOUNTANT,
    VISIBILITY_SIMULATOR,
    VISIBILITY_VIEWER,
    Right,
    what_to_ask_for,
)
from controller.sandbox.shipped import manifests

SAID = 'x is forbidden: User "jane" cannot {} resource "{}" in API group "{}" {}'


@pytest.mark.parametrize(
    ("message", "right"),
    [
        (SAID.format("get", "pods", "", 'in the namespace "team-a"'), Right("get", "pods", "team-a")),
        (SAID.format("list", "nodes", "", "at the cluster scope"), Right("list", "nodes")),
        (SAID.format("patch", "jobs", "batch", 'in the namespace "a"'), Right("patch", "jobs.batch", "a")),
        (
            SAID.format("impersonate-on:user-info:list", "groups", "authentication.k8s.io", "at the cluster scope"),
            Right("impersonate", "groups.authentication.k8s.io"),
        ),
        ("admission webhook says no", None),
    ],
)
def test_the_refused_right_is_read_from_the_message(message: str, right: Right | None) -> None:
    assert Right.refused(message) == right


@pytest.mark.parametrize(
    ("rights", "text"),
    [
        ([Right("get", "pods", "team-a")], "ask for the ClusterRole view in namespace team-a"),
        ([Right("patch", "jobs.batch", "team-a")], "ask for the ClusterRole edit in namespace team-a"),
        ([Right("get", "pods", "a"), Right("patch", "pods", "a")], "ask for the ClusterRole edit in namespace a"),
        (
            [Right("get", f"clusterqueues.{GROUP}"), Right("list", f"resourceflavors.{GROUP}")],
            "ask for the ClusterRole penstock-view in the whole cluster",
        ),
        ([Right("list", f"clusterqueues.{GROUP}"), Right("list", "pods")], "ask for the ClusterRole view in the whole"),
        (
            [Right("list", "pods"), Right("list", "nodes")],
            "ask for the ClusterRole view in the whole cluster and for the right to list nodes",
        ),
        ([Right("patch", f"clusterqueues.{GROUP}")], "ask for the right to patch clusterqueues.penstock.dev in the"),
    ],
)
def test_one_role_is_named_for_all_that_it_has(rights: list[Right], text: str) -> None:
    assert what_to_ask_for(rights).startswith(text)


def roles(folder: str = "rbac") -> dict[str, dict[str, Any]]:
    documents = load_documents(manifests(folder))
    return {one["metadata"]["name"]: one for one in documents if one["kind"] == "ClusterRole"}


def rules() -> dict[str, list[dict[str, Any]]]:
    return {name: one["rules"] for name, one in roles().items()}


def test_every_kind_of_ours_is_read_by_the_role_that_is_named() -> None:
    ours = [rule for rule in rules()["penstock-view"] if GROUP in rule["apiGroups"]]
    read = {name for rule in ours for name in rule["resources"] if "/" not in name}
    named = {name for name in read if Right("list", f"{name}.{GROUP}").role == "penstock-view"}
    assert named == read
    assert Right("list", f"localqueues.{GROUP}", "team-a").role == "view"


def test_writing_queues_is_edit_for_local_ones_alone() -> None:
    written = {name for rule in rules()["penstock-edit"] for name in rule["resources"]}
    assert written == {"localqueues"}
    assert Right("patch", f"localqueues.{GROUP}", "team-a").role == "edit"
    assert Right("patch", f"clusterqueues.{GROUP}").role == ""


def test_what_everybody_used_is_a_right_of_its_own() -> None:
    visible = roles("components/visibility")
    accountant = visible[VISIBILITY_ACCOUNTANT]
    assert [(rule["resources"], rule["verbs"]) for rule in accountant["rules"]] == [
        (["clusterusagereports"], ["create"])
    ]
    assert [key for key in accountant["metadata"]["labels"] if "aggregate" in key] == []
    assert Right("create", "clusterusagereports.visibility.penstock.dev").role == VISIBILITY_ACCOUNTANT


def test_to_simulate_is_a_right_of_its_own() -> None:
    """Whoever may view a namespace, or the whole cluster, does not have it."""
    visible = roles("components/visibility")
    viewer, simulator = visible[VISIBILITY_VIEWER], visible[VISIBILITY_SIMULATOR]
    assert [rule["resources"] for rule in viewer["rules"] if rule["verbs"] == ["create"]] == [["usagereports"]]
    assert simulator["rules"] == [
        {"apiGroups": ["visibility.penstock.dev"], "resources": ["simulations"], "verbs": ["create"]}
    ]
    assert [key for key in simulator["metadata"]["labels"] if "aggregate" in key] == []
    assert Right("create", "simulations.visibility.penstock.dev").role == VISIBILITY_SIMULATOR
    assert Right("create", "usagereports.visibility.penstock.dev", "team-a").role == "view"
    assert Right("create", "usagereports.visibility.penstock.dev").role == VISIBILITY_VIEWER
    assert Right("create", "explanations.visibility.penstock.dev", "team-a").role == ""
