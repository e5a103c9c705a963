"""The webhook's answer for one pod, with all that led to it. The steps are the webhook's; here they are watched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from controller.cli.policy.accounts import AccountTrace, account_trace
from controller.cli.policy.apiserver import fill
from controller.cli.policy.candidates import JudgedPod, made_from, request_of
from controller.cli.policy.changes import Change, changes
from controller.cli.policy.kueue_unsupported import is_queued, unsupported
from controller.cli.policy.selection import why_not
from controller.cli.policy.surroundings import NOT_ASKED, UNASKED, Surroundings
from controller.cli.policy.templates import written
from controller.cli.policy.workloads import deadline_in_queue, held_as_a_whole, labelled_in_vain
from controller.core.keys import DEFAULT_QUEUE
from controller.core.pod_policies.policies import Mode, Outcome, Policy, Target, Verdict
from controller.core.pod_policies.policies import Result as PolicyResult
from webhook.checks.chain import judge_by_policies
from webhook.checks.protection import protection_check
from webhook.pods import directives
from webhook.reviews.admission import Answer, Request
from webhook.reviews.patching import applied
from webhook.steps.chain import Step, stages
from webhook.steps.kueue_labels import mutate_owner
from webhook.steps.pod_policies import apply_pod_policies
from webhook.steps.queue import assign_queue
from webhook.steps.runtime_class import assign_runtime_class
from webhook.steps.scheduling_policies import apply_scheduling_policies
from webhook.steps.stamps import strip_stamps
from webhook.steps.templates import mutate_template
from webhook.world.cluster import ClusterLookups

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
WORKLOAD: Final = "Held Jobs, Kueue's labels, and the user"
TEMPLATE: Final = "Pod scheduling policies for templates"
PROTECTION: Final = "Protection of the gate"
"""Shown when it refuses the pod: no policy has a part in it."""
JUDGEMENT: Final = "Scheduling policies' check"
"""The checks of the finished pod: of those at create only SchedulingPolicies have one."""


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
    unselected: tuple[tuple[Policy, str], ...] = ()
    """Policies that might be for the pod, or template, and are not, and why."""
    account: AccountTrace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The whole answer. `before` is the pod as the webhook gets it, `pod` as it would be stored.

    `workload` is what was done to a workload when it was written, if anything, and `template` what policies did to its
    template, where one might be for it.
    """

    candidate: JudgedPod
    before: Object
    pod: Object
    workload: Stage | None = None
    template: Stage | None = None
    stages: tuple[Stage, ...] = ()
    filled: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    faulty: tuple[str, ...] = ()
    denial: str | None = None
    refused_by: str | None = None

    @property
    def result(self) -> Result:
        """The answer in a word."""
        if self.denial is not None:
            return Result.REFUSED
        return Result.CHANGED if any(stage.answer.operations for stage in self._all) else Result.ALLOWED

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever creates the pod is told; a refusal stands alone."""
        return () if self.denial is not None else tuple(w for stage in self._all for w in stage.answer.warnings)

    @property
    def unselected(self) -> tuple[tuple[Policy, str], ...]:
        """Policies that might concern the pod or its template, and do not, and why."""
        return tuple(one for stage in self._all for one in stage.unselected)

    @property
    def _all(self) -> tuple[Stage, ...]:
        return (*(one for one in (self.workload, self.template) if one is not None), *self.stages)


def trace(candidate: JudgedPod, surroundings: Surroundings, notes: tuple[str, ...] = ()) -> Trace:
    """Ask the webhook's steps about a pod that is being created. `notes` are for its reader. Raises Unusable."""
    namespace = candidate.namespace
    notes = (*candidate.remarks, *notes)
    if not surroundings.knows_namespace(namespace):
        surroundings.assume_namespace(namespace)
        notes += (f"namespace {namespace!r} is not known here, and taken for one without labels of its own",)
    if surroundings.judges_accounts_unasked and namespace not in NOT_ASKED:
        notes += (UNASKED,)
    workload = template = None
    if namespace not in NOT_ASKED:
        workload, candidate = _workload(candidate, surroundings)
        if candidate.workload is not None:
            notes += held_as_a_whole(candidate.workload)
            notes += _warned_of(candidate.workload, surroundings.world.namespace_labels(namespace))
        template, candidate = _template(candidate, surroundings)
        if template is not None and template.answer.denial is not None:
            return _refused_workload(candidate, workload, template, surroundings, notes)
    request = request_of(candidate)
    filled = fill(request, surroundings)
    notes += filled.notes
    start = Trace(
        candidate=candidate,
        before=filled.pod,
        pod=filled.pod,
        workload=workload,
        template=template,
        filled=tuple(one for one in changes(request.pod, filled.pod) if one.path != "metadata.namespace"),
        notes=notes,
        denial=filled.denial,
        refused_by=APISERVER if filled.denial is not None else None,
    )
    if filled.denial is not None:
        return start
    if namespace in NOT_ASKED:
        note = f"the webhook is not called for pods of namespace {namespace!r}, as config/ registers it"
        return replace(start, notes=(*notes, note))
    return _asked(start, replace(request, pod=filled.pod), surroundings)


def _warned_of(workload: Object, namespace_labels: Mapping[str, str]) -> tuple[str, ...]:
    """What `config/warnings` says to who writes the workload."""
    waits = is_queued(workload, has_default_queue=DEFAULT_QUEUE in namespace_labels)
    of_kueue = unsupported(workload) if waits else ()
    return (*labelled_in_vain(workload), *deadline_in_queue(workload), *of_kueue)


def _workload(candidate: JudgedPod, surroundings: Surroundings) -> tuple[Stage | None, JudgedPod]:
    """What becomes of a workload when it is written, before policies for templates see it; and the pod made from it.

    The apiserver asks webhooks in the order of their registrations' names, and admission policies before any of them.
    """
    if candidate.workload is None:
        return None, candidate
    _, answer, stored = written(candidate, candidate.workload, mutate_owner, surroundings.world)
    if not answer.operations:
        return None, candidate
    return Stage(WORKLOAD, answer, tuple(changes(candidate.workload, stored))), made_from(candidate, stored)


def _template(candidate: JudgedPod, surroundings: Surroundings) -> tuple[Stage | None, JudgedPod]:
    """What policies make of the template when the workload is written, and the pod made from it then."""
    workload = candidate.workload
    if workload is None or not any(one.namespace in ("", candidate.namespace) for one in surroundings.for_templates):
        return None, candidate
    seen, answer, stored = written(candidate, workload, mutate_template, surroundings.world)
    stage = Stage(
        TEMPLATE,
        answer,
        tuple(changes(workload, stored)) if answer.operations else (),
        tuple(_policies(seen.pod, answer.outcome)) if answer.outcome is not None else (),
        unselected=tuple(_unselected(seen, surroundings, Target.POD_TEMPLATES)),
    )
    return stage, made_from(candidate, stored) if answer.operations else candidate


def _refused_workload(
    candidate: JudgedPod, workload: Stage | None, template: Stage, surroundings: Surroundings, notes: tuple[str, ...]
) -> Trace:
    return Trace(
        candidate=candidate,
        before=candidate.pod,
        pod=candidate.pod,
        workload=workload,
        template=template,
        notes=notes,
        faulty=tuple(surroundings.faults),
        denial=template.answer.denial,
        refused_by=template.title,
    )


def _asked(start: Trace, request: Request, surroundings: Surroundings) -> Trace:
    passed: list[Stage] = []
    pod, last = request.pod, Answer()
    for step, seen, last in stages(request, surroundings.world):
        pod = applied(seen.pod, last.operations)
        passed.append(_stage(step, seen, last, pod, surroundings, start.candidate))
    if last.denial is None:
        pod = surroundings.with_priority(pod)
        finished = replace(request, pod=pod)
        last = protection_check(finished, surroundings.world)
        if last.denial is not None:
            passed.append(Stage(PROTECTION, last, ()))
        else:
            last = judge_by_policies(finished, surroundings.world)
            if surroundings.judges_accounts:
                passed.append(Stage(JUDGEMENT, last, ()))
    written = {"apiVersion": "v1", "kind": "Pod", **pod}
    is_told = start.candidate.workload is None and is_queued(written, has_default_queue=False)
    return replace(
        start,
        pod=pod,
        stages=tuple(passed),
        notes=(*start.notes, *(unsupported(written) if is_told else ())),
        faulty=tuple(surroundings.faults),
        denial=last.denial,
        refused_by=passed[-1].title if last.denial is not None else None,
    )


def _stage(
    step: Step, seen: Request, answer: Answer, pod: Object, surroundings: Surroundings, candidate: JudgedPod
) -> Stage:
    is_pod = candidate.workload is None
    others = _unselected(seen, surroundings, Target.PODS, is_pod=is_pod) if step is apply_pod_policies else ()
    return Stage(
        TITLES[step],
        answer,
        tuple(changes(seen.pod, pod)) if answer.operations else (),
        tuple(_policies(seen.pod, answer.outcome)) if answer.outcome is not None else (),
        switch=_switch(step, surroundings.world),
        unselected=tuple(others),
        account=account_trace(seen, surroundings) if step is apply_scheduling_policies else None,
    )


def _switch(step: Step, world: ClusterLookups) -> str:
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


def _unselected(
    request: Request, surroundings: Surroundings, target: Target, *, is_pod: bool = False
) -> Iterator[tuple[Policy, str]]:
    """Policies that might concern what is in the namespace, and not this pod or template as its step sees it.

    Those for templates were told of at the template, where there is one; a pod that is written as such has none.
    """
    labels = (request.pod.get("metadata") or {}).get("labels") or {}
    of_namespace = surroundings.world.namespace_labels(request.namespace)
    for policy in surroundings.policies:
        if policy.namespace not in ("", request.namespace):
            continue
        if policy.target is not target:
            if is_pod:
                yield policy, "target is PodTemplates: it is for the templates of workloads, and this is a pod"
            continue
        reason = why_not(policy, request.namespace, of_namespace, labels)
        if reason is not None:
            yield policy, reason
