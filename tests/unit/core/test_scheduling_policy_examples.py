"""Every worked example of the SchedulingPolicy proposal, with its outcome in the proposal's words.

Labels are the proposal's (`beta.kubernetes.io/arch`), and so is every value. Spelling is Penstock's: `schedulerNames`
for `SchedulerNames`, `priorityClassNames` for `priorityClasseNames`.
"""

from __future__ import annotations

import pytest

from controller.api.parse import InvalidObject, parse_scheduling_policy
from controller.core.scheduling_policies.completion import complete
from tests.support.api_objects import Json, scheduling_policy
from tests.support.scheduling import a_pod, as_one, given, is_admitted, written

ARCH = "beta.kubernetes.io/arch"
REGION, ZONE = "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"


def tolerates(**toleration: str) -> Json:
    return {"tolerations": [toleration]}


def refused_as_invalid(spec: str) -> str:
    with pytest.raises(InvalidObject) as caught:
        parse_scheduling_policy(scheduling_policy(**written(spec)))
    return str(caught.value)


# -- schedulers ----------------------------------------------------------------------------------------------------

GREEN, MINE, OTHER = ({"schedulerName": name} for name in ("green-scheduler", "my-scheduler", "other"))


@pytest.mark.parametrize("section", ["allowed", "required"])
def test_listed_schedulers_can_be_used_and_no_other(section: str) -> None:
    spec = f"{section}: {{schedulerNames: [green-scheduler, my-scheduler]}}"
    assert is_admitted(GREEN, spec)
    assert is_admitted(MINE, spec)
    assert not is_admitted(OTHER, spec)


def test_a_required_scheduler_must_be_used_an_allowed_one_may() -> None:
    names = "{schedulerNames: [green-scheduler, my-scheduler]}"
    assert not is_admitted("{}", f"required: {names}")
    assert is_admitted("{}", f"allowed: {names}")


def test_no_required_schedulers_is_no_valid_syntax() -> None:
    assert "spec.required.schedulerNames: []: must not be empty" in refused_as_invalid("required: {schedulerNames: []}")


def test_an_empty_list_of_allowed_schedulers_allows_all() -> None:
    assert all(is_admitted(pod, "allowed: {schedulerNames: []}") for pod in (GREEN, MINE, OTHER, {}))


def test_without_a_list_only_the_usual_scheduler_is_allowed() -> None:
    assert not is_admitted(MINE, "{}")
    assert is_admitted("schedulerName: default-scheduler", "{}")


def test_pods_that_name_no_scheduler_use_the_default() -> None:
    spec = "default: {schedulerName: my-scheduler}"
    assert given("{}", spec) == (("spec.schedulerName", "my-scheduler"),)
    assert is_admitted("{}", spec)
    assert given(GREEN, spec) == ()
    assert not is_admitted(GREEN, spec)


# -- tolerations ---------------------------------------------------------------------------------------------------

FINE = """
allowed:
  tolerations:
    - keys: ["mykey"]
      operators: ["Equal"]
      values: ["value"]
      effects: ["NoSchedule"]
    - keys: ["other_key"]
      operators: ["Exists"]
      effects: ["NoExecute"]
"""
COARSE = """
allowed:
  tolerations:
    - keys: []
      operators: []
      values: []
      effects: ["PreferNoSchedule"]
    - keys: []
      operators: ["Exists"]
      effects: ["NoSchedule"]
"""


@pytest.mark.parametrize(
    ("toleration", "allowed"),
    [
        ({"key": "mykey", "operator": "Equal", "value": "value", "effect": "NoSchedule"}, True),
        ({"key": "mykey", "value": "value", "effect": "NoSchedule"}, True),
        ({"key": "mykey", "operator": "Equal", "value": "other", "effect": "NoSchedule"}, False),
        ({"key": "mykey", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "mykey", "operator": "Equal", "value": "value", "effect": "NoExecute"}, False),
        ({"key": "mykey", "operator": "Equal", "value": "value"}, False),
        ({"key": "other_key", "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "other_key", "operator": "Equal", "value": "value", "effect": "NoExecute"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_fine_grained_tolerations(toleration: dict[str, str], allowed: bool) -> None:
    assert is_admitted(tolerates(**toleration), FINE) is allowed


@pytest.mark.parametrize(
    ("toleration", "allowed"),
    [
        ({"key": "any", "operator": "Equal", "value": "v", "effect": "PreferNoSchedule"}, True),
        ({"key": "any", "operator": "Exists", "effect": "PreferNoSchedule"}, True),
        ({"operator": "Exists", "effect": "PreferNoSchedule"}, True),
        ({"key": "any", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "any", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, False),
        ({"key": "any", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "any", "operator": "Exists"}, False),
    ],
)
def test_coarse_grained_tolerations_do_not_allow_no_execute(toleration: dict[str, str], allowed: bool) -> None:
    assert is_admitted(tolerates(**toleration), COARSE) is allowed


@pytest.mark.parametrize(
    "spec",
    [
        "allowed: {tolerations: []}",
        "allowed: {tolerations: [{keys: [], operators: [], values: [], effects: []}]}",
    ],
)
def test_empty_lists_of_tolerations_allow_all(spec: str) -> None:
    assert is_admitted("tolerations: [{operator: Exists}]", spec)
    assert is_admitted("tolerations: [{key: a, value: b, effect: NoExecute}, {key: c, operator: Exists}]", spec)


DEFAULT_TOLERATIONS = """
default:
  tolerations:
    - key: "mykey"
      operator: "Equal"
      values: ["value","other_value"]
      effect: "NoSchedule"
    - key: "other_key"
      operator: "Exists"
      effect: "NoExecute"
"""


def test_each_value_of_a_default_toleration_is_one_toleration() -> None:
    done = complete(a_pod(), as_one(DEFAULT_TOLERATIONS)).pod.directives.tolerations
    assert [(one.key, one.operator, one.value, one.effect) for one in done] == [
        ("mykey", "Equal", "value", "NoSchedule"),
        ("mykey", "Equal", "other_value", "NoSchedule"),
        ("other_key", "Exists", "", "NoExecute"),
    ]
    assert is_admitted("{}", DEFAULT_TOLERATIONS)


def test_no_default_tolerations_is_no_valid_syntax() -> None:
    assert "spec.default.tolerations: []: must not be empty" in refused_as_invalid("default: {tolerations: []}")


# -- priority classes ----------------------------------------------------------------------------------------------


def test_a_single_priority_class() -> None:
    spec = "{required: {priorityClassNames: [high-priority]}, default: {priorityClassName: high-priority}}"
    assert given("{}", spec) == (("spec.priorityClassName", "high-priority"),)
    assert is_admitted("priorityClassName: high-priority", spec)
    assert not is_admitted("priorityClassName: low", spec)


def test_all_priorities_are_allowed_and_none_is_mandatory() -> None:
    spec = "allowed: {priorityClassNames: []}"
    assert is_admitted("priorityClassName: any", spec)
    assert is_admitted("{}", spec)


def test_an_empty_list_of_required_priority_classes_is_invalid() -> None:
    assert "priorityClassNames: []: must not be empty" in refused_as_invalid("required: {priorityClassNames: []}")


@pytest.mark.parametrize("spec", ["required: {priorityClasseNames: [a]}", "default: {priorityClasseName: a}"])
def test_the_misspelling_of_the_proposal_is_no_field(spec: str) -> None:
    assert "is not a field that Penstock knows" in refused_as_invalid(spec)


# -- node selectors ------------------------------------------------------------------------------------------------

COMPLETE = """
required:
  nodeSelectors:
    beta.kubernetes.io/arch: ["amd64", "arm64"] # pick one
default: # if not set, inject this to pods definitions
  nodeSelector:
    beta.kubernetes.io/arch: "amd64"
allowed: # other optional allowed nodeSelectors
  nodeSelectors:
    disk: ["ssd", "hdd"]
    failure-domain.beta.kubernetes.io/region: [] # means any value
"""


def test_the_complete_policy_assigns_its_default_architecture() -> None:
    assert given("{}", COMPLETE) == ((f"spec.nodeSelector[{ARCH}]", "amd64"),)
    assert given(f"nodeSelector: {{{ARCH}: arm64}}", COMPLETE) == ()


@pytest.mark.parametrize(
    ("selector", "admitted"),
    [
        ({}, True),
        ({ARCH: "amd64"}, True),
        ({ARCH: "arm64"}, True),
        ({ARCH: "s390x"}, False),
        ({"disk": "ssd"}, True),
        ({"disk": "hdd"}, True),
        ({"disk": "nvme"}, False),
        ({REGION: "anywhere"}, True),
        ({ARCH: "arm64", "disk": "hdd", REGION: "eu"}, True),
        ({"else": "x"}, False),
    ],
)
def test_the_complete_policy_admits(selector: dict[str, str], admitted: bool) -> None:
    assert is_admitted({"nodeSelector": selector}, COMPLETE) is admitted


@pytest.mark.parametrize(
    ("selector", "admitted"),
    [({}, True), *(({ZONE: f"eu-west-1{zone}"}, zone != "d") for zone in "abcd"), ({"disk": "ssd"}, False)],
)
def test_the_allowed_only_policy_admits(selector: dict[str, str], admitted: bool) -> None:
    spec = f"allowed: {{nodeSelectors: {{{ZONE}: [eu-west-1a, eu-west-1b, eu-west-1c]}}}}"
    assert given({"nodeSelector": selector}, spec) == ()
    assert is_admitted({"nodeSelector": selector}, spec) is admitted
