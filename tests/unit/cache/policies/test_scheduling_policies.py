"""SchedulingPolicies off the wire: what is kept, in which order, and what is faulty."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Raw

from controller.cache.policies.scheduling_policies import SchedulingPolicies
from controller.core.pod_policies.policies import Mode
from controller.core.scheduling_policies.policy import (
    AffinityKind,
    Allowed,
    Faulty,
    Form,
    Policy,
    Required,
    TermForm,
    TolerationForm,
)
from controller.kube.errors import UnreadableObject
from controller.kube.manifests import load_documents
from controller.kube.wire import Owned
from controller.objects.scheduling_policies import ReadSchedulingPolicy, read_scheduling_policy
from tests.support.api_objects import Json, scheduling_policy
from tests.support.pod_documents import raw
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.scheduling import a_policy, written

SHIPPED = Path(__file__).resolve().parents[4] / "config" / "components" / "default-scheduling-policies"


def read(document: Json) -> ReadSchedulingPolicy:
    return read_scheduling_policy(Raw(raw(document)))


def names(policies: tuple[Policy, ...]) -> list[str]:
    return [policy.name for policy in policies]


# -- reading -------------------------------------------------------------------------------------------------------


def test_left_out_and_empty_stay_apart() -> None:
    assert a_policy("{}").allowed == Allowed()
    assert a_policy("{allowed: {}, required: {}}").required == Required()
    empty = "allowed: {schedulerNames: [], nodeSelectors: {}, tolerations: [], affinities: {}, nodeNames: []}"
    assert a_policy(empty).allowed == Allowed(
        scheduler_names=(), node_selectors={}, tolerations=(), affinities={}, node_names=()
    )


def test_forms_keep_what_is_left_out_of_them() -> None:
    spec = f"""
    allowed:
      tolerations: [{{keys: [], operators: [Exists]}}]
      affinities:
        nodeAffinities:
          {REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: [{{keys: [a], values: []}}]}}, {{matchFields: []}}]}}
          {PREFERRED}: {{}}
        podAffinities: {{}}
        podAntiAffinities: {{{PREFERRED}: {{}}}}
    """
    allowed = a_policy(spec).allowed
    assert allowed.tolerations == (TolerationForm(keys=(), operators=("Exists",)),)
    assert allowed.affinities == {
        AffinityKind.NODE: {
            REQUIRED: (TermForm((Form(keys=("a",), values=()),), None), TermForm(None, ())),
            PREFERRED: (),
        },
        AffinityKind.TOGETHER: {},
        AffinityKind.APART: {PREFERRED: ()},
    }


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (
            "{allowed: {tolerations: [{keys: [spot], operators: [Exists], effects: []}]},"
            " default: {tolerations: [{key: spot, operator: Exists}, {key: gpu, values: [a, b]}]}}",
            "spec.default.tolerations is gpu=a, allowed is key spot, operator Exists, any effect "
            "(allowed.tolerations of SchedulingPolicy 'schedpol-a')",
        ),
        (
            "{allowed: {affinities: {podAffinities: {}}}, default: {affinity: {nodeAffinity: {"
            f"{REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: [{{key: a, operator: Exists}}]}}]}}}}}}}}}}",
            f"spec.default.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0] is a Exists, "
            f"which needs allowed.affinities.nodeAffinities.{REQUIRED}, not given by SchedulingPolicy 'schedpol-a'",
        ),
        (
            f"{{required: {{affinities: {{nodeAffinities: {{{REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: ["
            "{keys: [a], operators: [Exists]}]}]}}}}, default: {affinity: {nodeAffinity: {"
            f"{REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: [{{key: b, operator: Exists}}]}}]}}}}}}}}}}",
            f"spec.default.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0] is b Exists, must be a Exists "
            f"(required.affinities.nodeAffinities.{REQUIRED} of SchedulingPolicy 'schedpol-a')",
        ),
    ],
)
def test_a_default_outside_its_own_forms_is_a_fault(spec: str, fault: str) -> None:
    found = read(scheduling_policy(**written(spec)))
    assert found.policy is None
    assert f"schedulingpolicies.penstock.dev/schedpol-a: {fault}" in (found.fault or "").splitlines()


@pytest.mark.parametrize(
    "spec",
    [
        "default: {tolerations: [{key: a, operator: Exists}]}",
        "{allowed: {tolerations: []}, default: {tolerations: [{key: a, operator: Exists}]}}",
        "{required: {affinities: {podAntiAffinities: {}}}, default: {tolerations: [{key: a, operator: Exists}]}}",
    ],
)
def test_a_default_of_a_kind_that_is_not_listed_is_none(spec: str) -> None:
    assert a_policy(spec).default.tolerations


def test_list_items_without_a_name_are_unreadable() -> None:
    document = {name: part for name, part in scheduling_policy().items() if name not in ("apiVersion", "kind")}
    assert read(document).policy is not None
    with pytest.raises(UnreadableObject):
        read({"metadata": {}})


def test_the_shipped_policies_are_valid_and_usable() -> None:
    documents = load_documents(SHIPPED)
    policies = [read(document) for document in documents if document["kind"] == "SchedulingPolicy"]
    roles = {one["metadata"]["name"]: one["rules"] for one in documents if one["kind"] == "ClusterRole"}

    assert [policy.fault for policy in policies] == [None] * 4
    assert roles == {
        f"sp:{policy.name}": [
            {
                "apiGroups": ["penstock.dev"],
                "resources": ["schedulingpolicies"],
                "resourceNames": [policy.name],
                "verbs": ["use"],
            }
        ]
        for policy in policies
    }
    assert {document["roleRef"]["name"] for document in documents if "roleRef" in document} <= roles.keys()


# -- keeping -------------------------------------------------------------------------------------------------------


def test_policies_are_kept_by_name() -> None:
    kept = SchedulingPolicies(lambda _: None)
    kept.replace([read(scheduling_policy("c")), read(scheduling_policy("a", mode="Audit"))])
    kept.upsert(read(scheduling_policy("b", mode="Warn")))
    assert names(kept.valid) == ["a", "b", "c"]
    kept.upsert(read(scheduling_policy("b")))
    kept.remove(Owned(name="a"))
    assert (names(kept.valid), [policy.mode for policy in kept.valid]) == (["b", "c"], [Mode.ENFORCE] * 2)
    kept.replace([read(scheduling_policy("d"))])
    assert names(kept.valid) == ["d"]


def test_a_faulty_policy_is_kept_apart_and_reported() -> None:
    told: list[str] = []
    kept = SchedulingPolicies(told.append)
    kept.replace([read(scheduling_policy("a")), read(scheduling_policy("b", mode="Never"))])
    kept.upsert(read(scheduling_policy("a", allowed={"schedulerNames": "x"})))
    assert (kept.valid, kept.faulty) == ((), (Faulty("a"), Faulty("b")))
    assert [text.split(": ")[0] for text in told] == [
        "schedulingpolicies.penstock.dev/b",
        "schedulingpolicies.penstock.dev/a",
    ]


def test_the_version_is_another_one_after_every_change() -> None:
    kept = SchedulingPolicies(lambda _: None)
    seen = {kept.version}
    changes: list[Callable[[], None]] = [
        lambda: kept.replace([]),
        lambda: kept.upsert(read(scheduling_policy("a"))),
        lambda: kept.upsert(read(scheduling_policy("a", allowed={"nodeNames": []}))),
        lambda: kept.upsert(read(scheduling_policy("a", mode="Never"))),
        lambda: kept.upsert(read(scheduling_policy("a", mode="Warn", allowed={"nodeNames": "x"}))),
        lambda: kept.remove(Owned(name="a")),
    ]
    for change in changes:
        change()
        assert kept.version not in seen
        seen.add(kept.version)


@pytest.mark.parametrize(
    ("spec", "mode"),
    [
        ({"mode": "Warn", "allowed": []}, Mode.WARN),
        ({"mode": "Audit", "unknown": 1}, Mode.AUDIT),
        ({"allowed": []}, Mode.ENFORCE),
        ({"mode": ["Warn"]}, Mode.ENFORCE),
        ({"mode": "warn"}, Mode.ENFORCE),
        ("Warn", Mode.ENFORCE),
    ],
)
def test_a_faulty_policy_keeps_its_mode_if_readable(spec: object, mode: Mode) -> None:
    found = read({**scheduling_policy(), "spec": spec})
    assert (found.policy, found.mode) == (None, mode)


def test_a_change_of_the_status_alone_is_none() -> None:
    told: list[str] = []
    kept = SchedulingPolicies(told.append)
    valid, faulty = scheduling_policy("a"), scheduling_policy("b", mode="Never")
    kept.replace([read(valid), read(faulty)])
    version = kept.version
    for document in (valid, faulty):
        kept.upsert(read({**document, "status": {"pods": 7}}))
    assert (kept.version, len(told)) == (version, 1)
    kept.replace([read(valid), read(faulty)])
    assert len(told) == 1
