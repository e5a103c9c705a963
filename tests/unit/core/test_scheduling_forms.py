"""What meets the forms of SchedulingPolicies, and how lists and mappings of several policies become one."""

from __future__ import annotations

import pytest

from controller.core.kubernetes.directives import Preferred
from controller.core.scheduling_policies.policy import AffinityKind, MergeOption
from tests.support.api_objects import Json
from tests.support.builders import a_term
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.scheduling import PODS, a_pod, as_one, faults, is_admitted, needs, nodes

# -- tolerations ---------------------------------------------------------------------------------------------------

EVERYTHING: Json = {"keys": [], "operators": [], "values": [], "effects": []}
EQUAL: Json = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}
EXISTS: Json = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}


def is_tolerated(toleration: Json, form: Json) -> bool:
    return is_admitted({"tolerations": [toleration]}, {"allowed": {"tolerations": [form]}})


@pytest.mark.parametrize("part", ["keys", "operators", "values", "effects"])
def test_a_toleration_form_without_a_list_allows_none(part: str) -> None:
    assert is_tolerated(EQUAL, EVERYTHING)
    assert not is_tolerated(EQUAL, {name: form for name, form in EVERYTHING.items() if name != part})
    assert not is_tolerated(EQUAL, {**EVERYTHING, part: ["other"] if part in ("keys", "values") else _OTHER[part]})


_OTHER: Json = {"operators": ["Exists"], "effects": ["NoExecute"]}


@pytest.mark.parametrize(
    ("lists", "allowed"),
    [
        ({}, True),
        ({"values": ["v"]}, False),
        ({"values": None}, False),
        ({"operators": ["Exists"]}, True),
        ({"operators": ["Exists"], "values": ["v"]}, True),
        ({"operators": ["Exists"], "values": None}, True),
        ({"operators": ["Equal"]}, False),
        ({"operators": None}, False),
    ],
)
def test_exists_tolerates_all_so_it_needs_everything_allowed(lists: Json, allowed: bool) -> None:
    form = {name: value for name, value in {**EVERYTHING, **lists}.items() if value is not None}
    assert is_tolerated(EXISTS, form) is allowed


@pytest.mark.parametrize(
    ("effects", "allowed"),
    [
        ([], True),
        (["NoSchedule", "PreferNoSchedule", "NoExecute"], True),
        (["NoSchedule", "NoExecute"], False),
        (None, False),
    ],
)
def test_a_toleration_of_every_effect_needs_such_a_form(effects: list[str] | None, allowed: bool) -> None:
    form = {**EVERYTHING, "effects": effects} if effects is not None else {**EVERYTHING}
    if effects is None:
        del form["effects"]
    assert is_tolerated({**EXISTS, "effect": ""}, form) is allowed


def test_an_equal_of_no_value_needs_that_value() -> None:
    empty = {**EQUAL, "value": ""}
    assert is_tolerated(empty, {**EVERYTHING, "values": [""]})
    assert is_tolerated(empty, EVERYTHING)
    assert not is_tolerated(empty, {**EVERYTHING, "values": ["v"]})


def test_every_toleration_has_to_be_of_some_form() -> None:
    spec: Json = {"allowed": {"tolerations": [{**EVERYTHING, "keys": ["k"]}, {**EVERYTHING, "keys": ["l"]}]}}
    assert is_admitted({"tolerations": [EQUAL, {**EXISTS, "key": "l"}]}, spec)
    assert not is_admitted({"tolerations": [EQUAL, {**EXISTS, "key": "m"}]}, spec)


# -- node affinity -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "allowed"),
    [
        ("{keys: [], operators: [], values: []}", True),
        ("{operators: [], values: []}", False),
        ("{keys: [], values: []}", False),
        ("{keys: [], operators: []}", False),
        ("{keys: [a], operators: [In], values: [x, y]}", True),
        ("{keys: [a], operators: [In], values: [x]}", False),
        ("{keys: [b], operators: [In], values: []}", False),
    ],
)
def test_a_form_of_requirements_without_a_list_allows_none(form: str, allowed: bool) -> None:
    assert is_admitted(needs("a In x,y"), nodes("allowed", f"[{form}]")) is allowed


def test_a_requirement_without_values_needs_none_allowed() -> None:
    assert is_admitted(needs("a Exists"), nodes("allowed", "[{keys: [a], operators: [Exists]}]"))


@pytest.mark.parametrize(
    ("spec", "pod", "admitted"),
    [
        ("podAntiAffinities: {}", {}, False),
        ("podAntiAffinities: {}", {"podAntiAffinity": {PREFERRED: PODS}}, True),
        ("podAntiAffinities: {}", {"podAffinity": {PREFERRED: PODS}}, False),
        (f"podAntiAffinities: {{{REQUIRED}: {{}}}}", {"podAntiAffinity": {PREFERRED: PODS}}, False),
        (f"podAntiAffinities: {{{REQUIRED}: {{}}}}", {"podAntiAffinity": {REQUIRED: PODS}}, True),
        ("nodeAffinities: {}", needs("a Exists")["affinity"], True),
        ("nodeAffinities: {}", {}, False),
        (f"nodeAffinities: {{{REQUIRED}: {{}}}}", needs("a Exists")["affinity"], True),
        (f"nodeAffinities: {{{PREFERRED}: {{}}}}", needs("a Exists")["affinity"], False),
    ],
)
def test_an_affinity_that_is_required_without_terms_is_any(spec: str, pod: dict[str, object], admitted: bool) -> None:
    assert is_admitted({"affinity": pod}, f"required: {{affinities: {{{spec}}}}}") is admitted


def test_a_required_preference_is_met_by_one_of_the_pods() -> None:
    def prefers(*keys: str) -> dict[str, object]:
        terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in keys]
        return {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term} for term in terms]}}}

    spec = nodes("required", "[{keys: [a], operators: [Exists]}]", part=PREFERRED)
    everything = "allowed: {affinities: {}}"
    assert is_admitted(prefers("b", "a"), spec, everything)
    assert not is_admitted(prefers("b"), spec, everything)
    assert is_admitted(prefers("a"), spec)
    assert not is_admitted(prefers("b", "a"), spec)


def test_the_first_policy_with_terms_speaks_for_its_part() -> None:
    anything, arch = (
        f"required: {{affinities: {{nodeAffinities: {{{REQUIRED}: {{}}}}}}}}",
        nodes("required", "[{keys: [arch], operators: [In], values: [x, y]}]"),
    )
    assert faults(a_pod(needs("b Exists")), as_one(anything, arch))[0] == (
        f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0] is b Exists, must be arch In [x, y] "
        f"(required.affinities.nodeAffinities.{REQUIRED} of SchedulingPolicy 'schedpol-b')"
    )


def test_an_empty_term_of_a_pod_breaks_nothing() -> None:
    empty: Json = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}}}
    assert is_admitted(empty, nodes("required", "[{keys: [arch], operators: [In], values: [x, y]}]"))


@pytest.mark.parametrize(
    ("forms", "admitted"),
    [
        ("[{matchExpressions: []}]", False),
        ("[{matchFields: []}]", True),
        ("[{matchFields: [{keys: [metadata.name], operators: [In], values: [node-1, node-2]}]}]", True),
        ("[{matchFields: [{keys: [metadata.name], operators: [In], values: [node-2]}]}]", False),
        ("[]", True),
    ],
)
def test_requirements_on_the_nodes_name_need_forms_of_their_own(forms: str, admitted: bool) -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]
    pod = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}}}
    spec = f"allowed: {{affinities: {{nodeAffinities: {{{REQUIRED}: {{nodeSelectorTerms: {forms}}}}}}}}}"
    assert is_admitted(pod, spec) is admitted


# -- merging -------------------------------------------------------------------------------------------------------


def test_a_list_with_an_empty_entry_is_all_and_absent_none() -> None:
    lists = ["allowed: {schedulerNames: [a]}", "allowed: {schedulerNames: []}", "{}"]
    assert as_one(*lists).allowed.scheduler_names == ()
    assert as_one(lists[0], lists[2]).allowed.scheduler_names == ("a",)
    assert as_one(*lists, option=MergeOption.FIRST_ENTRY).allowed.scheduler_names == ("a",)


def test_an_empty_mapping_absorbs_what_others_list() -> None:
    kinds = "allowed: {affinities: {podAffinities: {}}, nodeSelectors: {a: [x]}}"
    assert as_one(kinds, "allowed: {affinities: {}, nodeSelectors: {}}").allowed.affinities == {}
    assert as_one(kinds, "allowed: {affinities: {}, nodeSelectors: {}}").allowed.node_selectors == {}
    assert as_one(kinds, "allowed: {nodeSelectors: {a: [], b: [y]}}").allowed.node_selectors == {"a": (), "b": ("y",)}


def test_allowed_affinities_add_up_by_kind_and_part() -> None:
    form = "[{keys: [a], operators: [Exists]}]"
    other = "[{keys: [b], operators: [Exists]}]"
    merged = as_one(
        nodes("allowed", form),
        nodes("allowed", other),
        nodes("allowed", form, part=PREFERRED),
        "allowed: {affinities: {podAffinities: {}}}",
    )
    affinities = merged.allowed.affinities or {}
    assert affinities.keys() == {AffinityKind.NODE, AffinityKind.TOGETHER}
    assert {part: len(terms) for part, terms in affinities[AffinityKind.NODE].items()} == {REQUIRED: 2, PREFERRED: 1}


def test_of_two_required_lists_of_terms_the_first_wins() -> None:
    form = "[{{keys: [{}], operators: [Exists]}}]"
    merged = as_one(nodes("required", form.format("a")), nodes("required", form.format("b")))
    assert merged.required == as_one(nodes("required", form.format("a"))).required


def a_default(part: str, key: str) -> Json:
    term = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    said = {"nodeSelectorTerms": [term]} if part == REQUIRED else [{"weight": 1, "preference": term}]
    return {"default": {"affinity": {"nodeAffinity": {part: said}}}}


def test_default_affinities_fill_parts_and_the_first_wins() -> None:
    specs = a_default(PREFERRED, "a"), a_default(PREFERRED, "b"), a_default(REQUIRED, "c"), a_default(REQUIRED, "d")
    deep = as_one(*specs).default.affinity
    assert deep is not None
    assert (deep.preferred, deep.required) == ((Preferred(1, a_term("a Exists")),), (a_term("c Exists"),))
    by_entry = as_one(*specs, option=MergeOption.FIRST_ENTRY).default.affinity
    assert by_entry is not None
    assert (by_entry.preferred, by_entry.required) == ((Preferred(1, a_term("a Exists")),), None)
