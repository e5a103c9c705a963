"""What a pod of a queue is told when kube-scheduler may preempt others for its PriorityClass, whatever their quota.

By the `schedulerPreemption` of its ClusterQueue a warning, a refusal, or nothing. Of a queue that is not known nothing
is said; the controller, which knows all, admits no pod that is forbidden.
"""

from __future__ import annotations

from controller.core.keys import PRIORITY_CLASS
from controller.core.queueing.queues import SchedulerPreemption
from controller.core.queueing.scheduler_preemption import preempting_class
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups

_REMEDY = "name one with preemptionPolicy: Never"


def judge(request: Request, world: ReviewLookups, queue: str) -> Answer:
    """Warn of the pod's PriorityClass, or refuse it, by what holds in this LocalQueue; no operations.

    The apiserver has worked out spec.preemptionPolicy before it asks. Where it is not there a step before has given the
    pod another class, and the webhook is asked again once the apiserver has worked it out anew.
    """
    spec = request.pod.get("spec") or {}
    policy = spec.get("preemptionPolicy")
    name = preempting_class(spec.get("priorityClassName"), policy)
    found = world.scheduler_preemption(request.namespace, queue) if name and policy else None
    if found is None or found.setting is SchedulerPreemption.ALLOW:
        return NOTHING
    if found.setting is SchedulerPreemption.FORBID:
        return Answer(denial=_refusal(name, found.queue))
    return Answer(
        warnings=(
            f"spec.priorityClassName: {name!r}: kube-scheduler may preempt any pod of lower priority for it, whatever "
            f"its quota; {_REMEDY} (schedulerPreemption of ClusterQueue {found.queue!r})",
        )
    )


def _refusal(name: str, queue: str) -> str:
    return (
        f"spec.priorityClassName: {name!r}: kube-scheduler may preempt any pod of lower priority for it, whatever its "
        f"quota, and ClusterQueue {queue!r} forbids that (schedulerPreemption: Forbid); {_REMEDY}: that class, or the "
        f"label {PRIORITY_CLASS}, gives the pod its place in the queue; or ask the queue's owner to set Allow"
    )
