"""Pods and Jobs as people see them: where each stands, its place in the queue, and why it waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from controller.core.kubernetes.amounts import PODS, Requests, format_amount, plus, times
from controller.core.kubernetes.owners import Job
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.pods import Phase, Pod, job_of, queue_priority
from controller.core.workloads.workload import Workload
from controller.kube.clock import rfc3339
from controller.visibility.findings import Findings
from controller.visibility.lines import NOWHERE, Place, cluster_queue_of, lines, places
from controller.visibility.rows import PodRow
from controller.visibility.start_rows import StartRow

_STATES = {Phase.RESERVED: "Reserved", Phase.RUNNING: "Running"}


def pods(snapshot: Snapshot, findings: Findings, namespaces: Iterable[str] | None = None) -> list[PodRow]:
    """Return the pods of queues: those that wait first, in the order of their queue, then the others by name.

    `namespaces` None: of all.
    """
    wanted = None if namespaces is None else frozenset(namespaces)
    others = (one for one in snapshot.running.pods.values() if wanted is None or one.namespace in wanted)
    admitted = [row for one in others if (row := admitted_row(snapshot, findings, one)) is not None]
    return [*_pending(snapshot, findings, wanted), *sorted(admitted, key=lambda row: (row.namespace, row.name))]


def _pending(snapshot: Snapshot, findings: Findings, wanted: frozenset[str] | None) -> Iterator[PodRow]:
    known = snapshot.running.pods
    for name, line in lines(snapshot).items():
        found = places(line)
        for workload in line:
            if wanted is not None and workload.kind.queue[0] not in wanted:
                continue
            why = findings.why(snapshot, workload)
            for uid in workload.pods:
                yield waiting_row(snapshot, findings, known[uid], cluster_queue_of(name), found[workload.uid], why)


def waiting_row(
    snapshot: Snapshot,
    findings: Findings,
    pod: Pod,
    queue: str,
    place: Place,
    why: tuple[Reason, str],
    start: StartRow | None = None,
) -> PodRow:
    """Return the row of a pod that waits in the line of a ClusterQueue; `why` its workload waits."""
    reason, text = why
    message = text + findings.note(snapshot, pod)
    state = _State("Pending", queue, "", place=place, reason=reason.value, message=message, start=start)
    return _row(snapshot, pod, state)


def admitted_row(snapshot: Snapshot, findings: Findings, pod: Pod) -> PodRow | None:
    """Return the row of a pod that is admitted; None: it is not.

    One whose admission was sent and not seen back yet is reserved, as the counts of its queue have it. A Job that was
    admitted as a whole has a row for those of its pods that do not exist yet.
    """
    charge = snapshot.usage.charges.get(pod.uid)
    if pod.is_job and charge is not None:
        pod = replace(pod, count=charge.count)
    if pod.is_job and (charge is None or not charge.count):
        return None
    if not pod.is_admitted:
        if charge is None or charge.phase is not Phase.RESERVED:
            return None
        since = rfc3339(snapshot.now)
        return _row(snapshot, pod, _State("Reserved", charge.cluster_queue, since, " or ".join(charge.flavors)))
    evict = findings.evicts.get(pod.uid)
    state = _State(
        name=_STATES[pod.phase],
        cluster_queue=pod.cluster_queue or "",
        since=rfc3339(pod.admitted_at or pod.created),
        flavor=" or ".join(pod.flavors) or pod.flavor or "",
        node=pod.node or "",
        reason="" if evict is None else evict.cause.value,
        message="" if evict is None else f"the next decision evicts it: {evict.text}",
    )
    return _row(snapshot, pod, state)


class _State(NamedTuple):
    """What a row says of how a pod stands; the rest is the same of any pod. `since` empty: since it was created."""

    name: str
    cluster_queue: str
    since: str
    flavor: str = ""
    node: str = ""
    place: Place = NOWHERE
    reason: str = ""
    message: str = ""
    start: StartRow | None = None


def _row(snapshot: Snapshot, pod: Pod, state: _State) -> PodRow:
    jobs, created = snapshot.running.jobs, rfc3339(pod.created)
    job = job_of(pod, jobs)
    return PodRow(
        namespace=pod.namespace,
        name=pod.name,
        state=state.name,
        local_queue=pod.queue or "",
        cluster_queue=state.cluster_queue,
        owner="" if pod.owner is None else f"{pod.owner.kind}/{pod.owner.name}",
        owner_created="" if job is None else rfc3339(job.created),
        group=group_name(jobs, pod),
        user=pod.user,
        priority=queue_priority(pod, job, snapshot.queues.priority_classes),
        requests=quantities(times(pod.shape.requests, pod.count)),
        created=created,
        since=state.since or created,
        flavor=state.flavor,
        node=state.node,
        place=state.place.in_cluster_queue,
        place_in_local_queue=state.place.in_local_queue,
        reason=state.reason,
        message=state.message,
        start=state.start,
    )


def group_name(jobs: Mapping[str, Job], pod: Pod) -> str:
    """Return the gang of a pod as people name it, of these Jobs by uid; empty: it is of none."""
    if pod.group is None:
        return ""
    key = pod.group.key
    if key.is_object:
        return "" if pod.owner is None else pod.owner.name
    job = jobs.get(key.name) if key.is_job else None
    return key.name if job is None else job.name


def quantities(requests: Requests) -> dict[str, str]:
    """Write amounts for people; one pod counts as itself."""
    return {resource: format_amount(resource, amount) for resource, amount in requests if resource != PODS}


def requests_of(workload: Workload) -> dict[str, str]:
    """Write what all pods that a workload wants ask for together."""
    kind = workload.kind.of_size(workload.kind.most) if workload.kind.most else workload.kind
    return quantities(plus(one.requests for one in kind.pod_sets))
