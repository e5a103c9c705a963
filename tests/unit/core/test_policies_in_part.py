"""What of a policy's required terms is merged into a pod that contradicts them, and what is told of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.kubernetes.directives import Directives
from controller.core.kubernetes.labels import Term
from controller.core.pod_policies.policies import OnConflict, apply
from tests.unit.core.test_pod_policies import a_policy, after, says, terms

IN_PART: list[Any] = [
    # no pod is left without any node, by a term that its nodeSelector rules out
    (
        says(selector={"zone": "b"}, required=terms("zone In a", "zone In b")),
        terms("zone In a"),
        terms("zone In a", "zone In b"),
        "spec.nodeSelector[zone] is 'b', not zone In [a]",
    ),
    # a conflict names key and value
    (
        says(required=terms("zone In a")),
        terms("zone In b"),
        terms("zone In a"),
        "spec.affinity.nodeAffinity: required terms have zone In [a], not zone In [b]",
    ),
    # the single requirement is skipped
    (
        says(selector={"zone": "a"}),
        terms("zone In b & ssd Exists"),
        terms("ssd Exists"),
        "spec.nodeSelector[zone] is 'a', not zone In [b]",
    ),
    # in each term of the pod another one
    (
        says(required=terms("zone In a", "ssd DoesNotExist")),
        terms("zone In b & ssd Exists"),
        terms("zone In a & ssd Exists", "ssd DoesNotExist & zone In b"),
        "spec.affinity.nodeAffinity: required terms have zone In [a], not zone In [b]; "
        "spec.affinity.nodeAffinity: required terms have ssd DoesNotExist, not ssd Exists",
    ),
    # of alternatives what is left of each; one of which nothing is left says nothing
    (
        says(selector={"zone": "a"}, required=terms("x Exists")),
        terms("zone In b & ssd Exists", "zone In c & gpu Exists", "zone In d"),
        terms("x Exists & ssd Exists", "x Exists & gpu Exists"),
        "spec.nodeSelector[zone] is 'a', not zone In [b]; spec.nodeSelector[zone] is 'a', not zone In [c]",
    ),
    # terms that the nodeSelector rules out go with it, an empty one stays
    (
        says(selector={"zone": "a"}, required=terms("zone In b & x Exists", "", "y Exists")),
        terms("zone In b & ssd Exists"),
        terms("", "y Exists & ssd Exists"),
        "spec.nodeSelector[zone] is 'a', not zone In [b]",
    ),
    # a pod that runs nowhere stays so
    (
        says(selector={"zone": "a"}, required=terms("zone In b")),
        terms("zone In c"),
        terms("zone In b"),
        "spec.affinity.nodeAffinity: required terms can hold on no node together with spec.nodeSelector",
    ),
    # what holds nowhere by itself
    (
        says(selector={"zone": "a"}),
        terms("size Lt 0 & ssd Exists"),
        terms("ssd Exists"),
        "spec.affinity.nodeAffinity: required terms: size Lt [0] holds on no node",
    ),
    # only together
    (
        says(required=terms("a In 1,2 & a In 2,3")),
        terms("a In 1,3"),
        terms("a In 1,2 & a In 2,3"),
        "spec.affinity.nodeAffinity: required terms rule it out, not a In [1, 3]",
    ),
]
"""A pod, what a policy requires, what is required then, and what is told."""


@pytest.mark.parametrize(("pod", "wants", "expected", "told"), IN_PART)
def test_what_can_hold_of_a_contradicted_policy_is_merged(
    pod: Directives, wants: tuple[Term, ...], expected: tuple[Term, ...], told: str
) -> None:
    outcome = after(pod, a_policy(wants=says(required=wants)))
    assert (outcome.pod.required, outcome.verdicts[0].reasons) == (expected, told)
    assert outcome.pod.node_selector == pod.node_selector
    rejecting = apply(pod, [a_policy(wants=says(required=wants), on_conflict=OnConflict.REJECT)], is_held=False)
    assert rejecting.refusal is not None


def test_of_many_contradictions_the_first_are_told() -> None:
    wants = says(required=terms(*(f"zone In {number}" for number in range(6))))
    (verdict,) = after(says(selector={"zone": "a"}), a_policy(wants=wants)).verdicts
    assert verdict.reasons.startswith("spec.nodeSelector[zone] is 'a', not zone In [0]; ")
    assert verdict.reasons.endswith("; 3 more requirements that contradict the pod's")


def test_what_is_left_of_many_alternatives_is_bounded_too() -> None:
    own = says(selector={"zone": "a"}, required=terms(*(f"a In {number}" for number in range(9))))
    wants = says(required=terms(*(f"zone In b & x In {number}" for number in range(8))))
    assert apply(own, [a_policy(wants=wants)], is_held=False).refusal
