"""Which WorkloadPriorityClasses pods of a cluster queue may name: those that it allows, and each queue above it."""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.queueing.queues import ClusterQueue
from controller.core.reasons import Reason, first_few
from controller.core.workloads.workload import Hold

_TOLD = 16


def not_allowed(name: str, whose: str, at: str, queues: Mapping[str, ClusterQueue]) -> Hold | None:
    """Say which queue, from this one upwards, does not take pods that name the class; None: all do.

    `whose` label names it: `the pod` or `its Job`. A circle of parents ends where it began: nobody is admitted there.
    """
    passed: set[str] = set()
    while at in queues and at not in passed:
        passed.add(at)
        allowed = queues[at].allowed_classes
        if allowed is not None and name not in allowed:
            which = first_few(sorted(allowed), _TOLD) or "none"
            text = f"WorkloadPriorityClass {name} is not allowed by ClusterQueue {at}, which allows {which}"
            return Hold(Reason.PRIORITY_CLASS_NOT_ALLOWED, f"{text}: correct {whose}'s label, or ask the queue's owner")
        at = queues[at].parent
    return None
