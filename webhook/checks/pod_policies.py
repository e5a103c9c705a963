"""Check: an update of a gated pod must not break the pod scheduling policies that concern it.

Judged are the labels and the spec together: labels that make a policy select the pod, preferred terms that are taken
away. Of a pod without a gate nothing can change that policies give: the apiserver forbids it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.core.pod_policies.breaches import Breach, breaches
from controller.core.pod_policies.policies import Mode, Policy, Result
from webhook.pods import directives
from webhook.pods.updates import is_gated, is_judged_update
from webhook.reviews.admission import Answer, Request
from webhook.reviews.lookups import ReviewLookups


def pod_policies_check(request: Request, world: ReviewLookups) -> Answer:
    """Refuse an update that newly breaks an enforced policy, and tell of those that are not enforced."""
    old = request.old
    if old is None or not is_gated(old) or not is_judged_update(request, world):
        return Answer()
    before, after = directives.read(old.get("spec") or {}), directives.read(request.pod.get("spec") or {})
    if before is None or after is None:
        return Answer()
    found = breaches(before, after, _selecting(request, old, world), _selecting(request, request.pod, world))
    enforced = [breach for breach in found if breach.policy.mode is Mode.ENFORCE]
    return Answer(
        denial="; ".join(map(_refusal, enforced)) or None,
        warnings=tuple(_warning(breach) for breach in found if breach.policy.mode is Mode.WARN),
        audit=_audit(found),
        counted=tuple((breach.policy.key, _result(breach).value) for breach in found),
    )


def _selecting(request: Request, pod: Mapping[str, Any], world: ReviewLookups) -> list[Policy]:
    namespace_labels = world.namespace_labels(request.namespace)
    labels = (pod.get("metadata") or {}).get("labels") or {}
    policies = world.pod_policies(request.namespace)
    return [policy for policy in policies if policy.selects(request.namespace, namespace_labels, labels)]


def _refusal(breach: Breach) -> str:
    advice = (
        "the new labels make the policy select the pod: add this in the same update, or leave the labels as they are"
        if breach.is_new_to_it
        else "leave the pod as the policy wants it"
    )
    return f"{breach.policy.title} refuses the update: {', '.join(breach.texts)}; {advice}"


def _warning(breach: Breach) -> str:
    return f"{breach.policy.title} (mode Warn) would refuse the update: {', '.join(breach.texts)}"


def _result(breach: Breach) -> Result:
    return Result.REFUSED if breach.policy.mode is Mode.ENFORCE else Result.WOULD_REFUSE


def _audit(found: tuple[Breach, ...]) -> tuple[tuple[str, str], ...]:
    text = "; ".join(f"{breach.policy.key}: {', '.join(breach.texts)}" for breach in found)
    return (("policies-broken", text),) if text else ()
