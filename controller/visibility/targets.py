"""What people name, `pod/x`, `job/y`, `group/z`, and the workloads that they mean by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controller.core.kubernetes.owners import Job
from controller.core.snapshot import Snapshot
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import Workload, among_all
from controller.replay.outcome import stands
from controller.visibility.findings import Findings
from controller.visibility.workloads import group_name


def target_of(snapshot: Snapshot, workload: Workload) -> str:
    """Return what commands take for a workload: `pod/x`, `job/y` or `group/z`."""
    pod = snapshot.running.pods[workload.pods[0]]
    name = workload.name.rpartition("/")[-1]
    if pod.owner is not None and pod.owner.kind == "Job":
        return f"job/{pod.owner.name}"
    if pod.held_set is not None and pod.owner is not None:
        return f"{pod.owner.kind.lower()}/{pod.owner.name}"
    return f"group/{name}" if workload.members and pod.group is not None else f"pod/{pod.name}"


@dataclass(frozen=True, slots=True)
class Found:
    """What a target stands for: the first workload of it that waits, and how many do; else a sentence of its pods."""

    target: str
    namespace: str
    workload: Workload | None
    waiting: int
    sentence: str


def find(
    snapshot: Snapshot, findings: Findings, kind: str, name: str, namespaces: Iterable[str] | None
) -> Found | None:
    """Find what people name by a kind in lower case and a name; None: there is nothing of that name.

    `namespaces` None: in all; then the first by namespace counts.
    """
    wanted = None if namespaces is None else frozenset(namespaces)
    every, jobs = snapshot.running.pods.values(), snapshot.running.jobs
    pods = [one for one in pods_named(every, jobs, kind, name) if wanted is None or one.namespace in wanted]
    if not pods:
        return None
    namespace = min(one.namespace for one in pods)
    uids = {one.uid for one in pods if one.namespace == namespace}
    waiting = [
        one
        for run in snapshot.waiting.runs.values()
        if run[0].kind.queue[0] == namespace
        for one in run
        if not uids.isdisjoint(one.pods)
    ]
    if waiting:
        first = min(waiting, key=lambda one: among_all(one.order))
        return Found(f"{kind}/{name}", namespace, first, len(waiting), "")
    told = "; ".join(_stands(findings, pod) for pod in pods if pod.uid in uids)
    return Found(f"{kind}/{name}", namespace, None, 0, told)


def all_targets(pods: Iterable[Pod], jobs: Mapping[str, Job], namespaces: Iterable[str] | None) -> list[str]:
    """Return what can be named of these: pods, Jobs and groups, as `kind/name`."""
    wanted = None if namespaces is None else frozenset(namespaces)
    found: dict[str, None] = {}
    for pod in pods:
        if pod.queue is not None and (wanted is None or pod.namespace in wanted):
            found[f"pod/{pod.name}"] = None
            if pod.owner is not None:
                found[f"{pod.owner.kind.lower()}/{pod.owner.name}"] = None
            if group := group_name(jobs, pod):
                found[f"group/{group}"] = None
    return sorted(found)


def pods_named(pods: Iterable[Pod], jobs: Mapping[str, Job], kind: str, name: str) -> list[Pod]:
    """Return those of queues that a kind, in lower case, and a name stand for: of Jobs and groups all of theirs."""
    queued = (one for one in pods if one.queue is not None)
    match kind:
        case "pod":
            return [one for one in queued if one.name == name]
        case "group":
            return [one for one in queued if group_name(jobs, one) == name]
        case _:
            plain = kind.partition(".")[0]
            owned = ((one, one.owner) for one in queued if one.owner is not None)
            return [one for one, owner in owned if (owner.kind.lower(), owner.name) == (plain, name)]


def _stands(findings: Findings, pod: Pod) -> str:
    evict = findings.evicts.get(pod.uid)
    if evict is not None:
        return f"{pod.key} would be evicted by the next decision ({evict.cause}): {evict.text}"
    return f"{pod.key} {stands(pod)}"
