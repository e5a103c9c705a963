"""`penstock policy explain` from files: every step, policy and reason, as text and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.cli.policy.changes import NOTHING, Change, changes, shown
from controller.cli.policy.surroundings import NOT_ASKED
from controller.cli.policy.trace import TITLES
from controller.core.keys import FLAVOR, GATE, POLICIES, QUEUE_NAME, QUEUEING
from controller.kube.manifests import load_documents
from tests.support.api_objects import (
    Json,
    cluster_pod_policy,
    cluster_queue,
    local_queue,
    node_terms,
    pod_policy,
    requirement,
)
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.policy_commands import ExplainTool, step
from tests.support.policy_files import SPOT, a_namespace, a_pod
from webhook.steps.chain import CHAIN

CONFIG = Path(__file__).parents[3] / "config"
NOT_READY = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}"
UNREACHABLE = NOT_READY.replace("not-ready", "unreachable")
TERM = {"matchExpressions": [requirement("In", "a")]}
TEMPLATE: Json = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "none"}]}}


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ExplainTool:
    return ExplainTool(tmp_path, capsys)


def test_every_step_of_the_webhook_has_a_title() -> None:
    assert list(TITLES) == list(CHAIN)


def test_each_policy_tells_field_by_field_what_it_did(tool: ExplainTool) -> None:
    first = cluster_pod_policy("first", priority=5, nodeSelector={"pool": "a"}, affinity=node_terms(TERM))
    second = pod_policy("second", nodeSelector={"pool": "b", "zone": "x"}, tolerations=[SPOT], schedulerName="other")
    third = pod_policy("third", nodeSelector={"disk": "ssd"}, mode="Warn")
    fourth = pod_policy("zero", nodeSelector={"pool": "a"}, mode="Audit")
    answer = tool.answer(a_pod(), fourth, third, second, first)
    policies = step(answer)["policies"]
    assert [(one["policy"], one["result"], one["mode"]) for one in policies] == [
        ("first", "changed", "Enforce"),
        ("default/second", "conflict", "Enforce"),
        ("default/third", "would_change", "Warn"),
        ("default/zero", "unchanged", "Audit"),
    ]
    assert policies[0]["changes"] == [
        {"path": "spec.nodeSelector[pool]", "after": "a"},
        {"path": f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]", "after": TERM},
    ]
    assert policies[1]["changes"] == [
        {"path": "spec.schedulerName", "before": "default-scheduler", "after": "other"},
        {"path": "spec.tolerations[2]", "after": SPOT},
        {"path": "spec.nodeSelector[zone]", "after": "x"},
    ]
    assert policies[1]["conflicts"] == [{"field": "nodeSelector", "message": "spec.nodeSelector[pool] is 'a', not 'b'"}]
    assert policies[2]["changes"] == [{"path": "spec.nodeSelector[disk]", "after": "ssd"}]
    assert answer["directives"]["nodeSelector"] == {"pool": "a", "zone": "x"}
    assert answer["result"] == "changed"
    assert [warning.split(" (")[0].split(" is ")[0] for warning in answer["warnings"]] == [
        "PodSchedulingPolicy 'second'",
        "PodSchedulingPolicy 'third'",
    ]


def test_what_the_policies_did_one_by_one_is_what_the_step_did(tool: ExplainTool) -> None:
    affinity = {
        **node_terms(TERM, {"matchExpressions": [requirement("Exists")]}),
        "podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]},
    }
    objects = [
        cluster_pod_policy("a", affinity=affinity, tolerations=[SPOT]),
        cluster_pod_policy("b", affinity=node_terms({"matchExpressions": [requirement("Exists", key="b")]})),
        pod_policy("c", nodeSelector={"x": "y"}, nodeName="n", mode="Warn"),
        pod_policy("d", nodeName="n"),
    ]
    own = {"nodeAffinity": {PREFERRED: [{"weight": 3, "preference": TERM}]}}
    answer = tool.answer(a_pod(affinity=own, tolerations=[{"key": "own"}]), *objects)
    # replayed on the pod as it was, the changes of each give the pod as it is
    done = [change for one in step(answer)["policies"] if one["mode"] == "Enforce" for change in one["changes"]]
    last = {change["path"]: change["after"] for change in done}
    whole = {c["path"]: c["after"] for c in step(answer)["changes"] if not c["path"].startswith("metadata")}
    whole_paths = {path for path in whole if "nodeSelectorTerms" not in path}
    assert whole_paths == {path for path in last if "nodeSelectorTerms" not in path}
    assert all(last[path] == whole[path] for path in whole_paths)
    terms = answer["directives"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [len(term["matchExpressions"]) for term in terms] == [2, 2]
    assert last[f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"] == terms


REASONS: list[tuple[Json, str]] = [
    (
        cluster_pod_policy(namespaceSelector=None),
        "namespaceSelector is left out, which selects nothing; {} would select everything",
    ),
    (
        cluster_pod_policy(namespaceSelector={"matchLabels": {"tier": "gold"}}),
        "namespaceSelector: the namespace has no label tier, wanted is 'gold'",
    ),
    (
        cluster_pod_policy(namespaceSelector={"matchLabels": {"app": "web"}}),
        "namespaceSelector: the namespace has no label app, wanted is 'web'",
    ),
    (pod_policy(podSelector=None), "podSelector is left out, which selects nothing; {} would select everything"),
    (
        pod_policy(podSelector={"matchExpressions": [requirement("In", "a", "b", key="app")]}),
        "podSelector: the pod has app=web, wanted is one of 'a', 'b'",
    ),
    (
        pod_policy(podSelector={"matchExpressions": [requirement("NotIn", "web", key="app")]}),
        "podSelector: the pod has app=web, wanted is any value but 'web'",
    ),
    (
        pod_policy(podSelector={"matchExpressions": [{"key": "team", "operator": "Exists"}]}),
        "podSelector: the pod has no label team, wanted is any value",
    ),
    (
        pod_policy(podSelector={"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
        "podSelector: the pod has app=web, wanted is that there is none",
    ),
]


@pytest.mark.parametrize(("policy", "reason"), REASONS)
def test_a_policy_that_does_not_select_the_pod_says_why(policy: Json, reason: str, tool: ExplainTool) -> None:
    answer = tool.answer(a_pod(labels={"app": "web"}), policy)
    assert [one["reason"] for one in answer["notSelecting"]] == [reason]
    assert (answer["result"], step(answer)["policies"]) == ("allowed", [])
    _, text, _ = tool.text(a_pod(labels={"app": "web"}), policy)
    assert f"SchedulingPolicy 'batch': {reason}\n" in text


def test_a_policy_does_not_select_by_what_was_taken_away(tool: ExplainTool) -> None:
    by_stamp = pod_policy(podSelector={"matchLabels": {FLAVOR: "spot"}}, nodeSelector={"a": "b"})
    answer = tool.answer(a_pod(labels={FLAVOR: "spot"}), by_stamp)
    assert [one["reason"] for one in answer["notSelecting"]] == [
        f"podSelector: the pod has no label {FLAVOR}, wanted is 'spot'"
    ]


def test_policies_of_other_namespaces_are_not_listed(tool: ExplainTool) -> None:
    assert tool.answer(a_pod(), pod_policy(namespace="elsewhere"))["notSelecting"] == []


def test_a_refusal_names_the_policy_and_leaves_no_pod(tool: ExplainTool) -> None:
    strict = cluster_pod_policy("strict", nodeSelector={"pool": "a"}, onConflict="Reject")
    code, text, _ = tool.text(a_pod(nodeSelector={"pool": "b"}), strict)
    assert code == 1
    assert "   ClusterPodSchedulingPolicy 'strict' (priority 0) refuses the pod\n" in text
    assert "     nodeSelector: spec.nodeSelector[pool] is 'b', not 'a'\n" in text
    assert "Result: refused by Pod scheduling policies\n  ClusterPodSchedulingPolicy 'strict' refuses the pod" in text
    assert "Queue" not in text
    answer = tool.answer(a_pod(nodeSelector={"pool": "b"}), strict)
    assert (answer["refusedBy"], answer["directives"]) == ("Pod scheduling policies", {})
    assert answer["message"].startswith("ClusterPodSchedulingPolicy 'strict' refuses the pod: spec.nodeSelector[pool]")


def test_a_pod_refused_by_the_gates_protection_is_told(tool: ExplainTool) -> None:
    strict = a_namespace("default", **{QUEUEING: "Required"})
    answer = tool.answer(a_pod(), strict)
    assert answer["refusedBy"] == "Protection of the gate"
    assert answer["message"].startswith(f"queue-required: metadata.labels[{QUEUE_NAME}]: ")
    assert tool.answer(a_pod(labels={QUEUE_NAME: "main"}), strict)["result"] == "changed"


WHOLE_WAY = f"""Pod 'train' in namespace 'default'
Filled in, as the apiserver does before it asks the webhook:
  spec.priority: + 0
  spec.preemptionPolicy: + PreemptLowerPriority
  spec.schedulerName: + default-scheduler
  spec.serviceAccountName: + default
  spec.tolerations[0]: + {NOT_READY}
  spec.tolerations[1]: + {UNREACHABLE}
1. Penstock's own keys: changes the pod
     metadata.labels[penstock.dev/flavor]: - spot
2. RuntimeClass: off; --runtime-classes switches it on, as it does for the webhook
3. Pod scheduling policies, in order:
   ClusterPodSchedulingPolicy 'near' (priority 0) changes the pod
     spec.tolerations[2]: + {{key: spot, operator: Exists, effect: NoSchedule}}
     spec.nodeSelector[pool]: + a
   PodSchedulingPolicy 'empty' (priority 0) has nothing to change
     it sets nothing
   PodSchedulingPolicy 'held' (priority 0) has nothing to change
     the pod has it already: nodeSelector
   PodSchedulingPolicy 'told' (mode Warn, priority 0) would refuse the pod
     nodeSelector: spec.nodeSelector[pool] is 'a', not 'b'
   Noted on the pod:
     metadata.annotations[{POLICIES}]: + near
4. Scheduling policies: off; --scheduling-policies switches it on, as it does for the webhook
5. Queue: changes the pod
     spec.schedulingGates[0]: + {{name: {GATE}}}
Result: created, with these changes
Warnings for whoever creates it:
  removed penstock.dev/flavor: only Penstock writes these, when it admits the pod
  PodSchedulingPolicy 'told' (mode Warn) would refuse the pod, but spec.nodeSelector[pool] is 'a', not 'b'
  LocalQueue 'main' does not exist in namespace 'default': the pod stays queued until it does (QueueNotFound)
What the pod then says about where it runs:
  schedulingGates:
  - name: penstock.dev/queue
  schedulerName: default-scheduler
  nodeSelector:
    pool: a
  tolerations:
  - key: node.kubernetes.io/not-ready
    operator: Exists
    effect: NoExecute
    tolerationSeconds: 300
  - key: node.kubernetes.io/unreachable
    operator: Exists
    effect: NoExecute
    tolerationSeconds: 300
  - key: spot
    operator: Exists
    effect: NoSchedule
  priority: 0
"""


def test_the_text_tells_the_whole_way_in_order(tool: ExplainTool) -> None:
    objects = (
        cluster_pod_policy("near", nodeSelector={"pool": "a"}, tolerations=[SPOT]),
        pod_policy("told", nodeSelector={"pool": "b"}, mode="Warn", onConflict="Reject"),
        pod_policy("held", nodeSelector={"pool": "a"}),
        pod_policy("empty"),
        a_namespace("default"),
    )
    pod = a_pod("train", labels={QUEUE_NAME: "main", FLAVOR: "spot"})
    code, text, err = tool.text(pod, *objects)
    assert (code, err) == (0, "")
    assert text == WHOLE_WAY
    assert "QueueNotFound" not in tool.text(pod, *objects, local_queue())[1]


def test_what_the_pod_says_itself_is_not_filled_in(tool: ExplainTool) -> None:
    own = a_pod(schedulerName="mine", serviceAccountName="me", priority=3, tolerations=[{"operator": "Exists"}])
    assert [one["path"] for one in tool.answer(own)["filledIn"]] == ["spec.preemptionPolicy"]


def test_a_runtime_class_is_told_by_whom_it_is_judged(tool: ExplainTool) -> None:
    kata: Json = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "k"}
    kata["scheduling"] = {"nodeSelector": {"runtime": "kata"}}
    default = tool.answer(a_pod(), kata, arguments=("--default-runtime-class", "kata"))
    assert step(default, "RuntimeClass")["changes"] == [
        {"path": "spec.runtimeClassName", "after": "kata"},
        {"path": "spec.nodeSelector[runtime]", "after": "kata"},
    ]
    named = tool.answer(a_pod(runtimeClassName="kata"), kata)
    assert {"path": "spec.nodeSelector[runtime]", "after": "kata"} in named["filledIn"]
    assert (named["result"], step(named, "RuntimeClass")["off"]) == ("allowed", True)
    conflict = tool.answer(a_pod(runtimeClassName="kata", nodeSelector={"runtime": "x"}), kata)
    assert (conflict["refusedBy"], conflict["steps"]) == ("the apiserver", [])
    unknown = tool.answer(a_pod(runtimeClassName="absent"))
    assert unknown["notes"] == [
        "RuntimeClass 'absent' is not known here, so what it demands is left out; where it does not exist, the "
        "apiserver refuses the pod"
    ]
    refused = tool.answer(a_pod(runtimeClassName="absent"), arguments=("--runtime-classes",))
    assert refused["refusedBy"] == "RuntimeClass"


def test_namespaces_left_out_are_those_of_config(tool: ExplainTool) -> None:
    hooks = [
        hook
        for document in (*load_documents(CONFIG / "webhook"), *load_documents(CONFIG / "components"))
        if document["kind"] == "MutatingWebhookConfiguration"
        for hook in document["webhooks"]
    ]
    assert hooks
    for hook in hooks:
        named = [
            expression["values"]
            for expression in hook["namespaceSelector"]["matchExpressions"]
            if (expression["key"], expression["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
        ]
        assert [set(values) for values in named] == [set(NOT_ASKED)]
    everything = cluster_pod_policy(nodeSelector={"a": "b"})
    answer = tool.answer(a_pod(namespace="kube-system"), everything, a_namespace("kube-system"))
    assert (answer["result"], answer["steps"]) == ("allowed", [])
    assert answer["notes"] == ["the webhook is not called for pods of namespace 'kube-system', as config/ registers it"]


def test_an_unknown_namespace_and_class_of_priority_are_noted(tool: ExplainTool) -> None:
    answer = tool.answer(a_pod(namespace="new", priorityClassName="absent"))
    assert answer["notes"] == [
        "namespace 'new' is not known here, and taken for one without labels of its own",
        "PriorityClass 'absent' is not known here, so spec.priority is left out",
    ]


@pytest.mark.parametrize(("setting", "result"), [("Allow", "changed"), ("Warn", "changed"), ("Forbid", "refused")])
def test_kube_schedulers_preemption_is_explained(setting: str, result: str, tool: ExplainTool) -> None:
    pod = a_pod(labels={"penstock.dev/queue-name": "main"}, priorityClassName="system-cluster-critical")
    answer = tool.answer(pod, local_queue(), cluster_queue(schedulerPreemption=setting))
    assert answer["result"] == result
    said = [answer["message"]] if setting == "Forbid" else answer["warnings"]
    assert [text.partition(": kube")[0] for text in said] == (
        [] if setting == "Allow" else ["spec.priorityClassName: 'system-cluster-critical'"]
    )


def test_a_pod_of_a_cluster_is_explained_as_written(tool: ExplainTool) -> None:
    live = {**a_pod(nodeName="n1"), "status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}}
    policy = pod_policy(nodeSelector={"a": "b"})
    assert "nodeName" not in tool.answer(live, policy)["directives"]
    assert tool.answer(a_pod(nodeName="n1"), policy)["directives"]["nodeName"] == "n1"
    binding = {"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:containers": {}}}}
    asked = {"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}
    for fields, kept in (([binding], False), ([binding, asked], True)):
        pod = {**live, "metadata": {"name": "one", "managedFields": fields}}
        assert ("nodeName" in tool.answer(pod, policy)["directives"]) is kept


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2, "b": None}, ["a: 1 -> 2", "b: + null"]),
        ({"a": {"b": "x"}}, {}, ["a: - {b: x}"]),
        ({}, {"a": {"b": {"c": "true"}}}, ["a.b.c: + 'true'"]),
        ({}, {"a": {}, "b": []}, ["a: + {}", "b: + []"]),
        ({"a": [1]}, {"a": [1, 2, {"b": "x y"}]}, ["a[1]: + 2", "a[2]: + {b: x y}"]),
        ({"a": [1, 2]}, {"a": [2]}, ["a: [1, 2] -> [2]"]),
        ({}, {"a": ["x"]}, ["a[0]: + x"]),
    ],
)
def test_changes_are_told_by_path(before: Any, after: Any, lines: list[str]) -> None:
    assert [str(change) for change in changes(before, after)] == lines


def test_nothing_is_not_null() -> None:
    assert (shown(NOTHING), shown(None), repr(NOTHING)) == ("nothing", "null", "nothing")
    assert Change("a", NOTHING, None).document() == {"path": "a", "after": None}
