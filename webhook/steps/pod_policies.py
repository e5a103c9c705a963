"""Step: merge the pod scheduling policies that concern a pod into it, and note them in its annotation.

Asked again about its own result (reinvocation), it finds nothing to change: a name stays noted while the pod still
holds what its policy wants, and any other name is removed, so nothing that a user copied or wrote there is believed. A
pod that a controller makes brings the annotation of its template: what policies for templates gave it stays noted as
long, and nobody is warned of what goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.core.keys import DEFAULT_QUEUE, QUEUE_NAME
from controller.core.kubernetes.directives import Directives
from controller.core.pod_policies.merging import for_fixed_template, merge
from controller.core.pod_policies.policies import Mode, Outcome, Policy, Result, Verdict, apply, order_key
from webhook.pods import directives
from webhook.pods.creators import has_controller, is_mirror_pod
from webhook.pods.noted import entries, with_entries
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups


def apply_pod_policies(request: Request, world: ReviewLookups) -> Answer:
    """Give the pod what its policies want, or refuse it, or only tell."""
    if is_mirror_pod(request):
        return NOTHING
    policies = world.pod_policies(request.namespace)
    if not has_controller(request):
        return merge_policies(request, world, policies)
    from_template = world.template_policies(request.namespace)
    return merge_policies(
        request, world, policies, from_template=from_template, known=entries(request.pod, scheduling=False)
    )


def merge_policies(
    request: Request,
    world: ReviewLookups,
    policies: Collection[Policy],
    *,
    noun: str = "pod",
    from_template: Iterable[Policy] = (),
    known: Collection[str] = (),
    is_fixed: bool = False,
) -> Answer:
    """Merge those of the policies that select the request's pod, or template, into it. Paths begin at the pod.

    `noun` is what texts call it. Those of `from_template` stay noted where the pod brings them; when a name of `known`
    goes, nobody is warned. `is_fixed`: what cannot be changed of a suspended Job's template is not given, and nodeName
    becomes node affinity.
    """
    if not policies and not entries(request.pod, scheduling=False):
        return NOTHING
    spec: Mapping[str, Any] = request.pod.get("spec") or {}
    if (pod := directives.read(spec)) is None:
        return NOTHING
    outcome = Outcome(pod, noun=noun)
    if policies:
        chosen = _selected(request, world, policies)
        if is_fixed:
            chosen = [replace(one, directives=for_fixed_template(one.directives, pod)) for one in chosen]
        is_held = _is_held(request, world) or (is_fixed and not pod.node_name)
        outcome = apply(pod, chosen, is_held=is_held, noun=noun)
    counted = tuple((verdict.policy.key, verdict.result.value) for verdict in outcome.verdicts)
    if outcome.refusal is not None:
        return Answer(denial=outcome.refusal, counted=counted, audit=_audit(outcome), outcome=outcome)
    right = _right(request, world, outcome, from_template)
    operations, stripped = with_entries(request.pod, right, scheduling=False, known=known)
    return Answer(
        operations=(*directives.patch(spec, pod, outcome.pod), *operations),
        warnings=(*stripped, *_warnings(outcome)),
        audit=_audit(outcome),
        counted=counted,
        outcome=outcome,
    )


def _right(request: Request, world: ReviewLookups, outcome: Outcome, from_template: Iterable[Policy]) -> list[str]:
    """The names that are rightly noted on the pod."""
    noted = entries(request.pod, scheduling=False)
    brought = [policy for policy in from_template if policy.key in noted]
    held = _held(request, world, outcome.pod, brought) if brought else ()
    return [policy.key for policy in sorted((*_at_work(outcome, noted), *held), key=order_key)]


def _selected(request: Request, world: ReviewLookups, policies: Iterable[Policy]) -> list[Policy]:
    namespace_labels = world.namespace_labels(request.namespace)
    labels = (request.pod.get("metadata") or {}).get("labels") or {}
    return [one for one in policies if one.selects(request.namespace, namespace_labels, labels)]


def _is_held(request: Request, world: ReviewLookups) -> bool:
    """Whether a gate is on the pod, or will be once the queue step has seen it: then nodeName is forbidden."""
    labels = (request.pod.get("metadata") or {}).get("labels") or {}
    gates = (request.pod.get("spec") or {}).get("schedulingGates")
    return bool(gates) or QUEUE_NAME in labels or DEFAULT_QUEUE in world.namespace_labels(request.namespace)


def _at_work(outcome: Outcome, noted: Collection[str]) -> Iterable[Policy]:
    """Those that changed the pod now, or did so before and still hold."""
    for verdict in outcome.verdicts:
        policy, done = verdict.policy, verdict.merge
        if policy.mode is Mode.ENFORCE and (done.changed or (done.holds and policy.key in noted)):
            yield policy


def _held(request: Request, world: ReviewLookups, pod: Directives, brought: Iterable[Policy]) -> list[Policy]:
    """Those of the policies that gave the pod's template something which the pod has."""
    is_held = _is_held(request, world)
    enforced = [policy for policy in _selected(request, world, brought) if policy.mode is Mode.ENFORCE]
    return [policy for policy in enforced if merge(pod, policy.directives, is_held=is_held).met]


def _warnings(outcome: Outcome) -> Iterable[str]:
    for verdict in outcome.verdicts:
        title, why = verdict.policy.title, verdict.reasons
        if verdict.policy.mode is Mode.WARN and verdict.result is not Result.UNCHANGED:
            is_refused = verdict.result is Result.WOULD_REFUSE
            told = f"would refuse the {outcome.noun}" if is_refused else f"would set {_fields(verdict)}"
            yield f"{title} (mode Warn) {told}{f', but {why}' if why else ''}"
        elif verdict.result is Result.CONFLICT:
            where = "" if outcome.noun == "pod" else f" of the {outcome.noun}"
            yield f"{title} is left out in part{where}: {why}"


def _fields(verdict: Verdict) -> str:
    return ", ".join(verdict.merge.changed) or "nothing"


def _audit(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """One entry a kind of result: `policy: field, field` of each policy."""
    entries = {
        "policies": _listed(v for v in outcome.verdicts if v.policy.mode is Mode.ENFORCE and v.merge.changed),
        "policies-not-enforced": _listed(
            v for v in outcome.verdicts if v.policy.mode is not Mode.ENFORCE and v.merge.changed
        ),
        "policy-conflicts": "; ".join(f"{v.policy.key}: {v.reasons}" for v in outcome.verdicts if v.reasons),
    }
    return tuple((name, text) for name, text in entries.items() if text)


def _listed(verdicts: Iterable[Verdict]) -> str:
    return "; ".join(f"{verdict.policy.key}: {_fields(verdict)}" for verdict in verdicts)
