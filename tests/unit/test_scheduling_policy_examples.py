"""Every worked example of the SchedulingPolicy proposal, with its outcome in the proposal's words.

Labels are the proposal's (`beta.kubernetes.io/arch`), and so is every value. Spelling is Penstock's: `schedulerNames`
for `SchedulerNames`, `priorityClassNames` for `priorityClasseNames`.
"""

from __future__ import annotations

import pytest

from controller.api.parse import InvalidObject, parse_scheduling_policy
from controller.core.scheduling_policies.completion import complete
from controller.core.scheduling_policies.policy import MergeOption
from tests.support.api_objects import Json, scheduling_policy
from tests.support.pod_update_rules import REQUIRED
from tests.support.scheduling import a_pod, a_policy, as_one, is_admitted, written

ARCH, OS = "beta.kubernetes.io/arch", "beta.kubernetes.io/os"
REGION, ZONE = "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"


def needs(*terms: str) -> Json:
    """A pod with required node affinity; a term is `key Operator a,b & key Operator c`."""

    def requirement(text: str) -> Json:
        key, operator, *values = text.split()
        return {"key": key, "operator": operator, "values": values[0].split(",") if values else []}

    listed = [{"matchExpressions": [requirement(one) for one in term.split(" & ")]} for term in terms]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}}


def tolerates(**toleration: str) -> Json:
    return {"tolerations": [toleration]}


def given(pod: str | Json, *specs: str) -> tuple[tuple[str, str], ...]:
    """What is added to the pod: paths and values."""
    return tuple((one.path, one.value) for one in complete(a_pod(pod), as_one(*specs)).additions)


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


def test_a_pod_must_use_a_required_scheduler_and_may_leave_an_allowed_one() -> None:
    names = "{schedulerNames: [green-scheduler, my-scheduler]}"
    assert not is_admitted("{}", f"required: {names}")
    assert is_admitted("{}", f"allowed: {names}")


def test_an_empty_list_of_required_schedulers_is_no_valid_syntax() -> None:
    assert "spec.required.schedulerNames: []: must not be empty" in refused_as_invalid("required: {schedulerNames: []}")


def test_an_empty_list_of_allowed_schedulers_allows_all() -> None:
    assert all(is_admitted(pod, "allowed: {schedulerNames: []}") for pod in (GREEN, MINE, OTHER, {}))


def test_without_any_list_no_scheduler_is_allowed_but_the_one_that_everybody_has() -> None:
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
def test_an_empty_list_of_tolerations_and_a_form_of_empty_lists_allow_all(spec: str) -> None:
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


def test_an_empty_list_of_default_tolerations_is_no_valid_syntax() -> None:
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


# -- affinities ----------------------------------------------------------------------------------------------------

BASIC = """
required:
  affinities:
    nodeAffinities:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - keys: ["beta.kubernetes.io/arch"]
            operators: ["In"]
            values: ["amd64", "arm64"]
allowed:
  affinities:
    nodeAffinities:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - keys: ["failure-domain.beta.kubernetes.io/region","kubernetes.io/authorized-region"]
            operators: ["In","NotIn"]
            values: ["eu-2", "us-1"]
    podAntiAffinities: {}
default:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - key: "beta.kubernetes.io/arch"
            operator: "In"
            values: ["amd64"]
"""
PODS = [{"topologyKey": "zone", "labelSelector": {}}]


def test_the_basic_affinity_policy_defaults_to_amd64() -> None:
    done = complete(a_pod(), as_one(BASIC)).pod
    assert done == a_pod(needs(f"{ARCH} In amd64"))


@pytest.mark.parametrize(
    ("pod", "admitted"),
    [
        ({}, True),
        (needs(f"{ARCH} In amd64"), True),
        (needs(f"{ARCH} In arm64"), True),
        (needs(f"{ARCH} In amd64,arm64"), True),
        (needs(f"{ARCH} In s390x"), False),
        (needs(f"{ARCH} NotIn amd64"), False),
        (needs(f"{ARCH} In amd64 & {REGION} In eu-2"), True),
        (needs(f"{ARCH} In amd64 & kubernetes.io/authorized-region NotIn us-1,eu-2"), True),
        (needs(f"{ARCH} In amd64 & {REGION} In eu-2 & kubernetes.io/authorized-region NotIn us-1"), True),
        (needs(f"{ARCH} In amd64 & {REGION} In asia"), False),
        (needs(f"{ARCH} In amd64 & {REGION} Exists"), False),
        (needs(f"{REGION} In eu-2"), False),
        (needs(f"{ARCH} In amd64", f"{REGION} In eu-2"), False),
        (needs(f"{ARCH} In amd64", f"{ARCH} In arm64 & {REGION} In eu-2"), True),
        ({"affinity": {"podAntiAffinity": {REQUIRED: PODS}}}, True),
        ({"affinity": {"podAffinity": {REQUIRED: PODS}}}, False),
    ],
)
def test_the_basic_affinity_policy_admits(pod: Json, admitted: bool) -> None:
    assert is_admitted(pod, BASIC) is admitted


ZONES_BESIDE = """
allowed:
  affinities:
    nodeAffinities:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - keys: ["failure-domain.beta.kubernetes.io/region","kubernetes.io/authorized-region"]
            operators: ["In","NotIn"]
            values: ["eu-2", "us-1"]
        - matchExpressions:
          - keys: ["failure-domain.beta.kubernetes.io/zone"]
            operators: ["NotIn"]
            values: ["dc1", "dc2"]
    podAntiAffinities: {}
"""


@pytest.mark.parametrize(
    ("pod", "admitted"),
    [
        (needs(f"{REGION} In eu-2"), True),
        (needs(f"{ZONE} NotIn dc1"), True),
        (needs(f"{REGION} In eu-2 & {ZONE} NotIn dc1,dc2"), True),
        (needs(f"{ZONE} In dc1"), False),
        (needs(f"{ZONE} NotIn eu-2"), False),
        (needs(f"{REGION} NotIn dc1"), False),
        ({"affinity": {"podAntiAffinity": {REQUIRED: PODS}}}, True),
    ],
)
def test_two_allowed_terms_do_not_allow_each_others_values(pod: Json, admitted: bool) -> None:
    assert is_admitted(pod, ZONES_BESIDE) is admitted


EVERY_KIND = (
    needs("any Exists"),
    {"affinity": {"podAffinity": {REQUIRED: PODS}}},
    {"affinity": {"podAntiAffinity": {REQUIRED: PODS}}},
)


@pytest.mark.parametrize(
    "spec",
    [
        "allowed: {affinities: {}}",
        "allowed: {affinities: {nodeAffinities: {}, podAffinities: {}, podAntiAffinities: {}}}",
    ],
)
def test_an_empty_mapping_allows_every_affinity(spec: str) -> None:
    assert all(is_admitted(pod, spec) for pod in EVERY_KIND)


def test_a_kind_that_is_not_listed_is_not_allowed() -> None:
    admitted = [is_admitted(pod, "allowed: {affinities: {nodeAffinities: {}}}") for pod in EVERY_KIND]
    assert admitted == [True, False, False]


def test_without_affinities_none_is_allowed() -> None:
    assert not any(is_admitted(pod, "allowed: {schedulerNames: []}") for pod in EVERY_KIND)


# -- merging -------------------------------------------------------------------------------------------------------

SCHEDPOL_A = """
required:
  nodeSelectors:
    beta.kubernetes.io/arch: ["amd64", "arm64"]
allowed:
  nodeSelectors:
    disk: ["ssd"]
default:
  nodeSelector:
    beta.kubernetes.io/arch: "amd64"
"""
SCHEDPOL_B = """
required:
  nodeSelectors:
    beta.kubernetes.io/arch: ["amd64", "arm64", "i386"]
    beta.kubernetes.io/os: ["Linux", "Windows"]
  priorityClassNames: ["bronze", "gold", "silver"]
allowed:
  nodeSelectors:
    disk: ["sata"]
default:
  nodeSelector:
    beta.kubernetes.io/arch: "i386"
    beta.kubernetes.io/os: "Linux"
  priorityClassName: "bronze"
"""
PRINTED = {
    MergeOption.DEEP_MERGE: """
required:
  nodeSelectors:
    beta.kubernetes.io/arch: ["amd64", "arm64"]
    beta.kubernetes.io/os: ["Linux", "Windows"]
  priorityClassNames: ["bronze", "gold", "silver"]
allowed:
  nodeSelectors:
    disk: ["ssd", "sata"]
default:
  nodeSelector:
    beta.kubernetes.io/arch: "amd64"
    beta.kubernetes.io/os: "Linux"
  priorityClassName: "bronze"
""",
    MergeOption.FIRST_POLICY: SCHEDPOL_A,
    MergeOption.FIRST_ENTRY: """
required:
  nodeSelectors:
    beta.kubernetes.io/arch: ["amd64", "arm64"]
  priorityClassNames: ["bronze", "gold", "silver"]
allowed:
  nodeSelectors:
    disk: ["ssd"]
default:
  nodeSelector:
    beta.kubernetes.io/arch: "amd64"
  priorityClassName: "bronze"
""",
}


@pytest.mark.parametrize("option", MergeOption)
def test_the_merged_policy_is_the_one_that_is_printed(option: MergeOption) -> None:
    merged, printed = as_one(SCHEDPOL_A, SCHEDPOL_B, option=option), a_policy(PRINTED[option])
    assert (merged.required, merged.allowed, merged.default) == (printed.required, printed.allowed, printed.default)


# -- default policies ----------------------------------------------------------------------------------------------

RESTRICTED = "allowed: {schedulerNames: [default-scheduler]}"
BY_SELECTOR = """
required:
  schedulerNames: ["default-scheduler"]
  nodeSelectors:
    beta.kubernetes.io/arch: ["amd64", "arm64"] # pick one in required values
    beta.kubernetes.io/os: ["Linux", "Windows"] # pick one
default: # if not set, inject to pods definitions
  schedulerName: "default-scheduler"
  nodeSelector:
    beta.kubernetes.io/arch: "amd64"
    beta.kubernetes.io/os: "Linux"
"""
BY_AFFINITY = """
required:
  schedulerNames: ["default-scheduler"]
  affinities:
    nodeAffinities:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - keys: ["beta.kubernetes.io/arch"]
            operators: ["In"]
            values: ["amd64", "arm64"]
        - matchExpressions:
          - keys: ["beta.kubernetes.io/os"]
            operators: ["In"]
            values: ["Linux", "Windows"]
default: # if not set, inject to pods definitions
  schedulerName: "default-scheduler"
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - key: "beta.kubernetes.io/arch"
            operator: "In"
            values: ["amd64"]
        - matchExpressions:
          - key: "beta.kubernetes.io/os"
            operator: "In"
            values: ["Linux"]
"""
PRIVILEGED = "allowed: {schedulerNames: [], priorityClassNames: [], nodeSelectors: {}, tolerations: [], affinities: {}}"
DEMANDING = (
    {"schedulerName": "other"},
    {"priorityClassName": "high"},
    {"nodeSelector": {"disk": "ssd"}},
    {"tolerations": [{"operator": "Exists"}]},
    *EVERY_KIND,
)


def test_the_restricted_policy_allows_the_default_scheduler_and_nothing_else() -> None:
    assert is_admitted("schedulerName: default-scheduler", RESTRICTED)
    assert not any(is_admitted(pod, RESTRICTED) for pod in DEMANDING)


def test_the_policy_by_node_selector_injects_architecture_and_system() -> None:
    assert dict(given("{}", BY_SELECTOR)) == {
        f"spec.nodeSelector[{ARCH}]": "amd64",
        f"spec.nodeSelector[{OS}]": "Linux",
    }
    assert given(f"nodeSelector: {{{ARCH}: arm64}}", BY_SELECTOR) == ((f"spec.nodeSelector[{OS}]", "Linux"),)
    assert is_admitted(f"nodeSelector: {{{ARCH}: arm64, {OS}: Windows}}", BY_SELECTOR)
    assert not is_admitted(f"nodeSelector: {{{ARCH}: i386}}", BY_SELECTOR)
    assert not is_admitted("schedulerName: other", BY_SELECTOR)


def test_the_policy_by_affinity_injects_its_alternatives() -> None:
    assert complete(a_pod(), as_one(BY_AFFINITY)).pod == a_pod(needs(f"{ARCH} In amd64", f"{OS} In Linux"))
    assert is_admitted(needs(f"{ARCH} In arm64"), BY_AFFINITY)
    assert is_admitted(needs(f"{OS} In Windows & {ARCH} In amd64"), BY_AFFINITY)
    assert not is_admitted(needs(f"{OS} In Darwin"), BY_AFFINITY)


def test_the_privileged_policy_allows_everything() -> None:
    assert all(is_admitted(pod, PRIVILEGED) for pod in DEMANDING)
