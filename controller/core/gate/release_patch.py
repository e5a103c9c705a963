"""The release patch: one JSON Patch that narrows a queued pod to its flavor, stamps it and opens our gate.

What is narrowed and how stays legal: `gate.narrowing`. Here it becomes operations. The `test` operations make the
apiserver refuse the patch (422) when the pod is another one or was edited after we read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from controller.core.gate.json_patch import Operations, add_labels, annotate, guards
from controller.core.gate.narrowing_patch import narrowing_patch
from controller.core.gate.run_time import limited
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_BY,
    CLUSTER_QUEUE,
    FLAVOR,
    FLAVORS,
    GATE,
    PLANNED_NODE,
    PREEMPTIONS,
)
from controller.core.queueing.queues import Flavor
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Domain

DEADLINE: Final = "/spec/activeDeadlineSeconds"


@dataclass(frozen=True, slots=True)
class Admission:
    """Where a pod is charged, when it was admitted (RFC 3339), and by which leader, as the Lease names it.

    `preemptions`: how many in a row led to its place (`preemption.rounds`). `run_time`: for how many seconds it may run
    (`gate.run_time`); 0: nobody limits it.
    """

    cluster_queue: str
    at: str
    by: str
    preemptions: int = 0
    run_time: int = 0


def release_patch(
    pod: Pod,
    flavors: Sequence[Flavor],
    admission: Admission,
    *,
    node: str | None,
    domains: Sequence[Domain] = (),
    is_pinned: bool = True,
) -> Operations:
    """Build the operations that release `pod` onto one of `flavors`, softly pinned to `node` where one was planned.

    Of several flavors, which must go together (`queueing.flavor_sets`), the earlier are preferred. `domains` are added
    to what the flavors require, or preferred. Not `is_pinned`: the node is only noted, so that its room is kept.

    The pod must carry our gate as its only one, and must not contradict the flavor: the decision has checked both.
    Raises ValueError where it does.
    """
    return [
        *guards(pod),
        *narrowing_patch(pod, flavors, domains, node=node if is_pinned else None),
        *_stamps(pod, [one.name for one in flavors], admission, _noted(pod, node, is_pinned=is_pinned)),
        *deadline_operations(pod.deadline, admission.run_time),
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": GATE},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]


def deadline_operations(own: int, run_time: int) -> Operations:
    """Build the operation that has Kubernetes end a pod or Job whose own deadline (0: none) is too late."""
    deadline = limited(own, run_time)
    return [{"op": "add", "path": DEADLINE, "value": deadline}] if deadline else []


def _noted(pod: Pod, node: str | None, *, is_pinned: bool) -> str | None:
    """Return what is noted of the planned node: nothing where the pin says it, or where there is none.

    A queued pod may prefer a node by itself in just the words of our pin, or carry such a note that somebody wrote:
    what is noted then says which node is meant, "" none.
    """
    if node is None:
        return None if pod.pinned is None else ""
    return None if is_pinned and pod.pinned in (None, node) else node


def _stamps(pod: Pod, flavors: Sequence[str], admission: Admission, planned: str | None) -> Operations:
    labels, notes = stamps_of(pod, flavors, admission)
    if planned is not None:
        notes[PLANNED_NODE] = planned
    return [*add_labels("", labels), *annotate(pod, notes)]


def stamps_of(pod: Pod, flavors: Sequence[str], admission: Admission) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels and the annotations that say where and since when a pod, or a Job, is admitted."""
    labels = {CLUSTER_QUEUE: admission.cluster_queue}
    notes = {ADMITTED_AT: admission.at, ADMITTED_BY: admission.by}
    if len(flavors) == 1:
        labels[FLAVOR] = flavors[0]
    else:
        notes[FLAVORS] = ",".join(flavors)
    if admission.preemptions or pod.preemptions:  # a queued pod's own is nobody's but its owner's
        notes[PREEMPTIONS] = str(admission.preemptions)
    return labels, notes
