"""Pods that Kueue let run before Penstock came: which queue and flavor here each is charged to from now on.

Kueue stamps no flavor on a pod, but adds the flavor's node labels to its selector: that tells it, else the node does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from controller.core.gate.narrowing import Conflict, narrow
from controller.core.keys import ADMITTED_AT, ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, KUEUE_QUEUE, PREEMPTIONS, QUEUE_NAME
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.workloads.shapes import Constraints

_UNCHARGED: Final = "add the flavor that it uses to the queue, or let it end: until then no quota counts it"
KUEUE_ADMITTED_TO: Final = "kueue.x-k8s.io/local-queue-name"
"""Pod label, written by newer Kueues when they admit a pod, also one of a Job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KueuePod:
    """A pod as far as adoption goes. `gates` are all its scheduling gates; `admitted_at` is RFC 3339."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str] = field(default_factory=dict)
    job: str = ""
    """uid of the controlling Job."""
    node: str = ""
    held_to: Constraints = field(default_factory=Constraints)
    """Its node selector and required node affinity."""
    gates: tuple[str, ...] = ()
    is_finished: bool = False
    admitted_at: str = ""

    @property
    def key(self) -> str:
        """namespace/name, as people write it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Adoption:
    """A pod, and where it is charged. `is_of_whole_job`: its Job is charged for all its pods, so it goes with that."""

    pod: KueuePod
    queue: str
    cluster_queue: str
    flavor: str
    is_of_whole_job: bool = False

    def patch(self) -> dict[str, object]:
        """Return the merge patch that says so on the pod; its uid makes it a Conflict on one made anew meanwhile.

        A stamp that somebody wrote before anything held it off would be believed from now on, so it goes.
        """
        labels = {QUEUE_NAME: self.queue, CLUSTER_QUEUE: self.cluster_queue, FLAVOR: self.flavor}
        whole = {ADMITTED_JOB: self.pod.job} if self.is_of_whole_job else {}
        notes = {ADMITTED_AT: self.pod.admitted_at, PREEMPTIONS: None, **whole}
        return {"metadata": {"uid": self.pod.uid, "labels": labels, "annotations": notes}}


@dataclass(frozen=True, slots=True)
class Orphan:
    """A pod of Kueue's that cannot be adopted, and what to do."""

    pod: KueuePod
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Households:
    """Where pods may be taken in: `admission_checks` are cluster queues by (namespace, LocalQueue).

    `flavor_of` is the flavor that each node is of; `jobs` are the LocalQueues that Kueue's label on Jobs names, by uid.
    """

    doors: Mapping[tuple[str, str], str]
    queues: Mapping[str, ClusterQueue]
    flavors: Mapping[str, Flavor]
    flavor_of: Mapping[str, str]
    jobs: Mapping[str, str] = field(default_factory=dict)

    def knowing(self, jobs: Mapping[str, str]) -> Households:
        """Return the same with these Jobs."""
        return replace(self, jobs=jobs)


def queue_in_kueue(pod: KueuePod, jobs: Mapping[str, str]) -> str | None:
    """Return the LocalQueue by which Kueue knows the pod; None for a pod that is not Kueue's, has ended or is ours."""
    if pod.is_finished or QUEUE_NAME in pod.labels:
        return None
    # a label without a value names nothing, as in Kueue
    return pod.labels.get(KUEUE_ADMITTED_TO) or pod.labels.get(KUEUE_QUEUE) or jobs.get(pod.job) or None


def adopt(pods: Iterable[KueuePod], households: Households) -> list[Adoption | Orphan]:
    """Return what becomes of each pod that Kueue knows, in the order given."""
    named = ((pod, queue_in_kueue(pod, households.jobs)) for pod in pods)
    return [_one(pod, queue, households) for pod, queue in named if queue is not None]


def _one(pod: KueuePod, queue: str, households: Households) -> Adoption | Orphan:
    if pod.gates:
        gates = ", ".join(pod.gates)
        return Orphan(pod, f"waits at {gates}: delete it, so that its owner recreates it and it waits here instead")
    found = place(pod.namespace, queue, pod.held_to, households, node=pod.node)
    return Orphan(pod, found) if isinstance(found, str) else Adoption(pod, queue, *found)


def place(
    namespace: str, queue: str, held_to: Constraints, households: Households, *, node: str = ""
) -> tuple[str, str] | str:
    """Return the ClusterQueue and the flavor that something of this LocalQueue is charged to, or why there is none.

    `held_to`: its node selector and required node affinity.
    """
    name = households.doors.get((namespace, queue))
    if name is None:
        return f"LocalQueue {queue} does not exist in {namespace} here: apply the converted objects"
    cluster_queue = households.queues.get(name)
    if cluster_queue is None or not cluster_queue.flavors:
        why = "does not exist, or cannot be used" if cluster_queue is None else "has no flavors"
        return f"ClusterQueue {name} of LocalQueue {queue} {why}: apply the converted objects"
    return _flavor(cluster_queue, households, held_to, node)


def _flavor(queue: ClusterQueue, households: Households, held_to: Constraints, node: str) -> tuple[str, str] | str:
    """Return the flavor with the most labels that the selector has, else the node's, else one that has no labels.

    Kueue writes a flavor's labels into the selector, so one whose labels are not there was not chosen. One that the
    pod's own selector or affinity contradicts is none at all: the pod would be charged to what it does not use.
    """
    names = [quota.flavor for quota in queue.flavors]
    known = [households.flavors[name] for name in names if name in households.flavors]
    if not known:
        missing = ", ".join(names)
        return f"no flavor of ClusterQueue {queue.name} exists ({missing}): apply the converted objects"
    held = [(one, narrow(held_to, one)) for one in known]
    labels = {one.name: one.node_labels for one, found in held if not isinstance(found, Conflict)}
    if not labels:
        whys = "; ".join(f"{one.name}: {found.text}" for one, found in held if isinstance(found, Conflict))
        return f"no flavor of ClusterQueue {queue.name} is where it may run ({whys}): {_UNCHARGED}"
    own = set(held_to.node_selector)
    chosen = [name for name in labels if labels[name] and set(labels[name]) <= own]
    if chosen:
        return queue.name, max(chosen, key=lambda name: len(labels[name]))
    landed = households.flavor_of.get(node)
    without = (name for name in labels if not labels[name])
    return queue.name, landed if landed in labels else next(without, next(iter(labels)))
