"""The rules that keep the gate ours, one by one. What they make of real requests: tests/integration/protection."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from controller.core.gate import protection
from controller.core.gate.protection import Actor, Guarded, Rule
from controller.core.keys import (
    GATE,
    POLICIES,
    QUEUE_NAME,
    QUEUEING,
    REQUIRED,
    STAMPED_ANNOTATIONS,
    STAMPED_LABELS,
    WRITTEN_AT_CREATE,
)

QUEUED = {QUEUE_NAME: "main"}
MAIN = "spec.containers[main].resources.requests"
ANYBODY = Actor.ANYBODY
TRUSTED = (Actor.CONTROLLER, Actor.BREAK_GLASS)
NOBODY_SPECIAL = tuple(actor for actor in Actor if actor not in TRUSTED)
KEYS = [
    *(("labels", key) for key in (QUEUE_NAME, *STAMPED_LABELS)),
    *(("annotations", key) for key in STAMPED_ANNOTATIONS),
]
IN_REQUIRED = {QUEUEING: REQUIRED}


def carrying(part: str, key: str, value: str | None) -> Guarded:
    held = {} if value is None else {key: value}
    return Guarded(labels=held) if part == "labels" else Guarded(annotations=held)


def asking(**requests: str) -> Guarded:
    return Guarded(labels=QUEUED, requests={MAIN: requests})


def test_every_rule_is_in_the_docs() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "protection.md").read_text()
    assert [rule for rule in Rule if f"| `{rule}` |" not in text] == []


# -- gate-required -----------------------------------------------------------------------------------------------------


def test_a_queued_pod_without_the_gate_is_told_where_it_belongs() -> None:
    (text,) = protection.gate_required(Guarded(labels=QUEUED, gates=("example.com/other",)), ANYBODY)
    assert text == (
        "gate-required: spec.schedulingGates: a pod of queue 'main' needs the gate penstock.dev/queue, or it would run "
        "without quota; create it again: Penstock adds the gate"
    )


def test_a_gated_queued_pod_and_an_unqueued_one_are_fine() -> None:
    assert protection.gate_required(Guarded(labels=QUEUED, gates=("other", GATE)), ANYBODY) == ()
    assert protection.gate_required(Guarded(node="n"), ANYBODY) == ()


def test_of_a_queued_pod_on_a_node_the_node_is_what_is_wrong() -> None:
    (text,) = protection.gate_required(Guarded(labels=QUEUED, node="n1"), ANYBODY)
    assert text.startswith("gate-required: spec.nodeName: 'n1' cannot be set on a pod of queue 'main'")


@pytest.mark.parametrize("who", [actor for actor in Actor if actor is not ANYBODY])
def test_an_empty_queue_name_is_a_queue_too(who: Actor) -> None:
    pod = Guarded(labels={QUEUE_NAME: ""})
    assert protection.gate_required(pod, ANYBODY)
    assert not protection.gate_required(pod, who)


# -- queue-required ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [{}, {QUEUEING: "required"}, {QUEUEING: ""}, {QUEUEING: "Optional"}])
def test_one_value_of_the_namespace_label_requires_a_queue(labels: dict[str, str]) -> None:
    assert protection.queue_required(Guarded(), ANYBODY, labels) == ()
    (text,) = protection.queue_required(Guarded(), ANYBODY, IN_REQUIRED)
    assert text.startswith(
        "queue-required: metadata.labels[penstock.dev/queue-name]: the namespace has the label "
        "penstock.dev/queueing=Required, and the pod has none; "
    )


@pytest.mark.parametrize("who", [*TRUSTED, Actor.MIRRORING_NODE])
def test_who_may_do_without_a_queue_where_one_is_required(who: Actor) -> None:
    assert protection.queue_required(Guarded(), who, IN_REQUIRED) == ()


def test_a_daemon_pod_waits_where_a_queue_is_required() -> None:
    who = Actor.DAEMON_SET_CONTROLLER
    assert "cannot wait" in protection.queue_required(Guarded(labels=QUEUED), who, IN_REQUIRED)[0]
    assert protection.queue_required(Guarded(labels=QUEUED, gates=(GATE,)), who, IN_REQUIRED) == ()
    assert protection.queue_required(Guarded(), who, IN_REQUIRED)


def test_that_a_gate_is_missing_is_said_once() -> None:
    assert protection.queue_required(Guarded(labels=QUEUED), ANYBODY, IN_REQUIRED) == ()


# -- stamps-are-ours, gate-needs-queue ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "key"), KEYS)
def test_a_new_pod_brings_no_stamp(part: str, key: str) -> None:
    texts = protection.stamps_are_ours(carrying(part, key, ""), ANYBODY)
    if key in (QUEUE_NAME, *WRITTEN_AT_CREATE):
        assert texts == ()
    else:
        assert [text.partition(": only")[0] for text in texts] == [f"stamps-are-ours: metadata.{part}[{key}]"]
    assert all(protection.stamps_are_ours(carrying(part, key, "x"), who) == () for who in TRUSTED)


def test_our_gate_needs_a_queue_and_that_of_others_does_not() -> None:
    lost = Guarded(gates=("other", GATE))
    assert protection.gate_needs_queue(lost, ANYBODY)[0].startswith("gate-needs-queue: spec.schedulingGates: ")
    assert protection.gate_needs_queue(Guarded(gates=(GATE,), labels=QUEUED), ANYBODY) == ()
    assert protection.gate_needs_queue(Guarded(gates=("other",)), ANYBODY) == ()
    assert all(protection.gate_needs_queue(lost, who) == () for who in TRUSTED)


# -- gate-is-ours, keys-are-ours, condition-is-ours --------------------------------------------------------------------


@pytest.mark.parametrize("who", Actor)
def test_only_the_trusted_open_our_gate(who: Actor) -> None:
    texts = protection.gate_is_ours(Guarded(gates=(GATE, "other")), Guarded(gates=("other",)), who)
    assert bool(texts) is (who not in TRUSTED)


def test_gates_of_others_come_and_go() -> None:
    assert protection.gate_is_ours(Guarded(gates=(GATE, "other")), Guarded(gates=(GATE,)), ANYBODY) == ()
    assert protection.gate_is_ours(Guarded(gates=("other",)), Guarded(), ANYBODY) == ()


@pytest.mark.parametrize(("part", "key"), KEYS)
@pytest.mark.parametrize(("before", "after"), list(itertools.permutations([None, "", "a", "b"], 2)))
def test_no_key_of_ours_is_changed_added_or_removed(part: str, key: str, before: str | None, after: str | None) -> None:
    old, new = carrying(part, key, before), carrying(part, key, after)
    for who in NOBODY_SPECIAL:
        (text,) = protection.keys_are_ours(old, new, who)
        assert text.startswith(f"keys-are-ours: metadata.{part}[{key}]: was ")
    assert all(protection.keys_are_ours(old, new, who) == () for who in TRUSTED)
    assert protection.keys_are_ours(old, old, ANYBODY) == ()


def test_a_change_of_keys_says_what_was_and_what_would_be() -> None:
    old, new = Guarded(labels={**QUEUED, "app": "a"}), Guarded(annotations={POLICIES: "x", "note": "b"})
    assert [text.partition("; ")[0] for text in protection.keys_are_ours(old, new, ANYBODY)] == [
        "keys-are-ours: metadata.labels[penstock.dev/queue-name]: was 'main' and would be absent",
        "keys-are-ours: metadata.annotations[penstock.dev/policies]: was absent and would be 'x'",
    ]


@pytest.mark.parametrize("who", Actor)
def test_only_the_trusted_say_why_a_pod_waits(who: Actor) -> None:
    said = {"type": "penstock.dev/Admissible", "status": "False", "reason": "NoQuota"}
    states = [(), (said,), ({**said, "reason": "Held"},), (said, said)]
    for old, new in itertools.permutations(states, 2):
        texts = protection.condition_is_ours(Guarded(said=old), Guarded(said=new), who)
        assert bool(texts) is (who not in TRUSTED)
    assert protection.condition_is_ours(Guarded(said=(said,)), Guarded(said=(dict(said),)), who) == ()


# -- no-growth ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "grows"),
    [
        ({"cpu": "1"}, {"cpu": "1001m"}, True),
        ({"cpu": "1"}, {"cpu": "1000m"}, False),
        ({"cpu": "1"}, {"cpu": "1.0000001"}, True),
        ({"cpu": "999.1m"}, {"cpu": "999.9m"}, False),  # both are charged as 1
        ({"cpu": "1"}, {}, False),
        ({}, {"cpu": "1m"}, True),
        ({}, {"cpu": "0"}, False),
        ({"memory": "1Gi"}, {"memory": "1024Mi"}, False),
        ({"memory": "1Gi", "cpu": "1"}, {"memory": "512Mi", "cpu": "2"}, True),
        ({"cpu": "1"}, {"cpu": "-1"}, True),
        ({"cpu": "1"}, {"cpu": "many"}, True),
        ({"cpu": "100E"}, {"cpu": "100E"}, False),
        ({"cpu": "100E"}, {"cpu": "2"}, False),  # was never charged: it held the pod back
    ],
)
def test_growth_is_what_would_be_charged_more(before: dict[str, str], after: dict[str, str], grows: bool) -> None:
    texts = protection.no_growth(asking(**before), asking(**after), ANYBODY)
    assert bool(texts) is grows, texts
    assert all(text.startswith(f"no-growth: {MAIN}.") for text in texts)


def test_growth_says_from_what_to_what() -> None:
    (text,) = protection.no_growth(asking(cpu="500m", memory="1Gi"), asking(cpu="1", memory="1Gi"), ANYBODY)
    assert text.startswith(f"no-growth: {MAIN}.cpu: would grow from 500m to 1, ")


def test_a_shift_between_containers_is_growth_of_one() -> None:
    other = "spec.initContainers[sidecar].resources.requests"
    old = Guarded(labels=QUEUED, requests={MAIN: {"cpu": "2"}, other: {"cpu": "1"}})
    new = Guarded(labels=QUEUED, requests={MAIN: {"cpu": "1"}, other: {"cpu": "2"}})
    (text,) = protection.no_growth(old, new, ANYBODY)
    assert text.startswith(f"no-growth: {other}.cpu: ")


@pytest.mark.parametrize(
    ("pod", "is_ours"),
    [
        (Guarded(labels=QUEUED), True),
        (Guarded(gates=(GATE,)), True),
        *((carrying(part, key, "x"), key not in WRITTEN_AT_CREATE) for part, key in KEYS),
        (Guarded(gates=("other",), labels={"app": "a"}), False),
    ],
)
def test_pods_that_are_not_ours_may_grow(pod: Guarded, is_ours: bool) -> None:
    grown = Guarded(requests={MAIN: {"cpu": "9"}})
    assert bool(protection.no_growth(pod, grown, ANYBODY)) is is_ours


@pytest.mark.parametrize("who", Actor)
def test_the_break_glass_group_alone_lets_a_pod_grow(who: Actor) -> None:
    texts = protection.no_growth(asking(cpu="1"), asking(cpu="2"), who)
    assert bool(texts) is (who is not Actor.BREAK_GLASS)


# -- binding-keys ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "key"), KEYS)
def test_a_binding_brings_none_of_our_keys(part: str, key: str) -> None:
    binding = carrying(part, key, "")
    assert protection.binding_keys(binding, ANYBODY)[0].startswith(f"binding-keys: metadata.{part}[{key}]: ")
    assert all(protection.binding_keys(binding, who) == () for who in TRUSTED)
    assert protection.binding_keys(carrying(part, "app", "x"), ANYBODY) == ()
