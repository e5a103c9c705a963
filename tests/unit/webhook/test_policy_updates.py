"""Updates of gated pods, held against the pod scheduling policies."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.api_objects import Json, cluster_pod_policy, node_terms, pod_policy, requirement
from tests.support.json_patch import patched
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.policy_worlds import PolicyWorld, a_pod
from tests.support.worlds import TRUSTED
from webhook.checks import chain
from webhook.checks.chain import validate
from webhook.reviews.admission import Answer, Request
from webhook.steps.chain import mutate

GATED = [{"name": "example.com/other"}]
SELECTED = {"matchLabels": {"app": "a"}}
ANY_POOL = {"matchExpressions": [requirement("In", "x", "y")]}


def a_gated_pod(app: str = "", **spec: Any) -> Json:
    return a_pod({"labels": {"app": app}} if app else {}, schedulingGates=GATED, **spec)


def created(pod: Json, world: PolicyWorld) -> Json:
    """The pod as the policies make it."""
    request = Request(uid="1", operation="CREATE", namespace="default", subresource="", user="jane", groups=(), pod=pod)
    return patched(pod, mutate(request, world).operations)


def update(old: Json | None, new: Json, world: PolicyWorld, **fields: Any) -> Answer:
    filled: Json = {"operation": "UPDATE", "namespace": "default", "subresource": "", "user": "jane", "groups": ()}
    return validate(Request(**{"uid": "1", "pod": new, "old": old, **filled, **fields}), world)


def edited(pod: Json, *path: str, value: Any) -> Json:
    """The pod with the member at `path` set; None removes it."""
    result = copy.deepcopy(pod)
    *way, last = path
    target = result
    for token in way:
        target = target.setdefault(token, {})
    if value is None:
        del target[last]
    else:
        target[last] = value
    return result


EVERYTHING: Json = {
    "nodeSelector": {"a": "1"},
    "schedulerName": "other",
    "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [ANY_POOL]},
            PREFERRED: [{"weight": 7, "preference": {"matchExpressions": [requirement("Exists", key="zone")]}}],
        },
        "podAffinity": {REQUIRED: [{"topologyKey": "zone"}]},
        "podAntiAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": {"topologyKey": "host"}}]},
    },
}


def test_labels_that_newly_select_are_refused_with_all_missing() -> None:
    world = PolicyWorld(pod_policy("own", podSelector=SELECTED, **EVERYTHING))
    answer = update(a_gated_pod(), a_gated_pod("a"), world)
    missing = (
        "spec.nodeSelector lacks a=1, spec.schedulerName is not 'other', "
        "spec.tolerations lacks key spot, operator Exists, effect NoSchedule, "
        "spec.affinity.nodeAffinity lacks what the policy requires of nodes, "
        "spec.affinity.nodeAffinity lacks the preferred term of weight 7 for zone Exists, "
        f"spec.affinity.podAffinity.{REQUIRED} lacks the term of zone, "
        f"spec.affinity.podAntiAffinity.{PREFERRED} lacks the term of host"
    )
    assert answer == Answer(
        denial=f"PodSchedulingPolicy 'own' refuses the update: {missing}; the new labels make the policy select the "
        "pod: add this in the same update, or leave the labels as they are",
        audit=(("policies-broken", f"default/own: {missing}"),),
        counted=(("default/own", "refused"),),
    )


def test_labels_may_change_when_the_policy_is_satisfied() -> None:
    world = PolicyWorld(pod_policy("own", podSelector=SELECTED, **EVERYTHING))
    pod = created(a_gated_pod("a"), world)
    for before in ({}, {"app": "b"}):
        assert update(edited(pod, "metadata", "labels", value=before), pod, world) == Answer()


def test_labels_and_the_policys_wants_may_come_together() -> None:
    world = PolicyWorld(pod_policy(podSelector=SELECTED, nodeSelector={"a": "1"}))
    assert update(a_gated_pod(), a_gated_pod("a", nodeSelector={"a": "1"}), world) == Answer()


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("spec", "nodeSelector", "a"), None, "spec.nodeSelector lacks a=1"),
        (("spec", "tolerations"), [], "spec.tolerations lacks key spot"),
        (("spec", "affinity", "nodeAffinity", PREFERRED), [], "lacks the preferred term of weight 7"),
        (("spec", "affinity", "nodeAffinity", REQUIRED), None, "lacks what the policy requires of nodes"),
        (("spec", "affinity", "podAffinity"), None, "lacks the term of zone"),
    ],
)
def test_taking_away_what_a_policy_gave_is_refused(path: tuple[str, ...], value: Any, text: str) -> None:
    world = PolicyWorld(cluster_pod_policy("wide", **EVERYTHING))
    pod = created(a_gated_pod(), world)
    denial = update(pod, edited(pod, *path, value=value), world).denial
    assert denial is not None
    assert denial.startswith("ClusterPodSchedulingPolicy 'wide' refuses the update: ")
    assert text in denial
    assert denial.endswith("; leave the pod as the policy wants it")


def test_narrowing_what_a_policy_gave_is_no_breach() -> None:
    world = PolicyWorld(pod_policy(**EVERYTHING))
    pod = created(a_gated_pod(), world)
    terms = [{"matchExpressions": [*ANY_POOL["matchExpressions"], requirement("In", "z", key="zone")]}]
    narrowed = edited(pod, "spec", "affinity", "nodeAffinity", REQUIRED, value={"nodeSelectorTerms": terms})
    assert update(pod, edited(narrowed, "spec", "nodeSelector", "more", value="x"), world) == Answer()


@pytest.mark.parametrize(
    "change",
    [
        (("spec", "schedulingGates"), None),
        (("metadata", "labels"), {"app": "b"}),
        (("spec", "tolerations"), [{"key": "mine"}]),
        (("spec", "affinity", "nodeAffinity", PREFERRED), []),
    ],
)
def test_a_policy_written_later_does_not_stand_in_the_way(change: Any) -> None:
    path, value = change
    late = PolicyWorld(pod_policy(**EVERYTHING))
    mine: Json = {"weight": 1, "preference": {"matchExpressions": [requirement("Exists", key="mine")]}}
    pod = a_gated_pod("a", affinity={"nodeAffinity": {PREFERRED: [mine]}})
    assert update(pod, edited(pod, *path, value=value), late) == Answer()


def test_a_held_node_name_is_no_breach_once_the_gate_goes() -> None:
    world = PolicyWorld(pod_policy(nodeName="n1"))
    pod = created(a_gated_pod(), world)
    assert update(pod, edited(pod, "spec", "schedulingGates", value=None), world) == Answer()
    free = edited(pod, "spec", "affinity", value=None)
    assert "requires of nodes" in (update(pod, free, world).denial or "")


def test_a_fault_does_not_move_from_one_policy_to_the_next() -> None:
    spot = [{"key": "spot"}]
    world = PolicyWorld(
        pod_policy("a", podSelector=SELECTED, tolerations=spot), pod_policy("b", podSelector={}, tolerations=spot)
    )
    assert update(a_gated_pod("a"), a_gated_pod(), world) == Answer()


def test_a_policy_that_rejects_refuses_a_new_conflict_alone() -> None:
    selects: Json = {"podSelector": SELECTED, "nodeSelector": {"a": "1"}}
    rejecting = PolicyWorld(pod_policy(onConflict="Reject", **selects))
    other: Json = {"nodeSelector": {"a": "2"}}
    answer = update(a_gated_pod(**other), a_gated_pod("a", **other), rejecting)
    assert (answer.denial or "").startswith(
        "PodSchedulingPolicy 'batch' refuses the update: spec.nodeSelector[a] is '2', not '1'; the new labels"
    )
    assert (
        update(a_gated_pod("a", **other), a_gated_pod("a", tolerations=[{"key": "x"}], **other), rejecting) == Answer()
    )
    forgiving = PolicyWorld(pod_policy(**selects))
    assert update(a_gated_pod(**other), a_gated_pod("a", **other), forgiving) == Answer()


def test_a_merge_that_grew_too_large_is_refused() -> None:
    terms = [{"matchExpressions": [requirement("In", str(number))]} for number in range(16)]
    own = node_terms(*({"matchExpressions": [requirement("In", str(n), key="own")]} for n in range(5)))
    world = PolicyWorld(pod_policy(podSelector=SELECTED, affinity=node_terms(*terms)))
    denial = update(a_gated_pod(affinity=own), a_gated_pod("a", affinity=own), world).denial
    assert "give more than 64" in (denial or "")


def test_policies_that_are_not_enforced_only_tell() -> None:
    world = PolicyWorld(
        pod_policy("told", mode="Audit", podSelector=SELECTED, nodeSelector={"a": "1"}),
        pod_policy("warned", mode="Warn", podSelector=SELECTED, nodeSelector={"b": "1"}),
    )
    assert update(a_gated_pod(), a_gated_pod("a"), world) == Answer(
        warnings=("PodSchedulingPolicy 'warned' (mode Warn) would refuse the update: spec.nodeSelector lacks b=1",),
        audit=(
            (
                "policies-broken",
                "default/told: spec.nodeSelector lacks a=1; default/warned: spec.nodeSelector lacks b=1",
            ),
        ),
        counted=(("default/told", "would_refuse"), ("default/warned", "would_refuse")),
    )


def test_every_policy_that_refuses_is_named() -> None:
    world = PolicyWorld(
        pod_policy("a", podSelector=SELECTED, nodeSelector={"a": "1"}),
        pod_policy("b", podSelector=SELECTED, nodeSelector={"b": "1"}),
    )
    denial = update(a_gated_pod(), a_gated_pod("a"), world).denial or ""
    assert ("'a' refuses" in denial, "'b' refuses" in denial) == (True, True)


BREAKING = PolicyWorld(pod_policy(podSelector=SELECTED, nodeSelector={"a": "1"}))


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        (a_pod(), a_pod({"labels": {"app": "a"}}), {}),
        (a_gated_pod(), a_gated_pod("a"), {"user": TRUSTED}),
        (a_gated_pod(), a_gated_pod("a"), {"subresource": "status"}),
        (a_gated_pod(), a_gated_pod("a"), {"operation": "DELETE"}),
        (None, a_gated_pod("a"), {"operation": "CREATE"}),
        (None, a_gated_pod("a"), {}),
        (a_gated_pod(), edited(a_gated_pod("a"), "metadata", "deletionTimestamp", value="2026-01-01T00:00:00Z"), {}),
        (a_gated_pod(), a_gated_pod("a", tolerations=5), {}),
        (a_gated_pod(tolerations=5), a_gated_pod("a"), {}),
    ],
    ids=("no gate", "trusted", "subresource", "delete", "create", "no old", "going", "new no pod", "old no pod"),
)
def test_what_is_not_judged_passes(old: Json | None, new: Json, fields: Json) -> None:
    if old is not None:
        assert update(a_gated_pod(), a_gated_pod("a"), BREAKING).denial is not None
    assert update(old, new, BREAKING, **fields) == Answer()


def test_the_first_refusal_ends_the_chain_and_words_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def tells(*_: object) -> Answer:
        return Answer(warnings=("told",), audit=(("a", "b"),), counted=(("p", "r"),))

    def refuses(*_: object) -> Answer:
        return Answer(denial="no")

    monkeypatch.setattr(chain, "POLICY_CHECKS", (tells, tells))
    told = Answer(warnings=("told",) * 2, audit=(("a", "b"),) * 2, counted=(("p", "r"),) * 2)
    assert update(a_gated_pod(), a_gated_pod(), BREAKING) == told
    monkeypatch.setattr(chain, "POLICY_CHECKS", (tells, refuses, tells))
    assert update(a_gated_pod(), a_gated_pod(), BREAKING) == Answer(denial="no")
