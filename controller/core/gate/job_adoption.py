"""Jobs that Kueue queued before Penstock came: one that runs is charged for its pods, one that waits waits here.

The template of a Job that runs cannot change, so the pods that it still creates carry no stamps and no gate. The stamps
on the Job itself charge its queue for every pod that it keeps alive and that is not stamped, as those of a release do
(ADR 11). Where admission gates such pods, each is admitted by itself, and their Job is charged for none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from controller.core.gate.adoption import Adoption, Households, Orphan, place
from controller.core.gate.kueue_labels import topology_of_pods
from controller.core.keys import (
    ADMITTED_AT,
    CLUSTER_QUEUE,
    FLAVOR,
    KUEUE_PRIORITY_CLASS,
    KUEUE_QUEUE,
    PREEMPTIONS,
    PRIORITY_CLASS,
    QUEUE_NAME,
)
from controller.core.workloads.shapes import Constraints


@dataclass(frozen=True, slots=True, kw_only=True)
class KueueJob:
    """A Job as far as adoption goes. `held_to` is the node selector and affinity of its template.

    `has_gated_pods`: by a label or gate of the template each of its pods waits by itself. `is_of_another`: something
    else than a CronJob made it, or another controller than Kubernetes' own runs it. `admitted_at`: RFC 3339.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    template_annotations: Mapping[str, str] = field(default_factory=dict)
    held_to: Constraints = field(default_factory=Constraints)
    is_suspended: bool = False
    is_finished: bool = False
    has_gated_pods: bool = False
    is_of_another: bool = False
    admitted_at: str = ""

    @property
    def key(self) -> str:
        """namespace/name, as people write it."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_adopted(self) -> bool:
        """Whether it is charged here already."""
        return CLUSTER_QUEUE in self.labels

    def own_labels(self, queue: str) -> dict[str, str]:
        """Return the labels by which people say the same here."""
        named = self.labels.get(KUEUE_PRIORITY_CLASS)
        priority = {PRIORITY_CLASS: named} if named and PRIORITY_CLASS not in self.labels else {}
        return {QUEUE_NAME: queue, **priority}


@dataclass(frozen=True, slots=True)
class JobAdoption:
    """A Job that runs, and where it is charged for the pods that carry no stamps."""

    job: KueueJob
    queue: str
    cluster_queue: str
    flavor: str

    def patch(self) -> dict[str, object]:
        """Return the merge patch that says so on the Job; its uid makes it a Conflict on one made anew meanwhile.

        Where the Job was suspended meanwhile, the controller takes the stamps off again, and it waits.
        """
        labels = {**self.job.own_labels(self.queue), CLUSTER_QUEUE: self.cluster_queue, FLAVOR: self.flavor}
        notes = {ADMITTED_AT: self.job.admitted_at, PREEMPTIONS: None}
        return {"metadata": {"uid": self.job.uid, "labels": labels, "annotations": notes}}


@dataclass(frozen=True, slots=True)
class JobHold:
    """A Job that waits suspended, and the LocalQueue in which it waits here from now on."""

    job: KueueJob
    queue: str

    def patch(self) -> dict[str, object]:
        """Return the merge patch that puts it there; a Conflict where the Job changed, since it may run by now."""
        same = {"uid": self.job.uid, "resourceVersion": self.job.resource_version}
        notes = topology_of_pods(self.job.template_annotations)
        inside = {"spec": {"template": {"metadata": {"annotations": notes}}}} if notes else {}
        return {"metadata": {**same, "labels": self.job.own_labels(self.queue)}, **inside}


@dataclass(frozen=True, slots=True)
class JobOrphan:
    """A Job of Kueue's that runs and cannot be charged, and what to do."""

    job: KueueJob
    why: str


def adopt_jobs(
    jobs: Iterable[KueueJob], pods: Iterable[Adoption | Orphan], households: Households, *, gates_all: bool
) -> list[JobAdoption | JobHold | JobOrphan]:
    """Return what becomes of each Job that Kueue queues as a whole, in the order given.

    `pods`: what becomes of theirs. A Job that runs is charged to the flavor of most of them. `gates_all`: admission
    gates each new pod of the namespace, since that has a default queue.
    """
    flavors: dict[str, Counter[tuple[str, str]]] = {}
    for one in pods:
        if isinstance(one, Adoption) and one.pod.job:
            flavors.setdefault(one.pod.job, Counter())[one.cluster_queue, one.flavor] += 1
    named = ((job, queue_of_whole(job, gates_all=gates_all)) for job in jobs)
    return [_one(job, queue, flavors.get(job.uid, Counter()), households) for job, queue in named if queue]


def queue_of_whole(job: KueueJob, *, gates_all: bool) -> str | None:
    """Return the LocalQueue by which Kueue knows a Job that is to be held, or charged, as a whole here.

    None for one that is already, that is not Kueue's, or whose pods are by themselves.
    """
    if QUEUE_NAME in job.labels or job.is_finished or job.is_of_another:
        return None
    is_whole = job.is_suspended or not (gates_all or job.has_gated_pods)
    return (job.labels.get(KUEUE_QUEUE) or None) if is_whole else None


def _one(
    job: KueueJob, queue: str, flavors: Counter[tuple[str, str]], households: Households
) -> JobAdoption | JobHold | JobOrphan:
    if job.is_suspended:
        return JobHold(job, queue)
    if flavors:
        return JobAdoption(job, queue, *max(sorted(flavors), key=lambda place: flavors[place]))
    found = place(job.namespace, queue, job.held_to, households)
    return JobOrphan(job, found) if isinstance(found, str) else JobAdoption(job, queue, *found)


def of_whole_jobs(pods: Iterable[Adoption | Orphan], whole: Collection[str]) -> list[Adoption | Orphan]:
    """Return the same, where the pods of these Jobs (uids) are those of a Job that is charged as a whole."""
    return [
        replace(one, is_of_whole_job=True) if isinstance(one, Adoption) and one.pod.job in whole else one
        for one in pods
    ]
