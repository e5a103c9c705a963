"""What happened to a pod, step by step, read from the pod itself. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from controller.history.runs import Run, run_of, state_of
from controller.kube.clock import epoch, rfc3339
from controller.kube.decode import PodDecoder


class Step(Struct, frozen=True, rename="camel"):
    """`what` is Created, Admitted, Bound, Started or the outcome; `at` is RFC 3339, empty: nobody knows when."""

    what: str
    at: str
    detail: str = ""


class Timeline(Struct, frozen=True, rename="camel"):
    """A pod of a queue: how it stands, and what happened to it so far. `queue` empty: it names none."""

    namespace: str
    name: str
    uid: str
    state: str
    queue: str
    steps: tuple[Step, ...]


class _Condition(Struct, rename="camel"):
    type: str
    status: str
    last_transition_time: str = ""


class _Status(Struct):
    conditions: list[_Condition] | None = None


class _Conditions(Struct):
    """As much of a pod as says when it was bound."""

    status: _Status = msgspec.field(default_factory=_Status)


def timeline(body: bytes) -> Timeline:
    """Read a pod. Raises UnreadableObject where it is none."""
    pod = PodDecoder()(body)
    run = run_of(pod, lambda flavor: {})
    if run is None:
        return Timeline(pod.namespace, pod.name, pod.uid, "", "", ())
    steps = tuple(_steps(run, _bound_at(body)))
    return Timeline(pod.namespace, pod.name, pod.uid, state_of(run), run.charged_to.local_queue, steps)


def _bound_at(body: bytes) -> float:
    found = msgspec.json.decode(body, type=_Conditions).status.conditions or ()
    times = (one.last_transition_time for one in found if one.type == "PodScheduled" and one.status == "True")
    return epoch(next(times, None))


def _steps(run: Run, bound_at: float) -> Iterator[Step]:
    whose = run.charged_to
    yield Step("Created", rfc3339(run.created), f"by {whose.user}" if whose.user else "")
    if run.admitted:
        onto = f" onto flavor {whose.flavor}" if whose.flavor else ""
        yield Step("Admitted", rfc3339(run.admitted), f"by ClusterQueue {whose.cluster_queue}{onto}")
    if run.node:
        yield Step("Bound", rfc3339(bound_at) if bound_at else "", f"to node {run.node}")
    if run.started:
        yield Step("Started", rfc3339(run.started))
    if run.outcome:
        yield Step(run.outcome.value, rfc3339(run.ended) if run.ended else "")
