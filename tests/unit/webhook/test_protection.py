"""The check that protects the gate: which rule is asked about which request, and who is taken for whom."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.core.gate.protection import Rule
from controller.core.keys import (
    ADMITTED_AT,
    BREAK_GLASS,
    CONDITION,
    FLAVOR,
    GATE,
    POLICIES,
    QUEUE_NAME,
    QUEUEING,
    REQUIRED,
    STAMPED_ANNOTATIONS,
    STAMPED_LABELS,
    WANTED_PARALLELISM,
    WRITTEN_AT_CREATE,
)
from controller.kube.manifests import load_documents
from tests.support.worlds import TRUSTED, EmptyWorld
from webhook.checks.chain import validate
from webhook.reviews.admission import Answer, Request
from webhook.reviews.templates import WORKLOADS

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
DAEMON_SETS = "system:serviceaccount:kube-system:daemon-set-controller"
OWNED = {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}
QUEUED = {"labels": {QUEUE_NAME: "main"}}
GATED = {"schedulingGates": [{"name": GATE}]}
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
ON_NODE = {"nodeName": "a"}
RULES = [rule.value for rule in Rule]
SAID = {"type": CONDITION, "status": "False"}


class Requiring(EmptyWorld):
    """Every namespace requires a queue."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return {QUEUEING: REQUIRED}


def a_pod(metadata: Json | None = None, spec: Json | None = None, *conditions: Json) -> Json:
    return {"metadata": metadata or {}, "spec": spec or {}, "status": {"conditions": list(conditions)}}


def asking(cpu: str, kind: str = "containers") -> Json:
    return {kind: [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}


def asked(pod: Json, old: Json | None = None, world: EmptyWorld | None = None, **fields: Any) -> Answer:
    filled: Json = {"uid": "1", "namespace": "default", "subresource": "", "user": "jane", "groups": ()}
    operation = "CREATE" if old is None else "UPDATE"
    request = Request(**{**filled, "operation": operation, "pod": pod, "old": old, **fields})
    return validate(request, world or EmptyWorld())


def rules(answer: Answer) -> list[str]:
    """The rules that the refusal names."""
    return [rule for text in (answer.denial or "").split("; ") if (rule := text.partition(": ")[0]) in RULES]


@pytest.mark.parametrize(
    ("pod", "fields", "broken"),
    [
        (a_pod(QUEUED, GATED), {}, []),
        (a_pod(QUEUED), {}, ["gate-required"]),
        (a_pod(QUEUED, {"nodeName": "n"}), {}, ["gate-required"]),
        (a_pod(spec=GATED), {}, ["gate-needs-queue"]),
        (a_pod({"labels": {FLAVOR: "a"}, "annotations": {ADMITTED_AT: "b"}}), {}, ["stamps-are-ours"] * 2),
        (a_pod({**QUEUED, **OWNED}), {"user": DAEMON_SETS}, []),
        (a_pod({**QUEUED, **OWNED}), {}, ["gate-required"]),
        (a_pod(QUEUED), {"user": DAEMON_SETS}, ["gate-required"]),
        (a_pod({**QUEUED, **MIRROR}), {"groups": ("system:nodes",)}, []),
        (a_pod({**QUEUED, **MIRROR}), {}, ["gate-required"]),
        (a_pod(QUEUED), {"groups": ("system:nodes",)}, ["gate-required"]),
        (a_pod(QUEUED), {"groups": ("system:masters",)}, ["gate-required"]),
        (a_pod(QUEUED), {"groups": ("system:masters", BREAK_GLASS)}, []),
        (a_pod(QUEUED), {"user": TRUSTED}, []),
        (a_pod(QUEUED), {"user": BREAK_GLASS}, ["gate-required"]),
        (a_pod({"annotations": {POLICIES: "a"}}), {}, []),
    ],
)
def test_a_new_pod_is_held_to_the_rules_of_new_pods(pod: Json, fields: Json, broken: list[str]) -> None:
    assert rules(asked(pod, **fields)) == broken


def test_where_a_queue_is_required_the_namespace_says() -> None:
    assert rules(asked(a_pod())) == []
    assert rules(asked(a_pod(), world=Requiring())) == ["queue-required"]
    assert rules(asked(a_pod(MIRROR), world=Requiring(), groups=("system:nodes",))) == []
    assert rules(asked(a_pod({**QUEUED, **OWNED}), world=Requiring(), user=DAEMON_SETS)) == ["queue-required"]


@pytest.mark.parametrize(
    ("old", "new", "subresource", "broken"),
    [
        (a_pod(QUEUED, GATED), a_pod(QUEUED), "", ["gate-is-ours"]),
        (a_pod(QUEUED, GATED), a_pod({}, GATED), "", ["keys-are-ours"]),
        (a_pod(QUEUED, GATED), a_pod(), "", ["gate-is-ours", "keys-are-ours"]),
        (a_pod(QUEUED), a_pod(), "status", ["keys-are-ours"]),
        (a_pod(QUEUED), a_pod(), "resize", ["keys-are-ours"]),
        (a_pod({}, None, SAID), a_pod(), "status", ["condition-is-ours"]),
        (a_pod({}, None, SAID), a_pod(), "", []),
        (a_pod(), a_pod({}, None, {"type": "Ready"}), "status", []),
        (a_pod({}, None, SAID, {"type": "Ready"}), a_pod({}, None, {"type": "Other"}, SAID), "status", []),
        (a_pod(QUEUED, asking("1")), a_pod(QUEUED, asking("2")), "resize", ["no-growth"]),
        (a_pod(QUEUED, asking("2")), a_pod(QUEUED, asking("1")), "resize", []),
        (a_pod(spec=asking("1")), a_pod(spec=asking("2")), "resize", []),
        *(
            (a_pod(QUEUED, old), a_pod(QUEUED, new), "resize", ["no-growth"])
            for old, new in (
                (asking("1", "initContainers"), asking("2", "initContainers")),
                ({"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "2"}}}),
                (asking("1"), {**asking("1"), "resources": {"requests": {"cpu": "2"}}}),
            )
        ),
        (a_pod(QUEUED), a_pod({"deletionTimestamp": "2026-01-01T00:00:00Z"}), "", ["keys-are-ours"]),
    ],
)
def test_an_update_is_held_to_the_rules_of_its_subresource(
    old: Json, new: Json, subresource: str, broken: list[str]
) -> None:
    answer = asked(new, old, subresource=subresource)
    assert rules(answer) == broken
    assert (answer.audit == ()) is (not broken)
    assert asked(new, old, subresource=subresource, groups=(BREAK_GLASS,)) == Answer()
    assert asked(old, old, subresource=subresource) == Answer()


def test_the_controller_may_do_all_but_let_a_pod_grow() -> None:
    admitted = a_pod({"labels": {QUEUE_NAME: "main", FLAVOR: "a"}, "annotations": {ADMITTED_AT: "b"}})
    assert asked(admitted, a_pod(QUEUED, GATED), user=TRUSTED) == Answer()
    assert asked(a_pod({}, None, SAID), a_pod(), user=TRUSTED, subresource="status") == Answer()
    old, new = a_pod(QUEUED, asking("1")), a_pod(QUEUED, asking("2"))
    assert rules(asked(new, old, user=TRUSTED, subresource="resize")) == ["no-growth"]


def test_a_binding_is_judged_as_one_and_as_nothing_else() -> None:
    stamped = {"metadata": {"labels": {FLAVOR: "a", **QUEUED["labels"]}}}
    assert rules(asked(stamped, subresource="binding", world=Requiring())) == ["binding-keys"] * 2
    assert asked({"metadata": {"labels": {"app": "a"}}}, subresource="binding", world=Requiring()) == Answer()


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_what_is_neither_made_nor_changed_passes(operation: str) -> None:
    assert asked(a_pod(QUEUED), a_pod(QUEUED, GATED), operation=operation) == Answer()


# -- config/webhook/validating.yaml ------------------------------------------------------------------------------------

(REGISTERED,) = (
    one for one in load_documents(ROOT / "config/webhook") if one["kind"] == "ValidatingWebhookConfiguration"
)
ENTRIES = {entry["name"]: entry for entry in REGISTERED["webhooks"]}
CONDITIONS = {name: {one["name"]: one["expression"] for one in e["matchConditions"]} for name, e in ENTRIES.items()}


@pytest.mark.parametrize(
    ("entry", "condition", "keys"),
    [
        (
            "new-pods.penstock.dev",
            "has-queue-without-gate-or-gate-without-queue-or-stamps",
            {GATE, QUEUE_NAME, *STAMPED_LABELS, *STAMPED_ANNOTATIONS} - {POLICIES},
        ),
        (
            "updates.penstock.dev",
            "touches-what-is-ours",
            {GATE, QUEUE_NAME, CONDITION, *STAMPED_LABELS, *STAMPED_ANNOTATIONS},
        ),
        (
            "resizes.penstock.dev",
            "is-ours",
            {GATE, QUEUE_NAME, *STAMPED_LABELS, *STAMPED_ANNOTATIONS} - {*WRITTEN_AT_CREATE},
        ),
        (
            "new-jobs.penstock.dev",
            "has-queue-and-begins-or-stamps",
            {QUEUE_NAME, *STAMPED_LABELS, *STAMPED_ANNOTATIONS, WANTED_PARALLELISM} - {*WRITTEN_AT_CREATE},
        ),
        (
            "updates-of-jobs.penstock.dev",
            "touches-what-is-ours",
            {QUEUE_NAME, *STAMPED_LABELS, *STAMPED_ANNOTATIONS, WANTED_PARALLELISM} - {*WRITTEN_AT_CREATE},
        ),
        ("bindings.penstock.dev", "brings-what-is-ours", {QUEUE_NAME, *STAMPED_LABELS, *STAMPED_ANNOTATIONS}),
    ],
)
def test_a_registration_names_every_key_that_its_rules_go_by(entry: str, condition: str, keys: set[str]) -> None:
    named = {part for part in CONDITIONS[entry][condition].split('"') if part.startswith("penstock.dev/")}
    assert named == keys


def test_every_entry_fails_closed_and_leaves_break_glass_out() -> None:
    for name, entry in ENTRIES.items():
        assert entry["failurePolicy"] == "Fail"
        assert BREAK_GLASS in CONDITIONS[name]["is-not-break-glass"]


def test_entries_together_ask_about_all_that_can_change_a_pod() -> None:
    asked_about = {
        (operation, resource)
        for entry in ENTRIES.values()
        for rule in entry["rules"]
        for operation, resource in itertools.product(rule["operations"], rule["resources"])
    }
    assert asked_about == {
        ("CREATE", "pods"),
        ("CREATE", "pods/binding"),
        ("CREATE", "bindings"),
        ("UPDATE", "pods"),
        ("UPDATE", "pods/status"),
        ("UPDATE", "pods/resize"),
        ("UPDATE", "jobs/status"),
        *itertools.product(("CREATE", "UPDATE"), (plural for _, plural in WORKLOADS)),
    }
