"""Step: merge the pod scheduling policies that concern a pod into it, and note them in its annotation.

The annotation `penstock.dev/policies` is this step's alone. Asked again about its own result (reinvocation), it finds
nothing to change: a name stays noted while the pod still holds what its policy wants, and any other name is removed, so
nothing that a user copied or wrote there is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.core.keys import DEFAULT_QUEUE, POLICIES, QUEUE_NAME
from controller.core.pod_policies import Mode, Outcome, Result, Verdict, apply
from controller.core.pointers import escape
from webhook import directives
from webhook.creators import is_mirror_pod
from webhook.patching import Operations
from webhook.review import Answer, Request
from webhook.world import World


def apply_pod_policies(request: Request, world: World) -> Answer:
    """Give the pod what its policies want, or refuse it, or only tell."""
    metadata = request.pod.get("metadata") or {}
    policies = world.pod_policies(request.namespace)
    if not policies and POLICIES not in (metadata.get("annotations") or {}):
        return Answer()
    spec: Mapping[str, Any] = request.pod.get("spec") or {}
    pod = directives.read(spec)
    if pod is None or is_mirror_pod(request):
        return Answer()
    outcome = Outcome(pod)
    if policies:
        labels = world.namespace_labels(request.namespace)
        chosen = [one for one in policies if one.selects(request.namespace, labels, metadata.get("labels") or {})]
        outcome = apply(pod, chosen, is_held=_is_held(request, labels))
    counted = tuple((verdict.policy.key, verdict.result.value) for verdict in outcome.verdicts)
    if outcome.refusal is not None:
        return Answer(denial=outcome.refusal, counted=counted, audit=_audit(outcome), outcome=outcome)
    operations, stripped = _annotation(metadata.get("annotations"), outcome)
    return Answer(
        operations=(*directives.patch(spec, pod, outcome.pod), *operations),
        warnings=(*stripped, *_warnings(outcome)),
        audit=_audit(outcome),
        counted=counted,
        outcome=outcome,
    )


def _is_held(request: Request, namespace_labels: Mapping[str, str]) -> bool:
    """Whether a gate is on the pod, or will be once the queue step has seen it: then nodeName is forbidden."""
    labels = (request.pod.get("metadata") or {}).get("labels") or {}
    gates = (request.pod.get("spec") or {}).get("schedulingGates")
    return bool(gates) or QUEUE_NAME in labels or DEFAULT_QUEUE in namespace_labels


def _annotation(annotations: Mapping[str, str] | None, outcome: Outcome) -> tuple[Operations, tuple[str, ...]]:
    """Operations for the annotation, and a warning of what is removed from it."""
    noted = (annotations or {}).get(POLICIES)
    names = noted.split(",") if noted else []
    enforced = [verdict for verdict in outcome.verdicts if verdict.policy.mode is Mode.ENFORCE]
    right = [v.policy.key for v in enforced if v.merge.changed or (v.merge.holds and v.policy.key in names)]
    wrong = [name for name in names if name not in right]
    warnings: tuple[str, ...] = ()
    if wrong:
        warnings = (
            f"removed {', '.join(wrong)} from {POLICIES}: only Penstock writes it, when a policy changes a pod",
        )
    value, path = ",".join(right), f"/metadata/annotations/{escape(POLICIES)}"
    if not value:
        return (({"op": "remove", "path": path},) if noted is not None else ()), warnings
    if value == noted:
        return (), warnings
    if annotations is None:
        return ({"op": "add", "path": "/metadata/annotations", "value": {POLICIES: value}},), warnings
    return ({"op": "add", "path": path, "value": value},), warnings


def _warnings(outcome: Outcome) -> Iterable[str]:
    for verdict in outcome.verdicts:
        title, why = verdict.policy.title, verdict.reasons
        if verdict.policy.mode is Mode.WARN and verdict.result is not Result.UNCHANGED:
            told = "would refuse the pod" if verdict.result is Result.WOULD_REFUSE else f"would set {_fields(verdict)}"
            yield f"{title} (mode Warn) {told}{f', but {why}' if why else ''}"
        elif verdict.result is Result.CONFLICT:
            yield f"{title} is left out in part: {why}"


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
