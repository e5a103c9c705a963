"""Step: give the pod what the SchedulingPolicies of its account require without a choice, and their defaults.

Its RuntimeClass it has got before, by `runtime_class_step`, which asks the same policies. Whether the pod is right
then is for `scheduling_policies_check` to say, when every webhook has had its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.core.scheduling_policies.holding import held_givers
from controller.core.scheduling_policies.levels import Levels, enforced
from controller.core.scheduling_policies.outcome import Outcome, completed
from webhook.pods import directives, scheduling_pods
from webhook.pods.creators import is_mirror_pod
from webhook.pods.noted import entries, scheduling_entry, with_entries
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import Operations


def apply_scheduling_policies(request: Request, world: ReviewLookups) -> Answer:
    """Complete the pod, and keep its annotation of policies true."""
    at = scheduling_pods.levels(request, world)
    if not at and not entries(request.pod, scheduling=True):
        return NOTHING
    pod = scheduling_pods.read(request, request.pod, world)
    if pod is None or is_mirror_pod(request):
        return NOTHING
    outcome = completed(pod, at)
    spec = request.pod.get("spec") or {}
    annotation, stripped = with_entries(request.pod, _right(request.pod, outcome, at), scheduling=True)
    return Answer(
        operations=(
            *directives.patch(spec, pod.directives, outcome.pod.directives),
            *_priority(spec, outcome),
            *annotation,
        ),
        warnings=(*stripped, *outcome.warnings),
        audit=outcome.audit,
        counted=tuple((scheduling_entry(policy), result.value) for policy, result in outcome.counted),
    )


def _priority(spec: Mapping[str, Any], outcome: Outcome) -> Operations:
    """Another PriorityClass: what the apiserver worked out from the former one goes, and it does so again."""
    if not outcome.replaces_priority:
        return ()
    stale = [name for name in ("priority", "preemptionPolicy") if name in spec]
    removed = tuple({"op": "remove", "path": f"/spec/{name}"} for name in stale)
    return (*removed, {"op": "add", "path": "/spec/priorityClassName", "value": outcome.pod.priority_class})


def _right(pod: Mapping[str, Any], outcome: Outcome, at: Levels) -> list[str]:
    """The entries that are true: of policies that changed the pod now, or before, and still show."""
    right = {scheduling_entry(one.policy) for one in outcome.additions}
    noted, first = entries(pod, scheduling=True), enforced(at)
    if noted and first is not None and first.merged is not None:
        right |= {scheduling_entry(name) for name in held_givers(outcome.pod, first.merged)} & set(noted)
    return sorted(right)
