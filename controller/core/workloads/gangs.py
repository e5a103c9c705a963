"""Pod groups: pods that are admitted all together or not at all (gang scheduling).

A group is named by a label, with its size in an annotation (as Kueue's plain pods are), is what one Job keeps alive at
a time, or is a PodGroup of Kubernetes. What waits of a group becomes one workload: all of it, or as many as its minimum
says, which of a PodGroup is its minCount; the others stand in line by themselves. Which members are still to come, and
which came too many, is found out here from what exists. Nothing about groups is kept anywhere else, so a restart
changes nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import inf

from controller.core.keys import (
    GANG,
    POD_GROUP_MIN,
    POD_GROUP_SIZE,
    PREFERRED_TOPOLOGY,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGY,
)
from controller.core.kubernetes.amounts import CPU
from controller.core.kubernetes.owners import Job
from controller.core.reasons import Reason, first_few
from controller.core.workloads.gang_slices import portions
from controller.core.workloads.groups import GroupKey, PodGroup
from controller.core.workloads.native_groups import domain_of, unkept
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Slices, Topology, rest_of_gang
from controller.core.workloads.workload import Hold, OrderKey, PodSet, Workload, WorkloadClass, ahead

PATIENCE_SECONDS = 300.0
"""An incomplete group that no member has joined for so long is told that its members may never all come."""


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A queued pod, its place in the order, what keeps it from being looked at; `waited`, `runtime` as of its class."""

    pod: Pod
    order: OrderKey
    hold: Hold | None = None
    waited: int = 0
    runtime: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """A group as it is now: who waits, who is admitted (though some do not show it yet), who succeeded, whose it is.

    `pod_group`: the PodGroup that its pods name, where it is known.
    """

    key: GroupKey
    waiting: Sequence[QueuedPod]
    admitted: Sequence[Pod] = ()
    succeeded: Sequence[Pod] = ()
    job: Job | None = None
    pod_group: PodGroup | None = None


@dataclass(frozen=True, slots=True)
class Assembly:
    """The workloads that a group's waiting pods make, and when time alone makes them others (seconds since 1970)."""

    workloads: tuple[Workload, ...]
    again_at: float = inf


def assemble(group: Group, *, now: float) -> Assembly:
    """Make workloads of a group's waiting pods.

    Not begun: the first as many as it needs are one workload, held until they exist, and those too many wait behind
    it. Begun, that is, some are admitted already: those that it still lacks go before all of their queue, each as it
    comes, since the others hold quota and wait for them. Those that it does without stand in line like any pod, in the
    domain of the others where they are members, and those too many wherever there is room.
    """
    waiting = sorted(group.waiting, key=lambda one: one.order)
    if not waiting:
        return Assembly(())
    key, fault = group.key, _fault(group)
    if fault is not None:
        return Assembly((_together(group, waiting, Hold(Reason.GANG_INVALID, fault)),))
    unknown = _unknown(group)
    if unknown is not None:
        return Assembly((_together(group, waiting, Hold(Reason.GANG_INCOMPLETE, unknown)),))
    native = None if group.pod_group is None else unkept(group.pod_group, _living(group))
    if native is not None:
        return Assembly((_together(group, waiting, native),))
    whole = _whole(group, waiting[0].pod)
    size = min(whole, _minimum(group) or whole)
    done = len(group.admitted) + len(_ended(group))
    if done or not size:
        return _rest(group, waiting, max(0, size - done), max(0, whole - done), now)
    fault = _more_than_its_job(group) or _no_slices(group, waiting[:size])
    if fault is not None:
        return Assembly((_together(group, waiting, Hold(Reason.GANG_INVALID, fault)),))
    if len(waiting) < size:
        many = f"first {size}" if _minimum_of(waiting[0].pod) else str(size)
        hold, again_at = _not_all(group, waiting, f"{many} members", now)
        return Assembly((_together(group, waiting, hold),), again_at)
    behind = Hold(Reason.PRIORITY, f"behind the {size} members of {_named(key)} that are admitted together")
    extra = [single(replace(one, hold=one.hold or behind)) for one in waiting[size:]]
    return Assembly((_together(group, waiting[:size], _first_hold(waiting[:size])), *extra))


def _unknown(group: Group) -> str | None:
    """Say what has to be seen before the size is known."""
    if group.key.is_job and group.job is None:
        return "the Job of its pods is not known yet"
    if group.key.is_native and group.pod_group is None:
        return f"PodGroup {group.key.name}, which its pods name in spec.schedulingGroup, does not exist; create it"
    return None


def _rest(group: Group, waiting: Sequence[QueuedPod], lacking: int, members: int, now: float) -> Assembly:
    """Who waits of a group that has begun, and lacks so many; so many of them belong to it, the others are too many."""
    slices, topology = _slices_of(waiting[0].pod), _left_to(group)
    own, others = waiting[:members], map(single, waiting[members:])
    if slices is None:
        first = [replace(one, order=ahead(one.order)) for one in own[:lacking]]
        return Assembly((*(single(one, topology) for one in (*first, *own[lacking:])), *others))
    placed, to_come = (*group.admitted, *_ended(group)), members - len(own)
    found, again_at = list[Workload](), inf
    for part in portions([one.pod for one in own], placed, slices, to_come=to_come):
        pods = [own[place] for place in part.places]
        if lacking > 0:
            pods = [replace(one, order=ahead(one.order)) for one in pods]
            lacking -= len(pods)
        if part.domain:
            found.append(single(pods[0], topology, replace(slices, value=part.domain)))
            continue
        hold = _first_hold(pods)
        if part.lacks:
            hold, again_at = _not_all(group, pods, f"{len(pods) + part.lacks} pods of a slice", now)
        made = _together(group, pods, hold)
        # a group may wait as several slices
        uid, kind = f"{made.uid}/{pods[0].pod.uid}", replace(made.kind, topology=topology)
        found.append(replace(made, uid=uid, kind=kind))
    return Assembly((*found, *others), again_at)


def _whole(group: Group, pod: Pod) -> int:
    """How many there are in all; 0: each stands alone."""
    if group.pod_group is not None:
        return sys.maxsize if group.pod_group.min_count else 0
    return group.job.width if group.job is not None else _size_of(pod)


def _minimum(group: Group) -> int:
    """How many are admitted together; 0: all."""
    if group.pod_group is not None:
        return group.pod_group.min_count
    return _minimum_of(group.waiting[0].pod)


def _living(group: Group) -> list[Pod]:
    return [*(one.pod for one in group.waiting), *group.admitted]


def _fault(group: Group) -> str | None:
    """Say what the members that live contradict each other in."""
    key, living = group.key, _living(group)
    queues = sorted({pod.queue or "" for pod in living})
    if len(queues) > 1:
        return f"the members of {_named(key)} name different queues ({first_few(queues)}); a gang needs one"
    sizes = sorted(set(map(_size_of, living)))
    if len(sizes) > 1:
        written = first_few([str(size) for size in sizes])
        return f"the members of {_named(key)} state different sizes in {POD_GROUP_SIZE} ({written}); a gang has one"
    minimums = sorted(set(map(_minimum_of, living)), reverse=True)
    if len(minimums) > 1:
        written = first_few([str(one or "none") for one in minimums])
        return f"the members of {_named(key)} state different numbers in {POD_GROUP_MIN} ({written}); a gang has one"
    if len({pod.group.topology for pod in living if pod.group is not None}) > 1:
        keys = f"{REQUIRED_TOPOLOGY} or {PREFERRED_TOPOLOGY}"
        return f"the members of {_named(key)} do not say the same in {keys}; a gang has one domain"
    if len(set(map(_slices_of, living))) > 1:
        keys = f"{SLICE_TOPOLOGY} and {SLICE_SIZE}"
        return f"the members of {_named(key)} do not say the same in {keys}; a gang has slices of one size"
    return None


def _more_than_its_job(group: Group) -> str | None:
    """Say that a Job never makes as many pods as are to be admitted together; one that has begun shrinks as it ends."""
    job, minimum = group.job, _minimum(group)
    if job is None or minimum <= job.most:
        return None
    made = f"job/{job.name} makes {job.most} pods at a time"
    return f"the annotation {POD_GROUP_MIN} is {minimum}, and {made}; write at most that"


def _no_slices(group: Group, members: Sequence[QueuedPod]) -> str | None:
    """Say of how many pods slices cannot be made. At its end a Job has fewer to make, so its last slice is smaller."""
    slices = _slices_of(members[0].pod)
    if slices is None:
        return None
    counts = [len(members)] if group.job is None else [group.job.most]
    if len(members) % slices.size == 0:
        counts += Counter(one.pod.shape for one in members).values()
    for count in counts:
        if count % slices.size:
            has = f"{_named(group.key)} has {count} of one shape"
            return f"a slice is {slices.size} pods of one shape ({SLICE_SIZE}), and {has}; it needs a multiple of that"
    return None


def _left_to(group: Group) -> Topology | None:
    """The domain in which those are that the group lacks no more."""
    topology = _topology_of(group)
    return None if topology is None else rest_of_gang(topology, (pod.shape.constraints for pod in group.admitted))


def _topology_of(group: Group) -> Topology | None:
    member = group.waiting[0].pod.group
    return domain_of(group.pod_group, None if member is None else member.topology)


def _size_of(pod: Pod) -> int:
    return pod.group.size if pod.group is not None else 0


def _minimum_of(pod: Pod) -> int:
    return pod.group.minimum if pod.group is not None else 0


def _slices_of(pod: Pod) -> Slices | None:
    return pod.group.slices if pod.group is not None else None


def _ended(group: Group) -> list[Pod]:
    """Return the members that succeeded in the same run as those that live.

    A name that is used again, as that in a CronJob's template, must not count the pods of the last run. Of a Job's
    pods the Job itself says how many are still to come.
    """
    if group.key.is_job:
        return []
    owners = {pod.owner.uid for pod in _living(group) if pod.owner is not None}
    first = min(one.pod.created for one in group.waiting)
    return [pod for pod in group.succeeded if pod.cluster_queue and _is_of_this_run(pod, owners, first)]


def _is_of_this_run(pod: Pod, owners: Collection[str], first: float) -> bool:
    """Whether the same owner made it; without one, whether it was admitted when the first of those that wait was there.

    Those of a gang are admitted when all of them exist, so that one was to go with it.
    """
    return first <= pod.admitted_at if pod.owner is None else pod.owner.uid in owners


def _not_all(group: Group, there: Sequence[QueuedPod], of: str, now: float) -> tuple[Hold, float]:
    """Say that only these exist of what has to go together, and when that is to be said in other words."""
    late_at = max(one.pod.created for one in there) + PATIENCE_SECONDS
    text = f"{len(there)} of the {of} of {_named(group.key)} exist; they are admitted together"
    if now < late_at:
        return Hold(Reason.GANG_INCOMPLETE, text), late_at
    maker = f"job/{group.job.name}" if group.job is not None else "their owners"
    hint = f"no other came for {int(PATIENCE_SECONDS) // 60} minutes: look at {maker} and the namespace's ResourceQuota"
    return Hold(Reason.MEMBERS_NEVER_COMPLETE, f"{text}; {hint}"), inf


def _together(group: Group, members: Sequence[QueuedPod], hold: Hold | None) -> Workload:
    """One workload of these, standing where the last of them stands: nobody's place is better for being in a group."""
    by_shape: dict[PodSet, list[QueuedPod]] = {}
    for one in members:
        by_shape.setdefault(PodSet(one.pod.shape, slices=_slices_of(one.pod)), []).append(one)
    sets = sorted(by_shape.items(), key=lambda item: _size(item[0]), reverse=True)
    pod_sets = tuple(replace(made, count=sum(one.pod.count for one in of_it)) for made, of_it in sets)
    first = members[0].pod
    key, topology = group.key, _topology_of(group)
    waited, runtime = min(one.waited for one in members), _longest([one.runtime for one in members])
    kind = WorkloadClass((first.namespace, first.queue or ""), pod_sets, hold, waited, topology, runtime, first.is_job)
    pods = [one.pod for _, of_it in sets for one in of_it]
    uid = f"{_kind_of(key)}/{key.namespace}/{key.name}"
    name = first.owner.name if (key.is_job or key.is_object) and first.owner is not None else key.name
    since = max(one.pod.created for one in members)
    counts = tuple(pod.count for pod in pods) if first.is_job else ()
    uids = tuple(pod.uid for pod in pods)
    return Workload(uid, f"{key.namespace}/{name}", kind, members[-1].order, since, uids, counts)


def _kind_of(key: GroupKey) -> str:
    if key.is_object:
        return "object"
    return "job" if key.is_job else "podgroup" if key.is_native else "group"


def _longest(runtimes: Sequence[int]) -> int:
    """A gang is over when its last pod is; where one of them does not say, nobody knows."""
    return max(runtimes) if all(runtimes) else 0


def _size(made: PodSet) -> tuple[int, int, int]:
    """Large pods are packed first: devices before cores before all else (best fit decreasing)."""
    amounts = dict(made.requests)
    return sum("/" in resource for resource in amounts), amounts.get(CPU, 0), amounts.get("memory", 0)


def single(one: QueuedPod, topology: Topology | None = None, slices: Slices | None = None) -> Workload:
    """Return the workload that one pod or Job is; the others are what it shares with those of its gang that are in."""
    pod = one.pod
    queue, sets = (pod.namespace, pod.queue or ""), (PodSet(pod.shape, pod.least or pod.count, slices),)
    most = pod.count if 0 < pod.least < pod.count else 0
    if pod.is_job and pod.group is not None and not pod.of:
        topology = pod.group.topology  # pods that it gets in addition are held to the domain by the template
    kind = WorkloadClass(queue, sets, one.hold, one.waited, topology, one.runtime, pod.is_job, most)
    return Workload(pod.uid, pod.key, kind, one.order, pod.created)


def _first_hold(members: Sequence[QueuedPod]) -> Hold | None:
    for one in members:
        if one.hold is not None:
            what = "pod set" if one.pod.is_job else "pod"
            return Hold(one.hold.reason, f"{what} {one.pod.name} of the group: {one.hold.text}")
    return None


def _named(key: GroupKey) -> str:
    if key.is_object:
        return "what is held as a whole"
    if key.is_job:
        return f"their Job, as {GANG} says"
    return f"PodGroup {key.name}" if key.is_native else f"pod group {key.name}"
