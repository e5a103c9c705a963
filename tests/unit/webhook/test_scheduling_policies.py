"""What the webhook makes of SchedulingPolicies: the completed pod, its annotation, refusals, words and counts."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import DEFAULT_RUNTIME_CLASS, POLICIES
from controller.core.scheduling_policies.policy import MergeOption
from tests.support.api_objects import Json, field_requirement, node_terms, requirement, scheduling_policy
from tests.support.classes import a_class
from tests.support.json_patch import patched
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.policy_worlds import PolicyWorld
from tests.support.scheduling_worlds import GIVEN, NAMESPACE, SPOT, a_pod, a_request, a_world, denial
from webhook.checks.chain import validate
from webhook.reviews.admission import Answer, write
from webhook.reviews.lookups import ReviewLookups
from webhook.steps.chain import mutate
from webhook.world.cluster import ClusterLookups

DAEMON_SETS = "system:serviceaccount:kube-system:daemon-set-controller"
OWNED = {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}
KATA = a_class("kata", selector={"runtime": "kata"})
ENTRY = "SchedulingPolicy/schedpol-a"


def after(pod: Json, world: ReviewLookups, **fields: Any) -> Json:
    """The pod after the answer; asked again, nothing changes and nothing is stripped."""
    answer = mutate(a_request(pod, **fields), world)
    assert answer.denial is None
    assert write("1", answer), "what cannot be encoded is no answer"
    result = patched(pod, answer.operations)
    again = mutate(a_request(result, **fields), world)
    assert again.operations == ()
    assert not [warning for warning in again.warnings if warning.startswith("removed")]
    return result


def noted(pod: Json) -> str | None:
    value: str | None = (pod["metadata"].get("annotations") or {}).get(POLICIES)
    return value


# -- completing --------------------------------------------------------------------------------------------------------

EVERYTHING: Json = {
    "schedulerName": "theirs",
    "nodeSelector": {"a/b": "c"},
    "tolerations": [{"key": "spot", "operator": "Equal", "values": ["yes"], "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [requirement("In", "x")]}]},
            PREFERRED: [{"weight": 1, "preference": {"matchFields": [field_requirement("n1")]}}],
        },
        "podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}]},
        "podAntiAffinity": {
            PREFERRED: [
                {"weight": 2, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}}
            ]
        },
    },
}


def test_a_silent_pod_is_given_every_default_as_written() -> None:
    pod = after(a_pod(), a_world(scheduling_policy(default=EVERYTHING)))
    spec = pod["spec"]
    assert {name: spec[name] for name in ("schedulerName", "nodeSelector", "affinity")} == {
        name: EVERYTHING[name] for name in ("schedulerName", "nodeSelector", "affinity")
    }
    assert spec["tolerations"] == [GIVEN, SPOT]
    assert noted(pod) == ENTRY


@pytest.mark.parametrize("part", ["nodeAffinity", "podAffinity", "podAntiAffinity"])
def test_a_default_affinity_may_be_all_that_a_pod_is_given(part: str) -> None:
    affinity = {part: EVERYTHING["affinity"][part]}
    assert after(a_pod(), a_world(scheduling_policy(default={"affinity": affinity})))["spec"]["affinity"] == affinity


def test_another_priority_class_drops_the_worked_out_priority() -> None:
    world = a_world(scheduling_policy(default={"priorityClassName": "gold"}), default_priority_class="common")
    spec = after(a_pod(priorityClassName="common"), world)["spec"]
    assert (spec["priorityClassName"], "priority" in spec, "preemptionPolicy" in spec) == ("gold", False, False)
    bare = a_pod()
    del bare["spec"]["priority"], bare["spec"]["preemptionPolicy"]
    assert after(bare, world)["spec"]["priorityClassName"] == "gold"
    kept = a_pod(priorityClassName="own")
    assert after(kept, world)["spec"]["priority"] == 0


def test_what_policies_gave_is_told_in_audit_and_counts() -> None:
    policies = (
        scheduling_policy("a", default={"nodeSelector": {"x": "1"}}),
        scheduling_policy("b", default={"nodeSelector": {"x": "2", "y": "2"}}),
        scheduling_policy("idle"),
        scheduling_policy("w", mode="Warn", default={"nodeSelector": {"z": "3"}}),
    )
    answer = mutate(a_request(a_pod()), a_world(*policies))
    assert answer.audit == (
        ("scheduling-policies", "a: spec.nodeSelector[x]; b: spec.nodeSelector[y]"),
        (
            "scheduling-policies-not-enforced",
            "SchedulingPolicy 'w' would set spec.nodeSelector[z] to 3 (mode Warn)",
        ),
    )
    assert answer.warnings == ("SchedulingPolicy 'w' would set spec.nodeSelector[z] to 3 (mode Warn)",)
    assert answer.counted == (
        ("SchedulingPolicy/a", "changed"),
        ("SchedulingPolicy/b", "changed"),
        ("SchedulingPolicy/w", "would_change"),
    )
    assert noted(after(a_pod(), a_world(*policies))) == "SchedulingPolicy/a,SchedulingPolicy/b"


def test_the_option_says_how_policies_become_one() -> None:
    policies = (
        scheduling_policy("a", default={"nodeSelector": {"x": "1"}}),
        scheduling_policy("b", default={"nodeSelector": {"y": "2"}}),
    )
    found = {
        option: after(a_pod(), a_world(*policies, option=option))["spec"]["nodeSelector"] for option in MergeOption
    }
    assert found == {
        MergeOption.DEEP_MERGE: {"x": "1", "y": "2"},
        MergeOption.FIRST_POLICY: {"x": "1"},
        MergeOption.FIRST_ENTRY: {"x": "1"},
    }


def test_an_account_is_given_only_what_its_own_policies_give() -> None:
    policies = (
        scheduling_policy("a", default={"nodeSelector": {"x": "1"}}),
        scheduling_policy("b", default={"nodeSelector": {"y": "2"}}),
    )
    world = a_world(*policies, grants={"default": ["b", "absent"], "other": []})
    assert after(a_pod(), world)["spec"]["nodeSelector"] == {"y": "2"}
    assert after(a_pod(serviceAccountName=None), world)["spec"]["nodeSelector"] == {"y": "2"}
    assert mutate(a_request(a_pod(serviceAccountName="other")), world) == Answer()
    assert mutate(a_request(a_pod(), namespace="elsewhere"), world) == Answer()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ENTRY),
        ({"nodeSelector": {"x": "1"}}, ENTRY),
        ({"nodeSelector": {"x": "own"}}, None),
    ],
)
@pytest.mark.parametrize("more", ["", "SchedulingPolicy/forged", "wide"])
def test_only_what_is_true_of_the_pod_stays_noted(spec: Json, expected: str | None, more: str) -> None:
    world = a_world(scheduling_policy(allowed={"nodeSelectors": {"x": []}}, default={"nodeSelector": {"x": "1"}}))
    pod = a_pod({"annotations": {POLICIES: ",".join(filter(None, (more, ENTRY)))}}, **spec)
    assert noted(after(pod, world)) == expected
    warnings = mutate(a_request(pod), world).warnings
    assert bool(warnings) is bool(more or expected is None)


def test_an_unasked_note_is_removed_with_nothing_switched_on() -> None:
    pod = a_pod({"annotations": {POLICIES: ENTRY}})
    assert noted(after(pod, PolicyWorld())) is None
    assert noted(after(pod, a_world())) is None


def test_a_note_of_a_policy_no_longer_usable_is_removed() -> None:
    world = a_world(scheduling_policy(default={"nodeSelector": {"x": "1"}}), grants={"default": []})
    assert noted(after(a_pod({"annotations": {POLICIES: ENTRY}}, nodeSelector={"x": "1"}), world)) is None


# -- RuntimeClass ------------------------------------------------------------------------------------------------------

BY_POLICY = scheduling_policy(default={"runtimeClassName": "kata"})


def test_a_class_by_policy_goes_first_and_brings_its_rules() -> None:
    world = a_world(
        BY_POLICY, classes=[KATA, a_class("own")], default_class="own", labels={DEFAULT_RUNTIME_CLASS: "own"}
    )
    pod = after(a_pod(), world)
    assert (pod["spec"]["runtimeClassName"], pod["spec"]["nodeSelector"]) == ("kata", {"runtime": "kata"})
    assert noted(pod) == ENTRY
    answer = mutate(a_request(a_pod()), world)
    assert answer.counted == ((ENTRY, "changed"),)
    assert dict(answer.audit)["runtime-class-by"] == "default.runtimeClassName of SchedulingPolicy 'schedpol-a'"
    assert denial(world, pod) is None


def test_a_pods_own_class_stays_the_namespaces_fills_the_gap() -> None:
    classes = [KATA, a_class("own")]
    own = after(a_pod(runtimeClassName="own"), a_world(BY_POLICY, classes=classes))
    assert (own["spec"]["runtimeClassName"], noted(own)) == ("own", None)
    silent = a_world(scheduling_policy(), classes=classes, labels={DEFAULT_RUNTIME_CLASS: "own"})
    assert after(a_pod(), silent)["spec"]["runtimeClassName"] == "own"


def test_a_missing_class_by_policy_refuses_and_names_both() -> None:
    answer = mutate(a_request(a_pod()), a_world(BY_POLICY))
    assert (answer.denial or "").startswith(
        "the default RuntimeClass 'kata' (default.runtimeClassName of SchedulingPolicy 'schedpol-a') does not exist"
    )


def test_a_required_class_is_for_daemon_pods_a_default_is_not() -> None:
    required = scheduling_policy(required={"runtimeClassNames": ["kata"]})
    for policy, expected in ((required, "kata"), (BY_POLICY, None)):
        pod = after(a_pod(dict(OWNED)), a_world(policy, classes=[KATA]), user=DAEMON_SETS)
        assert pod["spec"].get("runtimeClassName") == expected


# -- judging -----------------------------------------------------------------------------------------------------------


def test_a_pod_that_uses_what_is_not_allowed_is_refused() -> None:
    world = a_world(scheduling_policy(allowed={"nodeSelectors": {"disk": ["ssd"]}}))
    assert denial(world, a_pod(nodeSelector={"disk": "ssd"})) is None
    answer = validate(a_request(a_pod(nodeSelector={"disk": "hdd"}, tolerations=[GIVEN, SPOT])), world)
    assert answer.denial == (
        "spec.nodeSelector[disk] is 'hdd', allowed is 'ssd' (allowed.nodeSelectors[disk] of SchedulingPolicy "
        "'schedpol-a'); spec.tolerations[1] is spot=yes:NoSchedule, which needs allowed.tolerations, not given by "
        "SchedulingPolicy 'schedpol-a'"
    )
    assert answer.counted == ((ENTRY, "refused"), ("SchedulingPolicy/(none)", "refused"))


def test_without_policies_all_passes_and_with_some_nothing() -> None:
    wild = a_pod(nodeSelector={"a": "b"}, schedulerName="mine")
    assert denial(a_world(grants={}), wild) is None
    assert denial(a_world(scheduling_policy(), grants={}), a_pod()) == (
        "ServiceAccount 'default' of namespace 'team' may use none of the SchedulingPolicies; grant it the verb use on "
        "one of schedulingpolicies.penstock.dev"
    )


def test_what_a_pod_got_without_asking_needs_no_permission() -> None:
    world = a_world(scheduling_policy(), classes=[KATA], default_priority_class="common")
    spec: Json = {"priorityClassName": "common", "runtimeClassName": "kata", "nodeSelector": {"runtime": "kata"}}
    assert denial(world, a_pod(**spec)) is None
    assert denial(world, a_pod(priorityClassName="gold")) is not None
    by_daemon_set = a_pod(
        dict(OWNED),
        tolerations=[{"key": "node.kubernetes.io/disk-pressure", "operator": "Exists", "effect": "NoSchedule"}],
        affinity=node_terms({"matchFields": [field_requirement("n1")]}),
    )
    assert denial(world, by_daemon_set, user=DAEMON_SETS) is None
    assert denial(world, by_daemon_set) is not None


def test_policies_that_are_not_enforced_only_tell() -> None:
    needs_zone: Json = {"required": {"nodeSelectors": {"zone": ["a", "b"]}}}
    world = a_world(
        scheduling_policy("own"),
        scheduling_policy("w", mode="Warn", **needs_zone),
        scheduling_policy("x", mode="Audit", required={"nodeSelectors": {"os": ["a", "b"]}}),
    )
    answer = validate(a_request(a_pod()), world)
    zone = (
        "the pod would be refused: spec.nodeSelector[zone] is not set, must be 'a' or 'b' "
        "(required.nodeSelectors[zone] of SchedulingPolicy 'w') (mode Warn)"
    )
    assert (answer.denial, answer.warnings) == (None, (zone,))
    assert answer.audit[0][1].startswith(f"{zone}; the pod would be refused: spec.nodeSelector[os] is not set")
    assert answer.counted == (("SchedulingPolicy/w", "would_refuse"), ("SchedulingPolicy/x", "would_refuse"))


def test_a_pod_that_cannot_be_read_does_not_pass_unjudged() -> None:
    unknown = a_pod(affinity=node_terms({"matchExpressions": [requirement("Near", "x")]}))
    assert "cannot be judged" in (denial(a_world(scheduling_policy()), unknown) or "")
    assert denial(a_world(), unknown) is None
    assert denial(a_world(scheduling_policy(mode="Warn")), unknown) is None
    assert mutate(a_request(unknown), a_world(scheduling_policy(default=EVERYTHING))) == Answer()


def test_images_of_static_pods_are_neither_changed_nor_judged() -> None:
    world = a_world(scheduling_policy(default={"nodeSelector": {"x": "1"}}), grants={})
    mirror = a_pod(dict(MIRROR), nodeName="n1")
    assert mutate(a_request(mirror, groups=("system:nodes",)), world) == Answer()
    assert validate(a_request(mirror, groups=("system:nodes",)), world) == Answer()
    assert denial(world, mirror) is not None


# -- what is kept ------------------------------------------------------------------------------------------------------


def accounts_of(world: ClusterLookups) -> Any:
    assert world.account_policies is not None
    return world.account_policies


def test_accounts_with_the_same_rights_share_one_merged_value() -> None:
    world = a_world(scheduling_policy(), grants={"one": ["schedpol-a"], "two": ["schedpol-a"], "three": []})
    one, two, three = (world.scheduling_policies(NAMESPACE, name) for name in ("one", "two", "three"))
    assert one is two
    assert three[0].merged is None
    assert world.scheduling_policies(NAMESPACE, "one") is one


def test_merged_values_follow_the_policies_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.world.account_policies.KEPT_MOST", 3)
    world = a_world(scheduling_policy(), grants={f"a{number}": ["schedpol-a", f"x{number}"] for number in range(9)})
    first = world.scheduling_policies(NAMESPACE, "a0")
    assert world.scheduling_policies(NAMESPACE, "a0") is first
    for number in range(1, 9):
        world.scheduling_policies(NAMESPACE, f"a{number}")
    assert world.scheduling_policies(NAMESPACE, "a0") is not first
    accounts_of(world).policies.replace([])
    assert world.scheduling_policies(NAMESPACE, "a1") == ()


# -- faulty policies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grants", [None, {"default": ["broken"]}, {"default": []}])
def test_the_only_policys_fault_does_not_end_judging(grants: dict[str, list[str]] | None) -> None:
    world = a_world(scheduling_policy("broken", allowed=[]), grants=grants)
    assert "correct SchedulingPolicy 'broken', which is faulty" in (denial(world, a_pod()) or "")
    assert mutate(a_request(a_pod()), world) == Answer()


def test_a_valid_policy_loses_only_what_the_faulty_one_gave() -> None:
    world = a_world(scheduling_policy("broken", default=[]), scheduling_policy("own", allowed={"nodeSelectors": {}}))
    assert denial(world, a_pod(nodeSelector={"a": "b"})) is None
    assert "nothing is allowed by SchedulingPolicy 'broken'" in (denial(world, a_pod(nodeName="n")) or "")


def test_a_faulty_policy_in_mode_warn_refuses_nothing() -> None:
    world = a_world(scheduling_policy("broken", mode="Warn", allowed=[]))
    answer = validate(a_request(a_pod()), world)
    assert (answer.denial, len(answer.warnings)) == (None, 1)
