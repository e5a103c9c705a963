"""Updates of pods, held against SchedulingPolicies."""

from __future__ import annotations

import pytest

from tests.support.api_objects import Json, node_terms, requirement, scheduling_policy
from tests.support.scheduling_worlds import GIVEN, OTHER, SPOT, a_pod, a_request, a_world, update_denial
from tests.support.worlds import TRUSTED
from webhook.checks.chain import validate
from webhook.reviews.admission import Answer

SSD = scheduling_policy(allowed={"nodeSelectors": {"disk": ["ssd"]}})


def test_an_update_may_add_only_what_is_allowed() -> None:
    world = a_world(SSD)
    assert update_denial(world, a_pod(), a_pod(nodeSelector={"disk": "ssd"})) is None
    refused = update_denial(world, a_pod(), a_pod(nodeSelector={"disk": "hdd"}))
    assert (refused or "").startswith("spec.nodeSelector[disk] is 'hdd', allowed is 'ssd'")
    assert "spec.tolerations[1] is other" in (update_denial(world, a_pod(), a_pod(tolerations=[GIVEN, OTHER])) or "")


def test_what_was_wrong_before_an_update_stands_in_nobodys_way() -> None:
    affinity = node_terms({"matchExpressions": [requirement("In", "x")]})
    old = a_pod(nodeSelector={"disk": "hdd"}, tolerations=[OTHER], affinity=affinity)
    allowed = {"nodeSelectors": {"disk": ["ssd"], "zone": []}}
    world = a_world(scheduling_policy(allowed=allowed, required={"schedulerNames": ["theirs"]}))
    new = a_pod(**{**old["spec"], "nodeSelector": {"disk": "hdd", "zone": "a"}, "tolerations": [GIVEN, OTHER]})
    assert update_denial(world, old, new) is None
    worse = a_pod(**{**old["spec"], "tolerations": [OTHER, SPOT]})
    assert (update_denial(world, old, worse) or "").startswith("spec.tolerations[1] is spot=yes:NoSchedule")


def test_who_may_use_no_policy_may_add_nothing() -> None:
    world = a_world(SSD, grants={})
    labelled = a_pod({"labels": {"x": "y"}}, nodeSelector={"a": "b"})
    assert update_denial(world, a_pod(nodeSelector={"a": "b"}), labelled) is None
    refused = update_denial(world, a_pod(), a_pod(tolerations=[GIVEN, SPOT, OTHER]))
    assert refused == (
        "spec.tolerations[1] is spot=yes:NoSchedule and spec.tolerations[2] is other, but ServiceAccount 'default' of "
        "namespace 'team' may use none of the SchedulingPolicies; grant it the verb use on one of "
        "schedulingpolicies.penstock.dev"
    )


def test_an_update_against_unenforced_policies_is_told() -> None:
    world = a_world(scheduling_policy("own", allowed={"nodeSelectors": {}}), scheduling_policy("w", mode="Warn"))
    old, new = a_pod(), a_pod(nodeSelector={"disk": "hdd"})
    assert validate(a_request(new, operation="UPDATE", old=old), world) == Answer()
    only_told = a_world(scheduling_policy("w", mode="Warn"))
    answer = validate(a_request(new, operation="UPDATE", old=old), only_told)
    assert answer.denial is None
    assert answer.warnings[0].startswith("the update would be refused: spec.nodeSelector[disk] is 'hdd'")
    assert answer.counted == (("SchedulingPolicy/(none)", "would_refuse"),)


@pytest.mark.parametrize(
    "fields",
    [{"user": TRUSTED}, {"subresource": "resize"}, {"operation": "DELETE"}],
    ids=["trusted", "subresource", "delete"],
)
def test_updates_that_are_not_judged_pass(fields: Json) -> None:
    assert update_denial(a_world(SSD), a_pod(), a_pod(tolerations=[OTHER]), **fields) is None
    assert update_denial(a_world(SSD), None, a_pod(tolerations=[OTHER])) is None


def test_a_pod_that_is_being_deleted_is_not_judged() -> None:
    going = a_pod({"deletionTimestamp": "2026-01-01T00:00:00Z"}, tolerations=[OTHER])
    assert update_denial(a_world(SSD), a_pod(), going) is None


def test_what_cannot_be_compared_is_judged_as_a_whole() -> None:
    unknown = a_pod(affinity=node_terms({"matchExpressions": [requirement("Near", "x")]}))
    assert update_denial(a_world(SSD), unknown, a_pod(nodeSelector={"disk": "hdd"})) is not None
