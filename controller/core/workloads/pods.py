"""A pod as the controller knows it: what is needed to queue it, charge it and release it, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from controller.core.keys import GATE
from controller.core.kubernetes.devices import PodClaim
from controller.core.kubernetes.owners import Job, Owner
from controller.core.reasons import Reason
from controller.core.workloads.groups import Membership
from controller.core.workloads.shapes import Shape
from controller.core.workloads.workload import Hold


class Phase(Enum):
    """Where a pod stands with us."""

    QUEUED = "queued"
    RESERVED = "reserved"
    RUNNING = "running"
    OTHER = "other"
    """Not ours, or done: ended, gated and being deleted, or a Job that is being stopped."""


@dataclass(frozen=True, slots=True)
class PublishedCondition:
    """Our condition as it stands on a pod: status, reason, a hash of the message, and when it was written (epoch).

    `has_begun`: it says that others go for the pod.
    """

    status: str
    reason: str
    message_hash: int
    at: float
    has_begun: bool = False


@dataclass(frozen=True, slots=True)
class SpecPresence:
    """Which optional parts of a pod exist, so that a JSON Patch can add to them or create them.

    `template_annotations`: of a Job, whether its template has any.
    """

    node_selector: bool = False
    tolerations: bool = False
    affinity: bool = False
    node_affinity: bool = False
    preferred: bool = False
    template_annotations: bool = False


@dataclass(frozen=True, slots=True)
class HeldSet:
    """Which pod set of which object of a WorkloadKind a record is.

    `kind` names the WorkloadKind, `path` is where the object is in the API, `uid` is its uid and `name` that of the pod
    set; `template` and `suspend` are JSON pointers. `has_metadata` and `has_labels`: whether the template has them.
    `is_first`: whether it is the first pod set of its object.
    """

    kind: str
    path: str
    uid: str
    name: str
    template: str
    suspend: str
    is_first: bool = True
    has_metadata: bool = True
    has_labels: bool = True


UNCOUNTED_CLAIMS: Final = Hold(
    Reason.UNSUPPORTED_RESOURCE_CLAIMS,
    "spec.resourceClaims: the devices of claims are not counted here",
)
"""Of each pod with claims, until the cache has counted their devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod, or (`is_job`) the pods of one make that a Job keeps alive which is held as a whole (ADR 11).

    Of a Job `uid`, `name`, stamps, `generation` and condition are the Job's, the rest is its template's. Of an object
    of a WorkloadKind each pod set is such a record, and `held_set` says which (ADR 12). `count` is how many pods it is
    to keep alive, whether they exist or not. `is_stopping`: it was suspended after it had been admitted, and its
    template is still the admitted one. `written`: what its user wrote in the parts of the template that a release
    changes, as JSON. `admitted_with`: the uid of the record with which a pod was admitted, so that it goes when that is
    suspended, and not by itself; empty: it was admitted by itself.

    `hold` is a fault in the spec that keeps a pod queued; `pinned` the node that was planned for it.

    `priority_class` names a WorkloadPriorityClass, `preempting_class` the PriorityClass by which kube-scheduler may
    preempt others for it (`queueing.scheduler_preemption`; empty: by none). `cluster_queue` and `flavor` are our
    stamps, or `flavors` where several were open to it, in order, of which `flavor` is then the one that pays; so is
    `admitted_at`, in seconds since 1970 (0: none), `admitted_by`, the leader as its Lease names it, and `preemptions`
    (`preemption.rounds`); `release_attempt` is what each release patch tests (`gate.release_fate`), None: not there;
    `unscheduled` is what kube-scheduler says of a pod that it put onto no node; `said` is our condition as it stands
    on the pod; `policies` are those that it carries, as its annotation names them, the same tuple on pods that carry
    the same. `owner` is the controlling one, `completion_index` that of a pod of an Indexed Job, `group` the gang it
    belongs to. `held` and `is_on_top` are what people did to it by hand (`queueing.operator_actions`). `started` and
    `ended` are as its node reports them, in seconds since 1970; 0: it does not say. `expected_runtime`: seconds, as
    `forecasts.runtimes.stated` reads them; 0: nobody says; `deadline`: its own activeDeadlineSeconds; 0: none. `user`
    is whom admission noted; empty: nobody. `labels` are those that the history keeps, and no others. `gone_by`: when
    its node should have ended it that is being deleted, in seconds since 1970, which is the request and its `grace`
    period, in seconds; 0: it is not being deleted, or nobody says. `generation` 0: the apiserver sets none, so the
    release patch tests `resource_version`. `claims` are its spec.resourceClaims.

    Of a Job too: `least`, with how many pods it may be admitted; 0: with `count` of them. `parallelism`, what its user
    wants `spec.parallelism` to be; of one that is admitted, `more`, how many pods it would keep alive beyond `count`
    with that. These wait as a record of their own (`workloads.elastic_jobs`), of which `of` is the Job's uid.
    `indexes`: its parallelism, where it is an Indexed Job with as many completions, which grow together; 0: it is none.
    `run_time` is for how many seconds its user lets it run at most, 0: for ever; `run_time_used` how many of them it
    had in its admissions before. Of one that is admitted, `ends_by`: when Kubernetes ends it by such a limit, in
    seconds since 1970; 0: there is none.
    """

    uid: str
    namespace: str
    name: str
    shape: Shape
    generation: int = 0
    resource_version: str = ""
    queue: str | None = None
    gates: tuple[str, ...] = ()
    priority: int = 0
    priority_class: str | None = None
    preempting_class: str = ""
    created: float = 0.0
    node: str | None = None
    is_finished: bool = False
    is_terminating: bool = False
    cluster_queue: str | None = None
    flavor: str | None = None
    flavors: tuple[str, ...] = ()
    is_landed: bool = False
    """Whether it is known of which of its flavors its node is."""
    pinned: str | None = None
    said: PublishedCondition | None = None
    hold: Hold | None = None
    outline: SpecPresence = SpecPresence()
    has_annotations: bool = False
    policies: tuple[str, ...] = ()
    admitted_at: float = 0.0
    admitted_by: str = ""
    release_attempt: str | None = None
    preemptions: int = 0
    unscheduled: str = ""
    owner: Owner | None = None
    held: str | None = None
    is_on_top: bool = False
    completion_index: int = 0
    group: Membership | None = None
    has_succeeded: bool = False
    started: int = 0
    ended: int = 0
    expected_runtime: int = 0
    deadline: int = 0
    user: str = ""
    gone_by: float = 0.0
    grace: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    is_job: bool = False
    count: int = 1
    is_stopping: bool = False
    written: str = ""
    admitted_with: str = ""
    held_set: HeldSet | None = None
    claims: tuple[PodClaim, ...] = ()
    least: int = 0
    parallelism: int = 0
    more: int = 0
    indexes: int = 0
    of: str = ""
    run_time: int = 0
    run_time_used: int = 0
    ends_by: float = 0.0

    @property
    def key(self) -> str:
        """namespace/name, as people write it."""
        return f"{self.namespace}/{self.name}"

    @property
    def also(self) -> tuple[str, ...]:
        """The flavors that hold quota for it beside the one that pays: it may still land on any of them."""
        return () if self.is_landed else tuple(one for one in self.flavors if one != self.flavor)

    @property
    def is_of_admitted_job(self) -> bool:
        """Whether it was made by what was admitted as a whole."""
        return bool(self.admitted_with)

    @property
    def is_admitted(self) -> bool:
        """Whether it was let through the gate and has not ended."""
        return self.phase in (Phase.RESERVED, Phase.RUNNING)

    @property
    def phase(self) -> Phase:
        """Where the pod stands with us."""
        if self.is_finished or self.is_stopping:
            return Phase.OTHER
        if GATE in self.gates:
            return Phase.OTHER if self.is_terminating else Phase.QUEUED
        if self.queue is None or self.gates:
            return Phase.OTHER
        return Phase.RESERVED if self.node is None else Phase.RUNNING


def job_of(pod: Pod, jobs: Mapping[str, Job]) -> Job | None:
    """Return the pod's Job, if it is among these, by uid. No pod is of a Job of another namespace, whatever it says."""
    job = jobs.get(pod.owner.uid) if pod.owner is not None else None
    return job if job is not None and job.namespace == pod.namespace else None


def priority_class_of(pod: Pod, job: Job | None) -> str | None:
    """Return the WorkloadPriorityClass by which a pod of this Job goes: the Job's label comes before the pod's.

    The template of a Job cannot be changed, and its label can, so that is how people change their mind.
    """
    return pod.priority_class if job is None or job.priority_class is None else job.priority_class


def queue_priority(pod: Pod, job: Job | None, classes: Mapping[str, int]) -> int:
    """Return the pod's priority in its queue, ageing aside: that of its WorkloadPriorityClass, else its own."""
    named = priority_class_of(pod, job)
    return pod.priority if named is None else classes.get(named, pod.priority)


def foreign_gates(pod: Pod) -> Hold | None:
    """Return the hold that the gates of others are; None where there are none."""
    foreign = [gate for gate in pod.gates if gate != GATE]
    if not foreign:
        return None
    names = ", ".join(foreign)
    return Hold(Reason.FOREIGN_GATE, f"waits for the scheduling gates of others to be removed first: {names}")


def is_older(pod: Pod, known: Pod) -> bool:
    """Compare resourceVersions where they are numbers, as the apiserver's are (KEP-5504)."""
    new, old = pod.resource_version, known.resource_version
    return new.isdecimal() and old.isdecimal() and int(new) < int(old)
