"""How pod scheduling policies are chosen, ordered and merged into a pod."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from controller.core.kubernetes.directives import REQUIRED, Directives, PodAffinity, Preferred
from controller.core.kubernetes.labels import LabelSelector, Requirement, Term
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_policies.policies import Mode, OnConflict, Outcome, Policy, Result, apply, contradictions
from tests.support.builders import a_requirement, a_term

EVERYTHING = LabelSelector()
NEAR = (PodAffinity.TOGETHER, REQUIRED)


def says(**fields: Any) -> Directives:
    selector = tuple(sorted(fields.pop("selector", {}).items()))
    return Directives(node_selector=selector, **fields)


def a_policy(name: str = "p", *, wants: Directives | None = None, **fields: Any) -> Policy:
    selectors: dict[str, Any] = {"pods": EVERYTHING, "namespaces": EVERYTHING}
    return Policy(name=name, directives=wants or says(), **{**selectors, **fields})


def after(pod: Directives, *policies: Policy, held: bool = False) -> Outcome:
    """The outcome; a second time, on the result, nothing may change."""
    outcome = apply(pod, policies, is_held=held)
    again = apply(outcome.pod, policies, is_held=held)
    assert again.pod == outcome.pod
    assert not [v for v in again.verdicts if v.policy.mode is Mode.ENFORCE and v.merge.changed and not again.refusal]
    assert [v.reasons for v in again.verdicts] == [v.reasons for v in outcome.verdicts]
    return outcome


def merged(pod: Directives, wants: Directives, *, held: bool = False) -> tuple[Directives, list[str]]:
    """The pod after one policy, and the fields in which it was left out."""
    outcome = after(pod, a_policy(wants=wants), held=held)
    return outcome.pod, [conflict.field for conflict in outcome.verdicts[0].merge.conflicts]


def terms(*texts: str) -> tuple[Term, ...]:
    """One term a text, its requirements apart by `&`; an empty text is an empty term."""
    return tuple(a_term(*(part.strip() for part in text.split("&") if part)) for text in texts)


def required_after(pod: tuple[Term, ...] | None, wants: tuple[Term, ...], **selector: str) -> Any:
    result, conflicts = merged(says(selector=selector, required=pod), says(required=wants))
    return conflicts or result.required


# -- which, and in which order -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"pods": None}, False),
        ({"namespaces": None}, False),
        ({"pods": LabelSelector((a_requirement("app In a"),))}, True),
        ({"pods": LabelSelector((a_requirement("app In b"),))}, False),
        ({"namespaces": LabelSelector((a_requirement("team In x"),))}, True),
        ({"namespaces": LabelSelector((a_requirement("team NotIn x"),))}, False),
        ({"namespace": "default", "namespaces": None}, True),
        ({"namespace": "other", "namespaces": None}, False),
    ],
)
def test_an_absent_selector_selects_none_an_empty_one_all(fields: Any, expected: bool) -> None:
    assert a_policy(**fields).selects("default", {"team": "x"}, {"app": "a"}) is expected


def test_the_order_is_wide_first_then_priority_then_name() -> None:
    """kupid compared an element with itself, so that order was chance (D1)."""
    policies = [
        a_policy("z", namespace="default", priority=9, wants=says(selector={"k": "own"})),
        a_policy("b", wants=says(selector={"k": "b"})),
        a_policy("a", wants=says(selector={"k": "a"})),
        a_policy("y", priority=5, wants=says(selector={"k": "first"})),
    ]
    for listed in itertools.permutations(policies):
        outcome = after(says(), *listed)
        assert outcome.pod.node_selector == (("k", "first"),)
        assert [verdict.policy.key for verdict in outcome.verdicts] == ["y", "a", "b", "default/z"]


# -- nodeSelector, nodeName, schedulerName, tolerations ------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "expected", "conflicts"),
    [
        (says(), {"a": "1", "b": "2"}, []),
        (says(selector={"c": "3"}), {"a": "1", "b": "2", "c": "3"}, []),
        (says(selector={"a": "1"}), {"a": "1", "b": "2"}, []),
        (says(selector={"a": "own"}), {"a": "own", "b": "2"}, ["nodeSelector"]),
        (says(required=terms("a In x")), {"b": "2"}, ["nodeSelector"]),
        (says(required=terms("a In x", "b In 2")), {"a": "1", "b": "2"}, []),
        (says(required=terms("")), {"a": "1", "b": "2"}, []),
    ],
)
def test_node_selector_is_merged_key_by_key(pod: Directives, expected: dict[str, str], conflicts: list[str]) -> None:
    result, left_out = merged(pod, says(selector={"a": "1", "b": "2"}))
    assert (dict(result.node_selector), left_out) == (expected, conflicts)


@pytest.mark.parametrize(
    ("pod", "expected", "conflicts"),
    [
        (says(), "n1", []),
        (says(node_name="n1"), "n1", []),
        (says(node_name="n2"), "n2", ["nodeName"]),
        (says(required=(a_term(fields=["metadata.name In n2"]),)), "", ["nodeName"]),
    ],
)
def test_a_node_is_named_where_none_is(pod: Directives, expected: str, conflicts: list[str]) -> None:
    result, left_out = merged(pod, says(node_name="n1"))
    assert (result.node_name, left_out) == (expected, conflicts)


@pytest.mark.parametrize(
    ("own", "expected", "conflicts"),
    [
        (None, (a_term(fields=["metadata.name In n1"]),), []),
        (terms("a In x"), (a_term("a In x", fields=["metadata.name In n1"]),), []),
        (
            (a_term(fields=["metadata.name In n2"]),),
            (a_term(fields=["metadata.name In n2"]),),
            ["nodeName"],
        ),
    ],
)
def test_on_a_waiting_pod_a_node_becomes_an_affinity(own: Any, expected: Any, conflicts: list[str]) -> None:
    result, left_out = merged(says(required=own), says(node_name="n1"), held=True)
    assert (result.node_name, result.required, left_out) == ("", expected, conflicts)


@pytest.mark.parametrize(
    ("own", "wanted", "expected", "conflicts"),
    [
        ("", "x", "x", []),
        ("x", "x", "x", []),
        ("y", "x", "y", ["schedulerName"]),
        ("y", "default-scheduler", "y", ["schedulerName"]),
    ],
)
def test_a_scheduler_is_named_where_none_is(own: str, wanted: str, expected: str, conflicts: list[str]) -> None:
    result, left_out = merged(says(scheduler_name=own), says(scheduler_name=wanted))
    assert (result.scheduler_name, left_out) == (expected, conflicts)


def test_a_default_scheduler_by_policy_stays() -> None:
    first, second = (a_policy(name, wants=says(scheduler_name=name)) for name in ("default-scheduler", "other"))
    outcome = apply(says(), [first, second], is_held=False)
    assert [verdict.result for verdict in outcome.verdicts] == [Result.UNCHANGED, Result.CONFLICT]
    assert outcome.pod.scheduler_name == "default-scheduler"


NO_EXECUTE = Toleration("k", "Equal", "v", "NoExecute")


@pytest.mark.parametrize(
    ("own", "wanted", "expected", "conflicts"),
    [
        ((), NO_EXECUTE, (NO_EXECUTE,), []),
        ((NO_EXECUTE,), NO_EXECUTE, (NO_EXECUTE,), []),
        ((Toleration("a", "Exists"),), NO_EXECUTE, (Toleration("a", "Exists"), NO_EXECUTE), []),
        (
            (Toleration("k", "Equal", "v", "NoExecute", 30),),
            NO_EXECUTE,
            (Toleration("k", "Equal", "v", "NoExecute", 30),),
            ["tolerations"],
        ),
    ],
)
def test_tolerations_are_united(own: Any, wanted: Toleration, expected: Any, conflicts: list[str]) -> None:
    result, left_out = merged(says(tolerations=own), says(tolerations=(wanted,)))
    assert (result.tolerations, left_out) == (expected, conflicts)


# -- affinity ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "wants", "expected"),
    [
        (None, terms("a In 1", "b In 2"), terms("a In 1", "b In 2")),
        # the pod's own requirements come first, as a gated pod's must (D3)
        (terms("x Exists"), terms("a In 1"), terms("x Exists & a In 1")),
        (
            terms("x Exists", "y Exists"),
            terms("a In 1", "b In 2"),
            terms("x Exists & a In 1", "x Exists & b In 2", "y Exists & a In 1", "y Exists & b In 2"),
        ),
        # three terms stay three (D2)
        (terms("a In 1", "b In 2", "c In 3"), terms("a In 1", "b In 2", "c In 3"), terms("a In 1", "b In 2", "c In 3")),
        # an empty term matches no node and is not made to match one (D4)
        (terms(""), terms("a In 1"), terms("")),
        (terms("", "x Exists"), terms("a In 1"), terms("", "x Exists & a In 1")),
        ((), terms("a In 1"), ()),
        # overlapping lists are both kept
        (terms("a In 1,2"), terms("a In 2,3"), terms("a In 1,2 & a In 2,3")),
        (terms("a In 1,2"), terms("a In 2,1"), terms("a In 1,2")),
        # what can never hold is dropped
        (terms("a In 1"), terms("a In 2", "b In 2"), terms("a In 1 & b In 2")),
        (terms("a In 1", "b In 2"), terms("a In 2"), terms("b In 2 & a In 2")),
        (terms("a In 1"), terms("a In 2", "a In 3"), ["nodeAffinity"]),
        (terms("", "a In 1"), terms("a In 2"), ["nodeAffinity"]),
    ],
)
def test_required_node_affinities_are_multiplied(own: Any, wants: Any, expected: Any) -> None:
    assert required_after(own, wants) == expected


def test_a_requirement_against_the_node_selector_is_left_out() -> None:
    assert required_after(None, terms("a In 1"), a="2") == ["nodeAffinity"]
    assert required_after(None, terms("a In 1", "b In 1"), a="2") == terms("b In 1")


def test_fields_are_joined_too() -> None:
    by_name, by_label = a_term(fields=["metadata.name NotIn n1"]), a_term("a In 1")
    both = a_term("a In 1", fields=["metadata.name NotIn n1"])
    assert required_after((by_name,), (by_label,)) == (both,)


def test_too_many_terms_refuse_the_pod_with_the_numbers() -> None:
    own = terms(*(f"a In {number}" for number in range(9)))
    policy = a_policy(wants=says(required=terms(*(f"b In {number}" for number in range(8)))))
    outcome = apply(says(required=own), [policy], is_held=False)
    assert outcome.pod.required == own
    assert outcome.refusal == (
        "ClusterPodSchedulingPolicy 'p' refuses the pod: spec.affinity.nodeAffinity: required terms: 9 of the pod with "
        "8 of the policy give more than 64; use fewer alternatives"
    )
    assert len(required_after(own[:8], policy.directives.required or ())) == 64
    many = terms(*(f"a In {number}" for number in range(65)))
    assert apply(says(required=many), [policy], is_held=False).refusal


def test_preferences_and_pod_affinity_are_added_once() -> None:
    first, second = {"topologyKey": "zone", "labelSelector": {}}, {"labelSelector": {}, "topologyKey": "zone"}
    liked, other = Preferred(1, a_term("a In 1")), Preferred(2, a_term("a In 1"))
    pod = says(preferred=(liked,), pod_terms={NEAR: (first,)})
    wants = says(preferred=(liked, other), pod_terms={NEAR: (second, {"topologyKey": "host"})})
    result, conflicts = merged(pod, wants)
    assert result.preferred == (liked, other)
    assert result.pod_terms == {NEAR: (first, {"topologyKey": "host"})}
    assert conflicts == []


# -- conflicts and modes -------------------------------------------------------------------------------------------

CONTRADICTED = says(selector={"a": "pod"})
WANTS = says(selector={"a": "policy", "b": "policy"})


def test_what_is_left_out_is_said_with_path_and_value() -> None:
    verdict = after(CONTRADICTED, a_policy(wants=WANTS)).verdicts[0]
    assert (verdict.result, verdict.reasons) == (Result.CONFLICT, "spec.nodeSelector[a] is 'pod', not 'policy'")


def test_of_two_contradicting_policies_the_first_wins() -> None:
    outcome = after(says(), a_policy("a", wants=CONTRADICTED), a_policy("b", wants=WANTS))
    assert dict(outcome.pod.node_selector) == {"a": "pod", "b": "policy"}
    assert [verdict.result for verdict in outcome.verdicts] == [Result.CHANGED, Result.CONFLICT]


def test_a_policy_that_rejects_ends_it() -> None:
    rejecting = a_policy("a", wants=WANTS, on_conflict=OnConflict.REJECT)
    outcome = after(CONTRADICTED, rejecting, a_policy("b", wants=WANTS))
    assert [verdict.result for verdict in outcome.verdicts] == [Result.REFUSED]
    assert outcome.pod == CONTRADICTED
    assert (outcome.refusal or "").startswith("ClusterPodSchedulingPolicy 'a' refuses the pod: spec.nodeSelector[a]")


@pytest.mark.parametrize("mode", [Mode.WARN, Mode.AUDIT])
@pytest.mark.parametrize(
    ("pod", "on_conflict", "expected"),
    [
        (says(), OnConflict.REJECT, Result.WOULD_CHANGE),
        (CONTRADICTED, OnConflict.POD_WINS, Result.WOULD_CONFLICT),
        (CONTRADICTED, OnConflict.REJECT, Result.WOULD_REFUSE),
        (WANTS, OnConflict.REJECT, Result.UNCHANGED),
    ],
)
def test_an_unenforced_policy_changes_and_hides_nothing(
    mode: Mode, pod: Directives, on_conflict: OnConflict, expected: Result
) -> None:
    told = a_policy("a", wants=WANTS, mode=mode, on_conflict=on_conflict)
    outcome = after(pod, told, a_policy("b", wants=says(selector={"c": "1"})))
    assert outcome.verdicts[0].result is expected
    assert dict(outcome.pod.node_selector) == {**dict(pod.node_selector), "c": "1"}
    assert outcome.refusal is None


@pytest.mark.parametrize(
    ("wants", "expected"),
    [
        (says(), ""),
        (says(selector={"a": "1"}, required=terms("a In 1,2", "a In 3")), ""),
        (
            says(selector={"a": "1"}, required=terms("a In 2", "a In 3")),
            "spec.nodeSelector[a] is '1', not a In [2]; spec.nodeSelector[a] is '1', not a In [3]",
        ),
    ],
)
def test_a_policy_that_contradicts_itself_is_found_out(wants: Directives, expected: str) -> None:
    assert contradictions(a_policy("a", wants=wants)) == expected


def test_requirements_of_one_meaning_are_not_written_twice() -> None:
    wants = (
        Term(
            (a_requirement("a In 2,1"), Requirement("b", a_requirement("b Exists").operator)),
        ),
    )
    assert required_after(terms("a In 1,2"), wants) == terms("a In 1,2 & b Exists")
