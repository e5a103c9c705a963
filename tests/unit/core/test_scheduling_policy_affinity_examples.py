"""The worked examples of the SchedulingPolicy proposal about affinities, as in `test_scheduling_policy_examples`."""

from __future__ import annotations

import pytest

from controller.core.scheduling_policies.completion import complete
from tests.support.api_objects import Json
from tests.support.pod_update_rules import REQUIRED
from tests.support.scheduling import EVERY_KIND, PODS, a_pod, as_one, is_admitted, needs

ARCH = "beta.kubernetes.io/arch"
REGION, ZONE = "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"

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
