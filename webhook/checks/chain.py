"""The chain of checks at CREATE and UPDATE: each a pure function from a request to a refusal, or to nothing but words.

They see the object as it would be stored, after every mutating webhook, and change nothing. The first refusal ends
the chain.
"""

from __future__ import annotations

from collections.abc import Callable

from webhook.checks.pod_policies import pod_policies_check
from webhook.checks.protection import protection_check
from webhook.checks.scheduling_policies import scheduling_policies_check
from webhook.pods.limits import limited
from webhook.reviews.admission import Answer, Request
from webhook.reviews.lookups import ReviewLookups

Check = Callable[[Request, ReviewLookups], Answer]

POLICY_CHECKS: tuple[Check, ...] = (pod_policies_check, scheduling_policies_check)
"""Of whole pods alone: what policies speak of cannot be changed through subresources."""


def validate(request: Request, world: ReviewLookups) -> Answer:
    """Send what is being created or updated through the checks; anything else passes."""
    if request.operation in ("CREATE", "UPDATE") and not request.pod:
        return Answer(denial="request.object is missing; nothing is created or changed without it")
    answer = protection_check(request, world)
    return answer if answer.denial is not None or request.subresource else judge_by_policies(request, world)


def judge_by_policies(request: Request, world: ReviewLookups) -> Answer:
    """Send a pod that is being created or updated through the checks by policies; anything else passes."""
    total = Answer()
    if request.operation not in ("CREATE", "UPDATE"):
        return total
    for check in POLICY_CHECKS:
        answer = limited(check, request, world)
        if answer.denial is not None:
            return answer
        total += answer
    return total
