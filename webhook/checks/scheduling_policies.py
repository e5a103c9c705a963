"""Check: a pod uses what the SchedulingPolicies of its account demand, and nothing that they do not allow.

At CREATE the final object is judged, at UPDATE only what is new: tolerations can be added to any pod, and a gated one
can be narrowed. Images of static pods are not judged: they run already.
"""

from __future__ import annotations

from controller.core.scheduling_policies.levels import enforced
from controller.core.scheduling_policies.outcome import Outcome, judged, judged_update
from controller.core.scheduling_policies.pod import Pod
from webhook.pods import scheduling_pods
from webhook.pods.creators import is_mirror_pod
from webhook.pods.noted import scheduling_entry
from webhook.pods.updates import is_judged_update
from webhook.reviews.admission import Answer, Request
from webhook.reviews.lookups import ReviewLookups


def scheduling_policies_check(request: Request, world: ReviewLookups) -> Answer:
    """Refuse the pod, or tell of policies that are not enforced."""
    is_created = request.operation == "CREATE"
    if is_mirror_pod(request) or not (is_created or is_judged_update(request, world)):
        return Answer()
    at = scheduling_pods.levels(request, world)
    if not at:
        return Answer()
    pod = scheduling_pods.read(request, request.pod, world)
    if pod is None:
        # of a form that we do not know: what the apiserver takes must not pass unjudged
        text = "spec: tolerations, nodeSelector or affinity are of a form that cannot be judged by SchedulingPolicies"
        return Answer(denial=text) if enforced(at) is not None else Answer()
    account = f"ServiceAccount {scheduling_pods.account(request.pod)!r} of namespace {request.namespace!r}"
    if is_created:
        return _answer(judged(pod, at, account=account))
    before = scheduling_pods.read(request, request.old or {}, world) or Pod()
    return _answer(judged_update(before, pod, at, account=account))


def _answer(outcome: Outcome) -> Answer:
    return Answer(
        denial=outcome.refusal,
        warnings=outcome.warnings,
        audit=outcome.audit,
        counted=tuple((scheduling_entry(policy), result.value) for policy, result in outcome.counted),
    )
