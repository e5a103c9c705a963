"""The rules that keep the gate ours: who may open it, write our keys and condition, or grow what is charged.

One function a rule, from what a request would change and who asks, to what is wrong with it; no answer, no fault. Each
text is `<rule>: <path>: <what>; <what to do>`. `config/policy` says the same in CEL, and one table of requests holds
both to it (`tests/integration/protection`). Pods that are being deleted are no exception: with a long grace period one
runs on for as long as it likes, and taking a finalizer off touches nothing that is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final

from controller.core.gate.kueue_labels import are_accepted, labels_of_pod
from controller.core.keys import (
    CONDITION,
    GATE,
    QUEUE_NAME,
    QUEUEING,
    REQUIRED,
    STAMPED_ANNOTATIONS,
    STAMPED_LABELS,
    USER,
    WRITTEN_AT_CREATE,
)
from controller.core.kubernetes.amounts import QuantityError, format_amount
from controller.core.kubernetes.demand import Quantities, asked_amounts


class Rule(StrEnum):
    """Names of the rules: in messages, in `docs/protection.md`, in the policies of `config/policy`, in tests."""

    GATE_REQUIRED = "gate-required"
    QUEUE_REQUIRED = "queue-required"
    STAMPS_ARE_OURS = "stamps-are-ours"
    GATE_NEEDS_QUEUE = "gate-needs-queue"
    GATE_IS_OURS = "gate-is-ours"
    KEYS_ARE_OURS = "keys-are-ours"
    CONDITION_IS_OURS = "condition-is-ours"
    NO_GROWTH = "no-growth"
    BINDING_KEYS = "binding-keys"
    USER_IS_TRUE = "user-is-true"
    JOB_IS_HELD = "job-is-held"
    TEMPLATE_IS_FIXED = "template-is-fixed"


_NO_LABELS: Mapping[str, str] = {}


class Actor(Enum):
    """Who asks, as far as the rules care; nodes and controllers of Kubernetes only while they make such pods."""

    ANYBODY = "anybody"
    CONTROLLER = "controller"
    BREAK_GLASS = "break-glass"
    MIRRORING_NODE = "mirroring node"
    DAEMON_SET_CONTROLLER = "daemon set controller"
    ADMITTED_JOB = "job controller, for an admitted Job"

    @property
    def is_trusted(self) -> bool:
        """Whether the actor may write what is ours."""
        return self in (Actor.CONTROLLER, Actor.BREAK_GLASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What is guarded of a pod; of a Binding only its labels and annotations.

    `said` is our condition as JSON, as often as it is there. `requests` is by path, such as
    `spec.containers[main].resources.requests`.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    gates: tuple[str, ...] = ()
    node: str = ""
    said: tuple[Mapping[str, Any], ...] = ()
    requests: Mapping[str, Quantities] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether the pod names a queue, waits at our gate, or was admitted."""
        return GATE in self.gates or any(key not in WRITTEN_AT_CREATE for _, key in _present(self))


Texts = tuple[str, ...]

_LABELS = (QUEUE_NAME, *STAMPED_LABELS)
_KEYS = (*(("labels", key) for key in _LABELS), *(("annotations", key) for key in STAMPED_ANNOTATIONS))
"""All that only we may change: (part of the metadata, key)."""

STAMPS: Final = tuple((part, key) for part, key in _KEYS if key != QUEUE_NAME and key not in WRITTEN_AT_CREATE)
"""What only Penstock writes, when it admits a pod or Job: (part of the metadata, key)."""


def stamps_on(metadata: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the stamps in the labels and annotations of this metadata."""
    return tuple((part, key) for part, key in STAMPS if key in (metadata.get(part) or {}))


def gate_required(pod: Guarded, who: Actor, namespace_labels: Mapping[str, str] = _NO_LABELS) -> Texts:
    """CREATE: a pod that names a queue waits at our gate, unless it is static, of a daemon set or of an admitted Job.

    Where the namespace has Kueue's labels accepted, a queue is named by them too.
    """
    theirs = labels_of_pod(pod.labels).get(QUEUE_NAME) if are_accepted(namespace_labels) else None
    queue = pod.labels.get(QUEUE_NAME, theirs)
    if queue is None or GATE in pod.gates or who is not Actor.ANYBODY:
        return ()
    if pod.node:
        what = f"{pod.node!r} cannot be set on a pod of queue {queue!r}: a pod on a node cannot wait"
        return (_text(Rule.GATE_REQUIRED, "spec.nodeName", what, f"remove spec.nodeName, or the label {QUEUE_NAME}"),)
    what = f"a pod of queue {queue!r} needs the gate {GATE}, or it would run without quota"
    return (_text(Rule.GATE_REQUIRED, "spec.schedulingGates", what, _GATE_ADVICE),)


def queue_required(pod: Guarded, who: Actor, namespace_labels: Mapping[str, str]) -> Texts:
    """CREATE: where the namespace says so no pod is outside a queue, but for static pods: they run already."""
    is_let_by = who.is_trusted or who in (Actor.MIRRORING_NODE, Actor.ADMITTED_JOB)
    if is_let_by or namespace_labels.get(QUEUEING) != REQUIRED:
        return ()
    because = f"the namespace has the label {QUEUEING}={REQUIRED}"
    if QUEUE_NAME not in pod.labels:
        advice = "name a LocalQueue of the namespace, or create the pod in another namespace"
        return (_text(Rule.QUEUE_REQUIRED, _path("labels", QUEUE_NAME), f"{because}, and the pod has none", advice),)
    if who is Actor.DAEMON_SET_CONTROLLER and GATE not in pod.gates:
        what = f"{because}, and pods of daemon sets cannot wait at the gate {GATE}"
        return (_text(Rule.QUEUE_REQUIRED, "spec.schedulingGates", what, "run the daemon set in another namespace"),)
    return ()  # whether everybody else's pod has the gate is gate_required's to say


def stamps_are_ours(pod: Guarded, who: Actor) -> Texts:
    """CREATE: our stamps are not on new pods, but on those that were admitted with their Job.

    What is written at create may be: templates bring it, steps mend it.
    """
    if who.is_trusted or who is Actor.ADMITTED_JOB:
        return ()
    return tuple(
        _text(Rule.STAMPS_ARE_OURS, _path(part, key), "only Penstock writes this, when it admits the pod", "remove it")
        for part, key in _present(pod)
        if key != QUEUE_NAME and key not in WRITTEN_AT_CREATE
    )


def user_is_true(pod: Guarded, who: Actor, user: str) -> Texts:
    """CREATE: a pod of a queue is noted as that of `user`, or of nobody: what runs at whose charge is not forged."""
    noted = pod.annotations.get(USER)
    if QUEUE_NAME not in pod.labels or noted is None or noted == user or who.is_trusted:
        return ()
    what = f"says {noted!r}, and the pod's user is {user!r}"
    return (_text(Rule.USER_IS_TRUE, _path("annotations", USER), what, "leave it out: Penstock writes it"),)


def gate_needs_queue(pod: Guarded, who: Actor) -> Texts:
    """CREATE: nobody would ever open our gate on a pod that names no queue."""
    if GATE not in pod.gates or QUEUE_NAME in pod.labels or who.is_trusted:
        return ()
    what = f"the gate {GATE} is on a pod that names no queue, so it would never be opened"
    advice = f"remove the gate, or add the label {QUEUE_NAME}"
    return (_text(Rule.GATE_NEEDS_QUEUE, "spec.schedulingGates", what, advice),)


def gate_is_ours(old: Guarded, new: Guarded, who: Actor) -> Texts:
    """UPDATE: our gate goes only when Penstock admits the pod."""
    if GATE not in old.gates or GATE in new.gates or who.is_trusted:
        return ()
    what = f"only Penstock removes the gate {GATE}, when it admits the pod"
    return (_text(Rule.GATE_IS_OURS, "spec.schedulingGates", what, f"leave it there; {_BREAK_GLASS}"),)


def keys_are_ours(old: Guarded, new: Guarded, who: Actor) -> Texts:
    """UPDATE of the pod or its status: the queue's name and what Penstock writes stay, for the life of the pod."""
    if who.is_trusted:
        return ()
    texts = []
    for part, key in _KEYS:
        before, after = _value(old, part, key), _value(new, part, key)
        if before != after:
            what = f"was {_quoted(before)} and would be {_quoted(after)}; {_WHOSE[key == QUEUE_NAME]}"
            texts.append(_text(Rule.KEYS_ARE_OURS, _path(part, key), what, f"leave it as it was; {_BREAK_GLASS}"))
    return tuple(texts)


def condition_is_ours(old: Guarded, new: Guarded, who: Actor) -> Texts:
    """UPDATE of the status: why a pod waits is said by Penstock alone. Conditions of others are free."""
    if old.said == new.said or who.is_trusted:
        return ()
    what = "only Penstock writes this condition"
    return (_text(Rule.CONDITION_IS_OURS, f"status.conditions[{CONDITION}]", what, "leave it as it was"),)


def no_growth(old: Guarded, new: Guarded, who: Actor) -> Texts:
    """UPDATE of pods/resize: no request of a pod that is ours grows, in the amounts that are charged.

    By container, not by their sum: while a shift between containers is carried out both are charged (KEP-1287). Not
    even the controller may do this: it has no cause.
    """
    if not old.is_ours or who is Actor.BREAK_GLASS:
        return ()
    texts: list[str] = []
    for path, quantities in new.requests.items():
        texts += _growth(path, old.requests.get(path, {}), quantities)
    return tuple(texts)


def binding_keys(binding: Guarded, who: Actor) -> Texts:
    """CREATE of a Binding: its labels and annotations go over to the pod, so none of ours is among them."""
    if who.is_trusted:
        return ()
    what = "labels and annotations of a Binding go over to the pod, and only Penstock writes this"
    return tuple(_text(Rule.BINDING_KEYS, _path(part, key), what, "remove it") for part, key in _present(binding))


_BREAK_GLASS = "administrators do it as the break-glass group"
_GATE_ADVICE = "create it again: Penstock adds the gate"
_WHOSE = {True: "the queue of a pod cannot be changed", False: "only Penstock writes this"}


def _growth(path: str, old: Quantities, new: Quantities) -> Texts:
    texts = []
    for resource, text in new.items():
        if text == old.get(resource):
            continue
        where = f"{path}.{resource}"
        try:
            amount = asked_amounts(path, {resource: text})[resource]
        except QuantityError as error:
            texts.append(f"{Rule.NO_GROWTH}: {error}")
            continue
        before = _charged(path, resource, old)
        if before is not None and amount > before:
            amounts = f"{format_amount(resource, before)} to {format_amount(resource, amount)}"
            what = f"would grow from {amounts}, and more was not admitted by the pod's queue"
            texts.append(_text(Rule.NO_GROWTH, where, what, "shrink it, or create a pod that asks for more"))
    return tuple(texts)


def _charged(path: str, resource: str, quantities: Quantities) -> int | None:
    """Return the amount so far; None for what was too large to be charged: it held the pod back, and less may not."""
    if resource not in quantities:
        return 0
    try:
        return asked_amounts(path, {resource: quantities[resource]})[resource]
    except QuantityError:
        return None


def _present(pod: Guarded) -> tuple[tuple[str, str], ...]:
    return tuple((part, key) for part, key in _KEYS if _value(pod, part, key) is not None)


def _value(pod: Guarded, part: str, key: str) -> str | None:
    return (pod.labels if part == "labels" else pod.annotations).get(key)


def _quoted(value: str | None) -> str:
    return "absent" if value is None else repr(value)


def _path(part: str, key: str) -> str:
    return f"metadata.{part}[{key}]"


def _text(rule: Rule, path: str, what: str, advice: str) -> str:
    return f"{rule}: {path}: {what}; {advice}"
