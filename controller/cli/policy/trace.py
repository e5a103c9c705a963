"""The webhook's answer for one pod, with all that led to it. The steps are the webhook's; here they are watched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from controller.cli.policy.apiserver import fill
from controller.cli.policy.candidates import Candidate, request_of
from controller.cli.policy.changes import Change, changes
from controller.cli.policy.selection import why_not
from controller.cli.policy.surroundings import NOT_ASKED, Surroundings
from controller.core.pod_policies import Mode, Outcome, Policy, Verdict
from controller.core.pod_policies import Result as PolicyResult
from webhook import directives
from webhook.cluster_world import ClusterWorld
from webhook.patching import applied
from webhook.pod_policies_step import apply_pod_policies
from webhook.queue_step import assign_queue
from webhook.review import Answer, Request
from webhook.runtime_class_step import assign_runtime_class
from webhook.scheduling_policies_step import apply_scheduling_policies
from webhook.stamps_step import strip_stamps
from webhook.steps import Step, stages

Object = Mapping[str, Any]

APISERVER: Final = "the apiserver"
TITLES: Final[Mapping[Step, str]] = {
    strip_stamps: "Penstock's own keys",
    assign_runtime_class: "RuntimeClass",
    apply_pod_policies: "Pod scheduling policies",
    apply_scheduling_policies: "Scheduling policies",
    assign_queue: "Queue",
}
"""What each step of the chain is about, for people."""


class Result(StrEnum):
    """What becomes of a pod: created as it is, created with changes, or not created."""

    ALLOWED = "allowed"
    CHANGED = "changed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PolicyTrace:
    """What one policy that concerns the pod did, or would do."""

    verdict: Verdict
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """One step: its answer, and what it changed."""

    title: str
    answer: Answer
    changes: tuple[Change, ...]
    policies: tuple[PolicyTrace, ...] = ()
    switch: str = ""
    """Of a step that is off: the option that switches it on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The whole answer. `before` is the pod as the webhook gets it, `pod` as it would be stored."""

    candidate: Candidate
    before: Object
    pod: Object
    stages: tuple[Stage, ...] = ()
    filled: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    unselected: tuple[tuple[Policy, str], ...] = ()
    faulty: tuple[str, ...] = ()
    denial: str | None = None
    refused_by: str | None = None

    @property
    def result(self) -> Result:
        """The answer in a word."""
        if self.denial is not None:
            return Result.REFUSED
        return Result.CHANGED if any(stage.answer.operations for stage in self.stages) else Result.ALLOWED

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever creates the pod is told; a refusal stands alone."""
        return () if self.denial is not None else tuple(w for stage in self.stages for w in stage.answer.warnings)


def trace(candidate: Candidate, surroundings: Surroundings, notes: tuple[str, ...] = ()) -> Trace:
    """Ask the webhook's steps about a pod that is being created. `notes` are for its reader. Raises Unusable."""
    request = request_of(candidate)
    namespace = candidate.namespace
    notes = (*candidate.remarks, *notes)
    if not surroundings.knows_namespace(namespace):
        surroundings.assume_namespace(namespace)
        notes += (f"namespace {namespace!r} is not known here, and taken for one without labels of its own",)
    filled = fill(request, surroundings)
    notes += filled.notes
    start = Trace(
        candidate=candidate,
        before=filled.pod,
        pod=filled.pod,
        filled=tuple(one for one in changes(request.pod, filled.pod) if one.path != "metadata.namespace"),
        notes=notes,
        denial=filled.denial,
        refused_by=APISERVER if filled.denial is not None else None,
    )
    if filled.denial is not None:
        return start
    if namespace in NOT_ASKED:
        note = f"the webhook is not asked about pods of namespace {namespace!r}, as config/ registers it"
        return replace(start, notes=(*notes, note))
    return _asked(start, replace(request, pod=filled.pod), surroundings)


def _asked(start: Trace, request: Request, surroundings: Surroundings) -> Trace:
    world = surroundings.world
    passed: list[Stage] = []
    pod, last, judged = request.pod, Answer(), None
    for step, seen, last in stages(request, world):
        judged = seen if step is apply_pod_policies else judged
        pod = applied(seen.pod, last.operations)
        passed.append(
            Stage(
                TITLES[step],
                last,
                tuple(changes(seen.pod, pod)) if last.operations else (),
                tuple(_policies(seen.pod, last.outcome)) if last.outcome is not None else (),
                switch=_switch(step, world),
            )
        )
    return replace(
        start,
        pod=pod,
        stages=tuple(passed),
        unselected=tuple(_unselected(judged, surroundings)) if judged is not None else (),
        faulty=tuple(surroundings.faults),
        denial=last.denial,
        refused_by=passed[-1].title if last.denial is not None else None,
    )


def _switch(step: Step, world: ClusterWorld) -> str:
    if step is assign_runtime_class and world.runtime_classes is None:
        return "--runtime-classes"
    if step is apply_scheduling_policies and world.account_policies is None:
        return "--scheduling-policies"
    return ""


def _policies(pod: Object, outcome: Outcome) -> Iterator[PolicyTrace]:
    """Each verdict with what it changed, made visible by the patch that the webhook writes for the whole."""
    before = directives.read(pod["spec"])
    if before is None:
        return
    for verdict in outcome.verdicts:
        after = verdict.merge.pod
        result = applied(pod, directives.patch(pod["spec"], before, after))
        yield PolicyTrace(verdict, tuple(changes(pod, result)))
        if verdict.policy.mode is Mode.ENFORCE and verdict.result is not PolicyResult.REFUSED:
            pod, before = result, after


def _unselected(request: Request, surroundings: Surroundings) -> Iterator[tuple[Policy, str]]:
    """Policies that might concern pods of the namespace, and not this one as their step sees it."""
    labels = (request.pod.get("metadata") or {}).get("labels") or {}
    of_namespace = surroundings.world.namespace_labels(request.namespace)
    for policy in surroundings.policies:
        if policy.namespace in ("", request.namespace):
            reason = why_not(policy, request.namespace, of_namespace, labels)
            if reason is not None:
                yield policy, reason
