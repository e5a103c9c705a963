"""The examples of the SchedulingPolicy proposal of merging, and its default policies, as in
`test_scheduling_policy_examples`.
"""

from __future__ import annotations

import pytest

from controller.core.scheduling_policies.completion import complete
from controller.core.scheduling_policies.policy import MergeOption
from tests.support.api_objects import Json
from tests.support.scheduling import EVERY_KIND, a_pod, a_policy, as_one, given, is_admitted, needs

ARCH, OS = "beta.kubernetes.io/arch", "beta.kubernetes.io/os"

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
DEMANDING: tuple[Json, ...] = (
    {"schedulerName": "other"},
    {"priorityClassName": "high"},
    {"nodeSelector": {"disk": "ssd"}},
    {"tolerations": [{"operator": "Exists"}]},
    *EVERY_KIND,
)


def test_the_restricted_policy_allows_the_default_scheduler() -> None:
    assert is_admitted("schedulerName: default-scheduler", RESTRICTED)
    assert not any(is_admitted(pod, RESTRICTED) for pod in DEMANDING)


def test_the_node_selector_policy_gives_architecture_and_system() -> None:
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
