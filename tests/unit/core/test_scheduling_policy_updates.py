"""What an update newly does against policies, and what a pod holds of what they give."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.pod_policies.policies import Mode
from controller.core.scheduling_policies.holding import held_givers
from controller.core.scheduling_policies.levels import Level
from controller.core.scheduling_policies.update import newly_wrong
from tests.support.api_objects import Json, field_requirement, node_terms, requirement
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.scheduling import a_pod, as_one

ANY_TERMS: Json = {"nodeAffinities": {REQUIRED: {}, PREFERRED: {}}}


def term(*values: str, key: str = "pool") -> Json:
    return {"matchExpressions": [requirement("In", *values, key=key)]}


def preferred(*values: str) -> Json:
    return {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term(value)} for value in values]}}


def new_paths(before: Json, after: Json, *policies: Json) -> list[str]:
    level = Level(Mode.ENFORCE, as_one(*policies) if policies else None)
    return [violation.path for violation in newly_wrong(a_pod(before), a_pod(after), level)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"nodeSelector": {"a": "b"}}, ["spec.nodeSelector[a]"]),
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "b", "c": "d"}}, ["spec.nodeSelector[c]"]),
        ({"tolerations": [{"key": "x"}]}, {"tolerations": [{"key": "x"}, {"key": "y"}]}, ["spec.tolerations[1]"]),
        # the same one in another place
        ({"tolerations": [{"key": "x"}, {"key": "y"}]}, {"tolerations": [{"key": "y"}, {"key": "x"}]}, []),
        ({"affinity": preferred("a", "b")}, {"affinity": preferred("b")}, []),
        (
            {"affinity": preferred("a")},
            {"affinity": preferred("b", "a")},
            [f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0]"],
        ),
    ],
)
def test_only_what_is_new_is_wrong(before: Json, after: Json, expected: list[str]) -> None:
    assert new_paths(before, after, {}) == expected
    assert new_paths(before, after) == expected, "who may use no policy may add nothing either"
    assert new_paths(after, after, {}) == []


def test_a_required_affinity_missed_before_may_be_narrowed() -> None:
    policy: Json = {
        "required": {
            "affinities": {
                "nodeAffinities": {
                    REQUIRED: {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"keys": ["pool"], "operators": ["In"], "values": ["a"]}]}
                        ]
                    }
                }
            }
        },
        "allowed": {"affinities": {}},
    }
    missed, narrowed = (
        node_terms(term("z", key="zone")),
        node_terms({"matchExpressions": [requirement("In", "z", key="zone"), requirement("Exists", key="disk")]}),
    )
    assert new_paths({"affinity": missed}, {"affinity": narrowed}, policy) == []
    met = node_terms(term("a"))
    assert new_paths({"affinity": met}, {"affinity": missed}, policy) == [
        f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"
    ]


AFFINITY: Json = {
    "nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [term("x")]},
        PREFERRED: [{"weight": 1, "preference": {"matchFields": [field_requirement("n1")]}}],
    },
    "podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}]},
}
BOTH = {"matchExpressions": [requirement("In", "x"), requirement("Exists", key="disk")]}


@pytest.mark.parametrize(
    ("default", "pod"),
    [
        ({"schedulerName": "theirs"}, {"schedulerName": "theirs"}),
        ({"priorityClassName": "gold"}, {"priorityClassName": "gold"}),
        ({"runtimeClassName": "kata"}, {"runtimeClassName": "kata"}),
        ({"nodeSelector": {"a": "1", "b": "2"}}, {"nodeSelector": {"b": "2"}}),
        (
            {"tolerations": [{"key": "x", "operator": "Exists"}]},
            {"tolerations": [{"key": "own"}, {"key": "x", "operator": "Exists"}]},
        ),
        ({"affinity": {"nodeAffinity": AFFINITY["nodeAffinity"]}}, {"affinity": node_terms(BOTH)}),
        (
            {"affinity": AFFINITY},
            {"affinity": {"nodeAffinity": {PREFERRED: AFFINITY["nodeAffinity"][PREFERRED]}}},
        ),
        ({"affinity": AFFINITY}, {"affinity": {"podAffinity": AFFINITY["podAffinity"]}}),
    ],
)
def test_a_pod_holds_what_it_has_of_a_default(default: Json, pod: Any) -> None:
    merged = as_one({"default": default}, {"allowed": {}})
    assert held_givers(a_pod(pod), merged) == frozenset({"schedpol-a"})
    assert held_givers(a_pod(), merged) == frozenset()


def test_a_pod_holds_of_each_policy_its_own() -> None:
    merged = as_one({"default": {"nodeSelector": {"a": "1"}}}, {"required": {"nodeSelectors": {"b": ["2"]}}})
    assert held_givers(a_pod({"nodeSelector": {"b": "2", "a": "own"}}), merged) == frozenset({"schedpol-b"})
    assert held_givers(a_pod({"nodeSelector": {"b": "2", "a": "1"}}), merged) == frozenset({"schedpol-a", "schedpol-b"})


def test_another_affinity_is_not_what_the_policy_gives() -> None:
    merged = as_one({"default": {"affinity": {"nodeAffinity": AFFINITY["nodeAffinity"]}}})
    assert held_givers(a_pod({"affinity": node_terms(term("y"))}), merged) == frozenset()
    many = node_terms(*(term(str(number), key="own") for number in range(70)))
    assert held_givers(a_pod({"affinity": many}), merged) == frozenset()
