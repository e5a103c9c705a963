"""The step that applies pod scheduling policies: patch, annotation, warnings, audit entries, counts."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cache.policies.pod_policies import PolicySink
from controller.core.keys import DEFAULT_QUEUE, GATE, POLICIES, QUEUE_NAME
from controller.core.pod_policies.policies import Target
from controller.kube.wire import Owned
from controller.objects.pod_policies import read_cluster_policy, read_policy
from tests.support.api_objects import Json, cluster_pod_policy, field_requirement, node_terms, pod_policy, requirement
from tests.support.json_patch import patched
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.policy_worlds import PolicyWorld, a_pod, raw
from webhook.reviews.admission import Answer, Request, write
from webhook.steps.chain import mutate

SPOT = {"key": "spot", "operator": "Exists"}


def ask(pod: Json, world: PolicyWorld, **fields: Any) -> Answer:
    filled: Json = {"operation": "CREATE", "namespace": "default", "subresource": "", "user": "jane", "groups": ()}
    return mutate(Request(**{"uid": "1", "pod": pod, **filled, **fields}), world)


def after(pod: Json, world: PolicyWorld) -> Json:
    """The pod after the answer; asked again, nothing changes and nothing is stripped."""
    answer = ask(pod, world)
    assert answer.denial is None
    assert write("1", answer), "what cannot be encoded is no answer"
    result = patched(pod, answer.operations)
    again = ask(result, world)
    assert again.operations == ()
    assert not [warning for warning in again.warnings if warning.startswith("removed")]
    return result


EVERY_FIELD: Json = {
    "nodeSelector": {"a/b": "c"},
    "nodeName": "n1",
    "schedulerName": "other",
    "tolerations": [SPOT],
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [requirement("In", "x")]}]},
            PREFERRED: [{"weight": 1, "preference": {"matchFields": [field_requirement("n1")]}}],
        },
        "podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {}, "namespaces": ["a"]}]},
        "podAntiAffinity": {
            PREFERRED: [
                {"weight": 2, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}}
            ]
        },
    },
}


@pytest.mark.parametrize("empty", [{}, {"affinity": None, "tolerations": None, "nodeSelector": None}, {"affinity": {}}])
def test_a_silent_pod_is_given_every_field_as_written(empty: Json) -> None:
    pod = after(a_pod(**empty), PolicyWorld(pod_policy(**EVERY_FIELD)))
    assert {name: pod["spec"][name] for name in EVERY_FIELD} == EVERY_FIELD
    assert pod["metadata"]["annotations"] == {POLICIES: "default/batch"}


@pytest.mark.parametrize("affinity", ["podAffinity", "podAntiAffinity"])
def test_affinity_to_other_pods_may_be_all_that_a_policy_gives(affinity: str) -> None:
    given = {affinity: EVERY_FIELD["affinity"][affinity]}
    assert after(a_pod(), PolicyWorld(pod_policy(affinity=given)))["spec"]["affinity"] == given


def test_no_operation_carries_what_a_later_one_adds() -> None:
    answer = ask(a_pod(), PolicyWorld(pod_policy(nodeSelector={"a": "1", "b": "2"})))
    assert [operation["value"] for operation in answer.operations[:2]] == [{"a": "1"}, "2"]


def test_what_a_pod_has_stays_before_what_is_added() -> None:
    own: Json = {
        "nodeSelector": {"own": "x"},
        "tolerations": [{"key": "own"}],
        "affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "own"}]}, "unknown": {"kept": True}},
    }
    spec = after(a_pod(**own), PolicyWorld(pod_policy(**EVERY_FIELD)))["spec"]
    assert spec["nodeSelector"] == {"own": "x", "a/b": "c"}
    assert spec["tolerations"] == [{"key": "own"}, SPOT]
    assert [term["topologyKey"] for term in spec["affinity"]["podAffinity"][REQUIRED]] == ["own", "zone"]
    assert spec["affinity"]["unknown"] == {"kept": True}


@pytest.mark.parametrize(
    ("metadata", "labels", "gates"),
    [
        ({"labels": {QUEUE_NAME: "main"}}, {}, None),
        ({}, {DEFAULT_QUEUE: "main"}, None),
        ({}, {}, [{"name": "example.com/other"}]),
    ],
)
def test_a_pod_that_waits_is_held_to_its_node_by_affinity(metadata: Json, labels: Json, gates: Any) -> None:
    pod = after(a_pod(metadata, schedulingGates=gates), PolicyWorld(pod_policy(nodeName="n1"), labels=labels))
    assert pod["spec"].get("nodeName") is None
    assert pod["spec"]["affinity"] == node_terms({"matchFields": [field_requirement("n1")]})
    assert any(gate["name"] == GATE for gate in pod["spec"]["schedulingGates"]) is (gates is None)


def test_every_policy_is_named_counted_and_audited() -> None:
    world = PolicyWorld(
        cluster_pod_policy("wide", nodeSelector={"a": "1"}),
        pod_policy("late", nodeSelector={"a": "2"}, tolerations=[SPOT]),
        pod_policy("none", podSelector=None, nodeSelector={"b": "1"}),
        pod_policy("told", mode="Audit", nodeSelector={"c": "1"}),
        pod_policy("warned", mode="Warn", nodeSelector={"a": "3", "c": "1"}),
        pod_policy("with-nothing-to-do", nodeSelector={"a": "1"}),
    )
    answer = ask(a_pod(), world)
    assert answer.warnings == (
        "PodSchedulingPolicy 'late' is left out in part: spec.nodeSelector[a] is '1', not '2'",
        "PodSchedulingPolicy 'warned' (mode Warn) would set nodeSelector, but spec.nodeSelector[a] is '1', not '3'",
    )
    assert answer.audit == (
        ("policies", "wide: nodeSelector; default/late: tolerations"),
        ("policies-not-enforced", "default/told: nodeSelector; default/warned: nodeSelector"),
        (
            "policy-conflicts",
            "default/late: spec.nodeSelector[a] is '1', not '2'; default/warned: spec.nodeSelector[a] is '1', not '3'",
        ),
    )
    assert answer.counted == (
        ("wide", "changed"),
        ("default/late", "conflict"),
        ("default/told", "would_change"),
        ("default/warned", "would_conflict"),
        ("default/with-nothing-to-do", "unchanged"),
    )
    assert after(a_pod(), world)["metadata"]["annotations"] == {POLICIES: "wide,default/late"}


def test_a_refusal_says_who_and_why_and_is_counted() -> None:
    answer = ask(
        a_pod(nodeSelector={"a": "own"}), PolicyWorld(pod_policy(onConflict="Reject", nodeSelector={"a": "1"}))
    )
    assert answer.denial == (
        "PodSchedulingPolicy 'batch' refuses the pod: spec.nodeSelector[a] is 'own', not '1'; change the pod, or ask "
        "who keeps the policy (onConflict: Reject)"
    )
    assert answer.counted == (("default/batch", "refused"),)


@pytest.mark.parametrize(
    ("noted", "spec", "expected", "is_warned"),
    [
        ("default/batch", {"nodeSelector": {"a": "1"}}, "default/batch", False),
        ("default/batch,forged", {"nodeSelector": {"a": "1"}}, "default/batch", True),
        ("forged", {}, "default/batch", True),
        ("forged", {"nodeSelector": {"a": "1"}}, None, True),
        ("default/batch", {"nodeSelector": {"a": "own"}}, None, True),
        ("", {"nodeSelector": {"a": "1"}}, None, False),
    ],
)
def test_only_what_is_true_of_the_pod_stays_noted(
    noted: str, spec: Json, expected: str | None, is_warned: bool
) -> None:
    world = PolicyWorld(pod_policy(nodeSelector={"a": "1"}))
    pod = a_pod({"annotations": {POLICIES: noted}}, **spec)
    assert after(pod, world)["metadata"]["annotations"].get(POLICIES) == expected
    assert any(text.startswith("removed ") for text in ask(pod, world).warnings) is is_warned


MADE = {"ownerReferences": [{"kind": "ReplicaSet", "controller": True}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"nodeSelector": {"a": "1"}}, "default/of-template,default/own"),
        ({"nodeSelector": {"a": "other"}}, "default/own"),
        ({}, "default/own"),
    ],
)
def test_a_controllers_pod_keeps_its_templates_unwarned(spec: Json, expected: str) -> None:
    world = PolicyWorld(
        pod_policy("of-template", target="PodTemplates", nodeSelector={"a": "1"}, onConflict="Reject"),
        pod_policy("own", tolerations=[SPOT]),
        pod_policy("told", target="PodTemplates", nodeSelector={"a": "1"}, mode="Warn"),
    )
    noted = {POLICIES: "gone,default/of-template,default/told"}
    pod = a_pod({"annotations": noted, **MADE}, **spec)
    assert ask(pod, world).warnings == ()
    result = after(pod, world)
    assert result["metadata"]["annotations"] == {POLICIES: expected}
    assert result["spec"].get("nodeSelector") == spec.get("nodeSelector"), "templates were treated, not pods"


def test_a_bare_pod_cannot_claim_policies_for_templates() -> None:
    world = PolicyWorld(pod_policy(target="PodTemplates", nodeSelector={"a": "1"}))
    assert ask(a_pod(), world) == Answer()
    pod = a_pod({"annotations": {POLICIES: "default/batch"}}, nodeSelector={"a": "1"})
    assert after(pod, world)["metadata"]["annotations"] == {}
    assert ask(pod, world).warnings[0].startswith("removed default/batch from ")


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a"}]}]}}}},
        {"affinity": node_terms({"matchExpressions": [requirement("Near", "x")]})},
        {"affinity": {"podAffinity": 3}},
        {"tolerations": 5},
    ],
)
def test_what_is_no_pod_is_left_to_the_apiserver_to_refuse(spec: Json) -> None:
    assert ask(a_pod(**spec), PolicyWorld(pod_policy(nodeSelector={"a": "1"}))) == Answer()


def test_a_static_pods_image_is_left_alone() -> None:
    pod = a_pod({"annotations": {"kubernetes.io/config.mirror": "x"}}, nodeName="n1")
    assert ask(pod, PolicyWorld(pod_policy(tolerations=[SPOT])), groups=("system:nodes",)) == Answer()


def test_policies_are_kept_as_they_come_and_go() -> None:
    world = PolicyWorld()
    own = PolicySink(world.policies, cluster_wide=False)
    wide = PolicySink(world.policies, cluster_wide=True)
    wide.replace([read_cluster_policy(raw(cluster_pod_policy("w")))])
    own.replace([read_policy(raw(pod_policy("a"))), read_policy(raw(pod_policy("b", namespace="other")))])
    assert names(world, "default") == ["w", "default/a"]
    assert names(world, "other") == ["w", "other/b"]
    assert names(world, "third") == ["w"]
    own.upsert(read_policy(raw(pod_policy("0"))))
    own.remove(Owned(namespace="default", name="a"))
    own.upsert(read_policy(raw(pod_policy("t", target="PodTemplates"))))
    assert names(world, "default", Target.POD_TEMPLATES) == ["default/t"]
    assert names(world, "other", Target.POD_TEMPLATES) == []
    wide.replace([])
    assert names(world, "default") == ["default/0"]
    own.replace([])
    assert names(world, "default") == []


def test_a_policy_that_became_faulty_is_out_of_effect() -> None:
    world = PolicyWorld(pod_policy())
    world.policies.put(read_policy(raw(pod_policy(affinity=node_terms({})))))
    assert names(world, "default") == []
    assert len(world.faults) == 1
    assert world.faults[0].startswith("podschedulingpolicies.penstock.dev/default/batch: spec.affinity.nodeAffinity.")


@pytest.mark.parametrize("how", ["mended", "deleted", "no longer listed"])
def test_a_faulty_policy_is_known_until_it_is_mended_or_gone(how: str) -> None:
    world = PolicyWorld(pod_policy(affinity=node_terms({})), cluster_pod_policy("w", affinity=node_terms({})))
    assert list(world.policies.faults) == [("default", "batch"), ("", "w")]
    sink = PolicySink(world.policies, cluster_wide=False)
    match how:
        case "mended":
            sink.upsert(read_policy(raw(pod_policy())))
        case "deleted":
            sink.remove(Owned(namespace="default", name="batch"))
        case _:
            sink.replace([])
    assert list(world.policies.faults) == [("", "w")]


def names(world: PolicyWorld, namespace: str, target: Target = Target.PODS) -> list[str]:
    return [policy.key for policy in world.policies.of(namespace, world.labels, target)]
