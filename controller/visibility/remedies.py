"""For each reason to wait, the changes that may end it. Whether they do is tried, never assumed: `trials`.

What a flavor says is short is answered flavor by flavor (`remedies_in_flavors`), all else here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from math import inf
from typing import Final

from controller.core.decision.admission_checks import any_fault
from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement
from controller.core.queueing.queues import ClusterQueue, StopPolicy
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.pods import Pod, job_of, priority_class_of
from controller.visibility.changes.amounts import LargerBudget
from controller.visibility.changes.change import Change, Cost
from controller.visibility.changes.own import Corrected, FirstPlace, MoreMembers
from controller.visibility.changes.setup import (
    FlavorsInOrder,
    LocalQueueTo,
    OpenClusterQueue,
    OpenLocalQueue,
    OthersMayPass,
    SelectNamespace,
    WithoutFlavor,
    WithoutParent,
)
from controller.visibility.changes.waiting import BudgetOpens, Ends
from controller.visibility.editing import Case
from controller.visibility.remedies_in_flavors import in_flavors
from controller.visibility.targets import target_of
from controller.visibility.trials import Proposal, Verdict

PATCH_TAKEN: Final = Corrected(
    Reason.PATCH_REJECTED, "an apiserver, policy or webhook that takes the patch", takes=Cost.SETUP
)
"""Of what is released, and refused."""

_Proposing = Callable[[Case], Iterator[Change]]


def proposals(case: Case, found: Verdict) -> list[Proposal]:
    """Return what may help a workload of which a decision said this, the cheapest first; none: nobody can say."""
    wait = found.wait
    if wait is None:
        return []
    if wait.blockers:
        return sorted(in_flavors(case, wait), key=lambda one: one.change.cost)
    changes = _BY_REASON[wait.reason](case)
    return sorted(map(Proposal, changes), key=lambda one: one.change.cost)


# -- queues --------------------------------------------------------------------------------------------------------


def _stopped(case: Case) -> Iterator[Change]:
    view, key = case.snapshot.queues, case.workload.kind.queue
    local = view.local_queues[key]
    if local.stop is not StopPolicy.NONE:
        yield OpenLocalQueue(key, local.stop)
        return
    path = view.tree.path(local.cluster_queue)
    stopped = (one for one in path if view.cluster_queues[one].stop is not StopPolicy.NONE)
    yield from (OpenClusterQueue(one, view.cluster_queues[one].stop) for one in stopped)


def _not_found(case: Case) -> Iterator[Change]:
    view, key = case.snapshot.queues, case.workload.kind.queue
    local = view.local_queues.get(key)
    meant = key[1] if local is None else local.cluster_queue
    for name in _likely(view.cluster_queues, meant, case):
        yield LocalQueueTo(key, name, exists=local is not None)


def _likely(queues: Mapping[str, ClusterQueue], meant: str, case: Case) -> list[str]:
    """Return up to three ClusterQueues that take pods: those with a similar name first, then those in use there."""
    view, namespace = case.snapshot.queues, case.workload.kind.queue[0]
    takes = [name for name, one in queues.items() if one.flavors and not view.tree.children(name)]
    used = [one.cluster_queue for key, one in sorted(view.local_queues.items()) if key[0] == namespace]
    similar = get_close_matches(meant, takes)
    return list(dict.fromkeys([*similar, *(one for one in used if one in takes), *sorted(takes)]))[:3]


def _invalid(case: Case) -> Iterator[Change]:
    view, key = case.snapshot.queues, case.workload.kind.queue
    name = view.local_queues[key].cluster_queue
    queue = view.cluster_queues.get(name)
    below = view.tree.children(name)
    if queue is None or (below and not view.tree.faults.get(name)):
        takes = below or _likely(view.cluster_queues, name, case)
        yield from (LocalQueueTo(key, one, exists=True) for one in takes[:3])
        return
    broken = next((one for one in view.tree.path(name) if one in view.tree.faults), None)
    if broken is not None:
        yield from (WithoutParent(one) for one in _badly_placed(case.snapshot, broken))
    for one in view.tree.path(name):
        yield from (WithoutFlavor(one, it) for it in view.tree.flavors(one) if it not in view.flavors)
    if any_fault(queue, view.flavors) is not None:
        yield FlavorsInOrder(name)
    if not queue.flavors:
        yield from (LocalQueueTo(key, one, exists=True) for one in _likely(view.cluster_queues, name, case))


def _badly_placed(snapshot: Snapshot, name: str) -> Iterator[str]:
    """Yield the queues from this one upwards whose parent is missing, faulty, or leads back."""
    queues, passed = snapshot.queues.cluster_queues, list[str]()
    while name in queues and name not in passed:
        passed.append(name)
        name = queues[name].parent
    yield passed[-1]


def _not_selected(case: Case) -> Iterator[Change]:
    view, (namespace, _) = case.snapshot.queues, case.workload.kind.queue
    queue = view.cluster_queues[view.local_queues[case.workload.kind.queue].cluster_queue]
    labels = None if queue.namespaces is None else _labels_for(queue.namespaces, view.namespaces[namespace])
    if labels:
        yield SelectNamespace(queue.name, namespace, labels)
    yield SelectNamespace(queue.name, namespace, ())


def _labels_for(selector: LabelSelector, known: Mapping[str, str]) -> tuple[tuple[str, str], ...] | None:
    """Return the labels that a selector asks for and an object lacks; None: to add labels is not enough."""
    lacking = [one for one in selector.requirements if not one.matches(known)]
    found = [_pair(one) for one in lacking]
    return None if None in found else tuple(one for one in found if one is not None)


def _pair(requirement: Requirement) -> tuple[str, str] | None:
    match requirement.operator:
        case Operator.IN:
            return requirement.key, requirement.values[0]
        case Operator.EXISTS:
            return requirement.key, "true"
        case _:
            return None


def _budget(case: Case) -> Iterator[Change]:
    view, budgets = case.snapshot.queues, case.snapshot.usage.budgets
    used_up = budgets.closing(view.tree, view.local_queues[case.workload.kind.queue].cluster_queue)
    if used_up is None:
        return
    if used_up.opens_at is not None:
        yield BudgetOpens(used_up, used_up.opens_at)
    yield LargerBudget(used_up)


# -- the workload itself ---------------------------------------------------------------------------------------------


def _correct(reason: Reason, what: str) -> _Proposing:
    def propose(case: Case) -> Iterator[Change]:
        yield Corrected(reason, what.format(pod=_pod(case)))

    return propose


def _held(case: Case) -> Iterator[Change]:
    target = target_of(case.snapshot, case.workload)
    command = f"penstock release {target} -n {case.workload.kind.queue[0]}"
    yield Corrected(Reason.HELD, f"the hold on {target} released", command)


def _foreign(case: Case) -> Iterator[Change]:
    hold = case.workload.kind.hold
    gates = "" if hold is None else hold.text.rpartition(": ")[2]
    yield Corrected(Reason.FOREIGN_GATE, f"when {gates} is removed by whoever set it", takes=Cost.WAITING)


def _rejected(case: Case) -> Iterator[Change]:
    del case
    yield PATCH_TAKEN


def _gang(case: Case) -> Iterator[Change]:
    pod, reason = _pod(case), case.workload.kind.hold.reason if case.workload.kind.hold else Reason.GANG_INCOMPLETE
    missing = _missing(case, pod)
    name = f"group {case.workload.name.rpartition('/')[-1]}"
    if missing > 0:
        yield MoreMembers(name, missing, reason)
    else:
        yield Corrected(reason, f"all members of {name}, and the Job or PodGroup that says how many there are")


def _missing(case: Case, pod: Pod) -> int:
    """Return how many members do not exist yet; 0: the pods do not say."""
    if pod.group is None:
        return 0
    job = case.snapshot.running.jobs.get(pod.group.key.name) if pod.group.key.is_job else None
    whole = pod.group.size if job is None else job.width
    return (pod.group.minimum or whole) - len(case.workload.pods)


def _class_missing(case: Case) -> Iterator[Change]:
    pod, known = _pod(case), case.snapshot.queues.priority_classes
    job = job_of(pod, case.snapshot.running.jobs)
    name = priority_class_of(pod, job) or ""
    similar = get_close_matches(name, known, n=1)
    whose = "the pod" if job is None or job.priority_class is None else "its Job"
    instead = f", or {similar[0]} in {whose}'s label" if similar else ""
    yield Corrected(Reason.PRIORITY_CLASS_NOT_FOUND, f"a WorkloadPriorityClass {name}{instead}", takes=Cost.SETUP)


def _behind(case: Case) -> Iterator[Change]:
    """The head of a StrictFIFO queue holds it up, or it is one too many of a gang."""
    view, key = case.snapshot.queues, case.workload.kind.queue
    if case.workload.kind.hold is not None:
        yield Corrected(Reason.PRIORITY, "a larger size of its group, or the pod outside of it")
        return
    yield FirstPlace(target_of(case.snapshot, case.workload), key[0])
    yield OthersMayPass(view.local_queues[key].cluster_queue)


def leaving(case: Case, found: Verdict) -> list[Ends]:
    """Return the pods on their way out, each entry with all of those before it: whom others may wait for."""
    going, known = case.snapshot.running.leaving, case.snapshot.running.pods
    uids = [uid for uid in dict.fromkeys((*found.evicts, *going.evicting, *going.terminating)) if uid in known]
    uids.sort(key=lambda uid: known[uid].gone_by or inf)
    names = [known[uid].key for uid in uids]
    return [
        Ends(tuple(uids[:count]), tuple(reversed(names[:count])), how="is gone") for count in range(1, len(uids) + 1)
    ]


def _nothing(case: Case) -> Iterator[Change]:
    """Others go for it, the next decision looks at it, or its namespace is not known yet: nobody has to do anything."""
    del case
    yield from ()


def _pod(case: Case) -> Pod:
    return case.snapshot.running.pods[case.workload.pods[0]]


_BY_REASON: Final[Mapping[Reason, _Proposing]] = {
    Reason.QUEUE_STOPPED: _stopped,
    Reason.QUEUE_NOT_FOUND: _not_found,
    Reason.QUEUE_INVALID: _invalid,
    Reason.NAMESPACE_NOT_SELECTED: _not_selected,
    Reason.BUDGET_EXHAUSTED: _budget,
    Reason.HELD: _held,
    Reason.FOREIGN_GATE: _foreign,
    Reason.PATCH_REJECTED: _rejected,
    Reason.GANG_INCOMPLETE: _gang,
    Reason.MEMBERS_NEVER_COMPLETE: _gang,
    Reason.GANG_INVALID: _correct(Reason.GANG_INVALID, "members that say the same of their group"),
    Reason.INVALID_REQUESTS: _correct(
        Reason.INVALID_REQUESTS, "pod {pod.name} created with a small request that can be read"
    ),
    Reason.UNSUPPORTED_RESOURCE_CLAIMS: _correct(
        Reason.UNSUPPORTED_RESOURCE_CLAIMS, "pod {pod.name} created without spec.resourceClaims"
    ),
    Reason.PRIORITY_CLASS_NOT_FOUND: _class_missing,
    Reason.PRIORITY_CLASS_NOT_ALLOWED: _correct(
        Reason.PRIORITY_CLASS_NOT_ALLOWED,
        "a WorkloadPriorityClass in the label of pod {pod.name} that the queue allows",
    ),
    Reason.SCHEDULER_PREEMPTION_FORBIDDEN: _correct(
        Reason.SCHEDULER_PREEMPTION_FORBIDDEN,
        "pod {pod.name} created with a PriorityClass of preemptionPolicy Never",
    ),
    Reason.PRIORITY: _behind,
    Reason.PREEMPTING: _nothing,
    Reason.PENDING: _nothing,
}
"""What a flavor says is not here: such a wait has blockers."""
