"""kube-scheduler's own preemption, which knows no quota: for which pods it is, and what cluster queues say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from controller.core.queueing.queues import ClusterQueue, SchedulerPreemption
from controller.core.reasons import Reason
from controller.core.workloads.workload import Hold

_NEVER: Final = "Never"


@dataclass(frozen=True, slots=True)
class QueueWord:
    """What a cluster queue says of it, for those who need to know no more of the queue; `parent` empty: a root."""

    name: str
    parent: str = ""
    scheduler_preemption: SchedulerPreemption = SchedulerPreemption.WARN


@dataclass(frozen=True, slots=True)
class Ruling:
    """What holds for the pods of a cluster queue, and by which queue: its own, or one above it that forbids."""

    setting: SchedulerPreemption
    queue: str


def preempting_class(name: str | None, policy: str | None) -> str:
    """Name the PriorityClass by which kube-scheduler may preempt others for a pod; empty: by none.

    `name` and `policy` are its spec.priorityClassName and spec.preemptionPolicy, as the apiserver works them out; a
    global default class is named there too. As PodEligibleToPreemptOthers of
    k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption, all but the policy Never may preempt, and so
    does a class of value 0 or less: others may have less still. A pod without a class has the policy
    PreemptLowerPriority too, with priority 0: it does not count here, for no class that its writer named is to blame.
    """
    return "" if policy == _NEVER else name or ""


def ruling(at: str, queues: Mapping[str, ClusterQueue | QueueWord]) -> Ruling | None:
    """Say what holds for the pods of this cluster queue; None: it is not known.

    A queue that forbids does so for all below it, as it does with its stopPolicy and with the classes that it allows;
    nothing else goes down. A circle of parents ends where it began: nobody is admitted there anyway.
    """
    if at not in queues:
        return None
    own, passed = Ruling(queues[at].scheduler_preemption, at), set[str]()
    while at in queues and at not in passed:
        passed.add(at)
        if queues[at].scheduler_preemption is SchedulerPreemption.FORBID:
            return Ruling(SchedulerPreemption.FORBID, at)
        at = queues[at].parent
    return own


def forbidden(name: str, at: str, queues: Mapping[str, ClusterQueue], *, of: str = "the pod") -> Hold | None:
    """Hold a pod of this cluster queue for which kube-scheduler may preempt by this PriorityClass, where forbidden.

    `of` says which object names the class: a PodGroup has a priority of its own.

    The webhook refuses it when it is created. It is here all the same where the apiserver keeps the gate, where the
    webhook was away, and where nobody forbade it then.
    """
    found = ruling(at, queues) if name else None
    if found is None or found.setting is not SchedulerPreemption.FORBID:
        return None
    text = f"kube-scheduler may preempt for PriorityClass {name}, which ClusterQueue {found.queue} forbids"
    advice = f"create {of} again with a class of preemptionPolicy Never, or ask the queue's owner"
    return Hold(Reason.SCHEDULER_PREEMPTION_FORBIDDEN, f"{text}: {advice}")
