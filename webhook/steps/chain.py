"""The chain of steps at CREATE: each a pure function from a pod to a patch, warnings and audit annotations.

Every step sees the pod as the steps before it left it. Each is idempotent: on its own result it changes nothing, so
that reinvocation does no harm. The first denial ends the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from webhook.pods.limits import limited
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import applied
from webhook.steps.pod_policies import apply_pod_policies
from webhook.steps.queue import assign_queue
from webhook.steps.runtime_class import assign_runtime_class
from webhook.steps.scheduling_policies import apply_scheduling_policies
from webhook.steps.stamps import strip_stamps
from webhook.steps.update_advice import advise

Step = Callable[[Request, ReviewLookups], Answer]

CHAIN: tuple[Step, ...] = (
    strip_stamps,
    assign_runtime_class,
    apply_pod_policies,
    apply_scheduling_policies,
    assign_queue,
)
"""In the order of their effect."""


def stages(request: Request, world: ReviewLookups) -> Iterator[tuple[Step, Request, Answer]]:
    """Each step with the pod that it saw, and its answer. The first denial is the last."""
    before = NOTHING
    for step in CHAIN:
        if before is not NOTHING:
            request = _after(before, request)
        answer = limited(step, request, world)
        yield step, request, answer
        if answer.denial is not None:
            return
        before = answer


def _after(answer: Answer, request: Request) -> Request:
    pod = applied(request.pod, answer.operations) if answer.operations else request.pod
    return replace(request, pod=pod, directives=None if answer.outcome is None else answer.outcome.pod)


def mutate(request: Request, world: ReviewLookups) -> Answer:
    """Send a pod that is being created through the chain; an update of one passes unchanged, with advice."""
    total = NOTHING
    if request.operation == "UPDATE":
        return advise(request)
    if request.operation != "CREATE" or request.subresource or not request.pod:
        return total
    for _, _, answer in stages(request, world):
        if answer.denial is not None:
            return answer
        if answer is not NOTHING:
            total = answer if total is NOTHING else total + answer
    return total
