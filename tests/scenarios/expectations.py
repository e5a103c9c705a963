"""What a step must have come to, held to what it came to. Each fault is one line: what was expected, what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, UnsetType

from controller.core.kubernetes.amounts import QuantityError, demand_amount, format_amount
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Admit
from controller.runtime import local_queue_status, queue_status, status
from controller.visibility.editing import Case
from controller.visibility.explanations import remedies
from controller.visibility.trials import Remedy
from tests.scenarios.events import Stage
from tests.scenarios.model import ScenarioError, Step
from tests.scenarios.world import Waiting

NOWHERE = "no node"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step came to: admissions in order, who waits, and who was evicted and why."""

    admitted: list[tuple[str, Admit]]
    waits: dict[str, Waiting]
    evicted: dict[str, str]


def faults(stage: Stage, step: Step, outcome: Outcome) -> list[str]:
    """Return a line for everything that is not as the step says. What a step does not say does not happen."""
    return [
        *_admitted(stage, _given(step.admitted), outcome),
        *_order(stage, step.order, outcome),
        *_waiting(stage, _given(step.waiting), outcome),
        *_remedies(stage, _given(step.remedies)),
        *_evicted(stage, _given(step.evicted), outcome),
        *_usage(stage, _given(step.usage)),
        *_status(stage, _given(step.status)),
    ]


def _given(value: Mapping[str, Any] | UnsetType) -> Mapping[str, Any]:
    return {} if isinstance(value, UnsetType) else value


def where(admit: Admit) -> str:
    """`spot on node-1`, or `spot or on-demand on node-1` where both are open to it."""
    return f"{' or '.join(admit.flavors or (admit.flavor,))} on {admit.node or NOWHERE}"


def sentence(wait: Waiting) -> str:
    """`QuotaExceeded: flavor spot: needs …`."""
    return f"{wait.reason.value}: {wait.text}"


def _expand(stage: Stage, expected: Mapping[str, str]) -> dict[str, str]:
    """What is expected of each pod; a group or range speaks for the members that are not named themselves."""
    result: dict[str, str] = {}
    for given, text in expected.items():
        result.update({name: text for name in stage.meant(given) if name == given or name not in expected})
    return result


def _admitted(stage: Stage, expected: Mapping[str, str], outcome: Outcome) -> Iterator[str]:
    found = {name: where(admit) for name, admit in outcome.admitted}
    wanted = _expand(stage, expected)
    for name, text in wanted.items():
        have = found.get(name)
        if have is None:
            yield f"{name}: expected to be admitted onto {text}; it {_instead(stage, name, outcome)}"
        elif text not in (have, have.partition(" on ")[0]):
            yield f"{name}: expected to be admitted onto {text}; went onto {have}"
    yield from (
        f"{name}: was admitted onto {have}, which is not expected" for name, have in found.items() if name not in wanted
    )


def _instead(stage: Stage, name: str, outcome: Outcome) -> str:
    if name in outcome.waits:
        return f"waits: {sentence(outcome.waits[name])}"
    return "does not wait either" if name in stage.cluster.pods else "is not there"


def _order(stage: Stage, expected: list[str] | UnsetType, outcome: Outcome) -> Iterator[str]:
    if expected is UNSET or isinstance(expected, UnsetType):
        return
    wanted = stage.names(expected)
    found = [name for name, _ in outcome.admitted if name in wanted]
    if found != wanted:
        yield f"order: expected {', '.join(wanted)}; was {', '.join(found) or 'nobody'}"


def _waiting(stage: Stage, expected: Mapping[str, str], outcome: Outcome) -> Iterator[str]:
    wanted = _expand(stage, expected)
    for name, text in wanted.items():
        reason = text.partition(":")[0]
        if reason not in list(Reason):
            raise ScenarioError(f"waiting: {name}: {reason!r} is no reason; there are {', '.join(Reason)}")
        wait = outcome.waits.get(name)
        if wait is None:
            yield f"{name}: expected to wait with {text}; it does not wait"
        elif text not in (wait.reason.value, sentence(wait)):
            yield f"{name}: expected to wait with\n      {text}\n    waits with\n      {sentence(wait)}"
    yield from (
        f"{name}: waits with {sentence(wait)}; that it waits is not expected"
        for name, wait in outcome.waits.items()
        if name not in wanted
    )


def _remedies(stage: Stage, expected: Mapping[str, list[str]]) -> Iterator[str]:
    cache = stage.cluster.cache
    for name, wanted in expected.items():
        workload = cache.backlog.of_pod(stage.cluster.pod(name).uid)
        if workload is None:
            yield f"{name}: expected to wait, with remedies; it does not wait"
            continue
        found = [remedy(one) for one in remedies(Case(cache.snapshot(), workload))]
        if found != wanted:
            lines = "\n      ".join(found) or "none"
            yield f"{name}: expected the remedies\n      {wanted}\n    there are\n      {lines}"


def remedy(one: Remedy) -> str:
    """What is to be done, and where that does not let the workload in, for which reason it waits then."""
    return one.text if one.admits else f"{one.text} -> {one.verdict.reason}"


def _evicted(stage: Stage, expected: Mapping[str, str], outcome: Outcome) -> Iterator[str]:
    wanted = _expand(stage, expected)
    for name, text in wanted.items():
        found = outcome.evicted.get(name, "nothing: it is not evicted")
        if not found.startswith(text):
            yield f"{name}: expected to be evicted with\n      {text}\n    is evicted with\n      {found}"
    yield from (
        f"{name}: is evicted with {found}, which is not expected"
        for name, found in outcome.evicted.items()
        if name not in wanted
    )


def _usage(stage: Stage, expected: Mapping[str, Mapping[str, Mapping[str, str | int]]]) -> Iterator[str]:
    for queue, flavors in expected.items():
        for flavor, amounts in flavors.items():
            for resource, text in amounts.items():
                used = stage.cluster.cache.usage.by_queue.get((queue, flavor, resource), 0)
                try:
                    wanted = demand_amount(resource, text)
                except QuantityError as error:
                    raise ScenarioError(f"usage.{queue}.{flavor}.{resource}: {error}") from None
                if used != wanted:
                    have = format_amount(resource, used)
                    yield f"usage: expected {queue} to use {text} {resource} of {flavor}; it uses {have}"


def _status(stage: Stage, expected: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for subject, fields in expected.items():
        found = read_status(stage, subject)
        for name, wanted in fields.items():
            yield from _compare(f"status of {subject}: {name}", wanted, found.get(name))


def _compare(where_: str, wanted: Any, found: Any) -> Iterator[str]:
    """Hold an expected part to what is there: fields that are not named are not looked at."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name, value in wanted.items():
            yield from _compare(f"{where_}.{name}", value, found.get(name))
    elif isinstance(wanted, str) and isinstance(found, str) and found.startswith(f"{wanted}: "):
        return  # a condition without its message
    elif wanted != found:
        yield f"{where_}: expected {wanted!r}; is {found!r}"


def read_status(stage: Stage, subject: str) -> dict[str, Any]:
    """Return the status of `Kind/name`, budgets by name, conditions as one text a type: `False: Stopped: …`."""
    kind, _, name = subject.partition("/")
    namespace, _, name = name.rpartition("/")
    written, cache, now = stage.cluster.written, stage.cluster.cache, stage.cluster.now
    tables = {
        "ResourceFlavor": (written.flavors, status.flavor_status),
        "ClusterQueue": (written.cluster_queues, queue_status.cluster_queue_status),
        "WorkloadPriorityClass": (written.priority_classes, status.priority_class_status),
        "LocalQueue": (written.local_queues, local_queue_status.local_queue_status),
    }
    if kind not in tables:
        raise ScenarioError(f"status: {subject}: must begin with one of {', '.join(tables)}")
    entries, of = tables[kind]
    entry = entries.get((namespace, name))
    if entry is None:
        raise ScenarioError(f"status: {subject}: is not there")
    found = of(cache, entry, now)
    conditions = {c["type"]: f"{c['status']}: {c['reason']}: {c['message']}" for c in found["conditions"]}
    return {**found, "conditions": conditions, "budgets": {one["name"]: one for one in found.get("budgets", ())}}
