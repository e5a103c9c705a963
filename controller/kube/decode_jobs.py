"""Jobs from the apiserver's bytes; of one that is held as a whole also its pods, as one record of its template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson
from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from controller.core.forecasts.runtimes import stated
from controller.core.gate.job_growth import read_count
from controller.core.gate.job_protection import JOB_CONTROLLER, MOST_PODS
from controller.core.gate.job_release import written_by_user
from controller.core.gate.opening import HeldJob
from controller.core.gate.run_time import read_max_run_time, read_used
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    EXPECTED_RUNTIME,
    GANG,
    GATE,
    MIN_PARALLELISM,
    PRIORITY_CLASS,
    QUEUE_NAME,
    RUN_TIME_LIMIT,
    USER,
    WANTED_PARALLELISM,
)
from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.scheduler_preemption import preempting_class
from controller.core.reasons import Reason
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workloads.groups import GroupFault, GroupKey, Membership, membership
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import Hold
from controller.kube import wire
from controller.kube.clock import epoch
from controller.kube.decode import PodDecoder, claims_of, condition_of
from controller.kube.decode_owners import job_of
from controller.kube.decode_reserved import admitted_at, stamps
from controller.kube.errors import UnreadableObject

_job = Decoder(wire.JobObject)
_template = Decoder(wire.PodTemplate)
_SUSPENDED: Final = ("Suspended", "True")
_ENDED: Final = ("Complete", "Failed")
_AS_GANG: Final = {GANG: "true"}


@dataclass(frozen=True, slots=True)
class JobState:
    """A Job, and its pods as one record where it is held as a whole.

    `has_stopped`: it was suspended after it had been admitted, and none of its pods is left that counts: its template
    may be put back.
    """

    job: Job
    pods: Pod | None = None
    has_stopped: bool = False
    uid: str = field(init=False)
    """The Job's. No property: whoever takes in a list asks for all of them at once."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "uid", self.job.uid)


class JobDecoder:
    """Decode Jobs. Templates are read by the decoder of pods, which remembers what repeats."""

    def __init__(self, pods: PodDecoder) -> None:
        self._pods = pods

    def __call__(self, raw: bytes | Raw) -> JobState:
        """Return the Job; raise UnreadableObject when the bytes are none."""
        try:
            found = _job.decode(raw)
            job = job_of(found)
            if not _is_held(found):
                return JobState(job)
            pods = self._record(found, job)
            if pods is None:
                return JobState(job)
            return JobState(job, pods, has_stopped=pods.is_stopping and _has_stopped(found.status))
        except (DecodeError, ValueError) as error:
            raise UnreadableObject(f"job: {error}") from error

    def pods_of(self, raw: bytes | Raw) -> Pod:
        """Return the pods of a Job that is held as a whole; raise UnreadableObject when the bytes are of none."""
        state = self(raw)
        if state.pods is None:
            raise UnreadableObject(f"job {state.job.key} is not held as a whole")
        return state.pods

    def _record(self, found: wire.JobObject, job: Job) -> Pod | None:
        """Return its pods as one; None where its template names a queue and it runs, so that each pod waits by itself.

        Kubernetes copies the labels of a template to a Job that has none of its own.
        """
        meta, template = found.metadata, _template.decode(found.spec.template)
        labels, notes, inside = meta.labels or {}, meta.annotations or {}, template.metadata.annotations or {}
        # the template of one that was adopted while it ran has no stamps
        is_stamped = ADMITTED_JOB in inside or CLUSTER_QUEUE in labels
        if not found.spec.suspend and not is_stamped and QUEUE_NAME in (template.metadata.labels or {}):
            return None
        shape, outline, _, hold = self._pods.of_template(template, job.namespace)
        group, unclear = _together(job, template)
        is_indexed = found.spec.completion_mode == "Indexed"
        size, unfit = _size_of(job, notes, is_running=is_stamped and not found.spec.suspend, is_indexed=is_indexed)
        return Pod(
            uid=job.uid,
            namespace=job.namespace,
            name=job.name,
            shape=shape,
            generation=meta.generation,
            resource_version=meta.resource_version,
            queue=labels[QUEUE_NAME],
            priority=self._pods.defaults.priority(template.spec),
            priority_class=labels.get(PRIORITY_CLASS) or (template.metadata.labels or {}).get(PRIORITY_CLASS),
            preempting_class=preempting_class(template.spec.priority_class_name, template.spec.preemption_policy),
            created=job.created,
            **stamps(labels, notes),
            **_state_of(found, is_stamped=is_stamped),
            hold=hold or unclear or _uncountable(job) or unfit,
            outline=replace(outline, template_annotations=template.metadata.annotations is not None),
            has_annotations=meta.annotations is not None,
            owner=Owner("batch/v1", "Job", job.name, job.uid),
            group=group,
            expected_runtime=stated(inside.get(EXPECTED_RUNTIME), found.spec.active_deadline_seconds),
            user=inside.get(USER, ""),
            claims=claims_of(template.spec.resource_claims or ()),
            is_job=True,
            **size,
        )


def run_time_of(document: Mapping[str, Any]) -> int:
    """Return for how many seconds a Job ran from its admission until it was suspended; 0 where it does not say."""
    began = admitted_at((document["metadata"].get("annotations") or {}).get(ADMITTED_AT))
    said = (document.get("status") or {}).get("conditions") or ()
    stopped = next((one.get("lastTransitionTime") for one in said if (one["type"], one["status"]) == _SUSPENDED), None)
    return max(0, round(epoch(stopped) - began)) if began and stopped else 0


def decode_held(raw: bytes | Raw) -> HeldJob | None:
    """Return a Job that is held as a whole and suspended; None for any other. Raise UnreadableObject for no Job."""
    try:
        found = _job.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"job: {error}") from error
    if not (_is_held(found) and found.spec.suspend) or _has_ended(found):
        return None
    return held_job(found.metadata)


def held_job(meta: wire.PodMeta | wire.Owned, kind: WorkloadKind | None = None) -> HeldJob:
    """Return a Job, or an object of a kind, that is held, as whoever frees it knows it."""
    return HeldJob(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        resource_version=meta.resource_version,
        kind=kind,
    )


def _state_of(found: wire.JobObject, *, is_stamped: bool) -> dict[str, Any]:
    """Return what says where the Job stands, as fields of a Pod."""
    is_suspended = bool(found.spec.suspend)
    return {
        "gates": (GATE,) if is_suspended and not is_stamped else (),
        "is_finished": _has_ended(found),
        "is_terminating": found.metadata.deletion_timestamp is not None,
        "is_stopping": is_suspended and is_stamped,
        "ends_by": _ends_by(found),
        "said": condition_of(found.status.conditions or ()),
        "written": ""
        if is_stamped
        else written_by_user(orjson.loads(bytes(found.spec.template)), found.spec.active_deadline_seconds or 0),
    }


def _ends_by(found: wire.JobObject) -> float:
    """Return when a limit ends the Job, counted from its admission: that comes no later than its pods."""
    notes, deadline = found.metadata.annotations or {}, found.spec.active_deadline_seconds
    admitted = admitted_at(notes.get(ADMITTED_AT))
    return admitted + deadline if admitted and deadline and RUN_TIME_LIMIT in notes else 0.0


def _has_ended(found: wire.JobObject) -> bool:
    return any(one.type in _ENDED and one.status == "True" for one in found.status.conditions or ())


def _has_stopped(status: wire.JobStatus) -> bool:
    """Whether the Job controller has seen the suspension: then the apiserver lets the template change."""
    is_told = any(one.type == "Suspended" and one.status == "True" for one in status.conditions or ())
    return not status.active and (is_told or not status.start_time)


def _is_held(found: wire.JobObject) -> bool:
    """Whether the Job is held as a whole: it names a queue itself, and Kubernetes' own controller makes its pods."""
    return bool((found.metadata.labels or {}).get(QUEUE_NAME)) and found.spec.managed_by in (None, JOB_CONTROLLER)


def _to_keep_alive(job: Job) -> int:
    """Return how many pods the Job makes or keeps; of a work queue, once one has succeeded, none is made any more."""
    return 0 if job.completions is None and job.succeeded else job.width


def _size_of(
    job: Job, notes: Mapping[str, str], *, is_running: bool, is_indexed: bool
) -> tuple[dict[str, Any], Hold | None]:
    """Return how many pods it is to keep alive, needs and wants, and how long, as fields of a Pod; and its fault."""
    wanted = max(job.parallelism, read_count(notes.get(WANTED_PARALLELISM, "")) if is_running else 0)
    grows_by_index = is_indexed and job.completions == job.parallelism
    wider = replace(job, parallelism=wanted, completions=wanted if grows_by_index else job.completions)
    count, whole = min(_to_keep_alive(job), MOST_PODS), _to_keep_alive(wider)
    size: dict[str, Any] = {"count": count, "parallelism": wanted, "more": whole - count if whole <= MOST_PODS else 0}
    size["indexes"] = job.parallelism if grows_by_index else 0
    size["run_time"], unread = read_max_run_time(notes)
    size["run_time_used"] = read_used(notes)
    text = notes.get(MIN_PARALLELISM)
    if text is None or is_running or unread:
        return size, None if is_running else unread
    least = read_count(text)
    if not 1 <= least <= job.parallelism:
        what = f"annotation {MIN_PARALLELISM} is {text!r}; write a number from 1 to spec.parallelism"
        return size, Hold(Reason.GANG_INVALID, f"{what} ({job.parallelism}), or remove it")
    return {**size, "least": min(least, count)}, None


def _uncountable(job: Job) -> Hold | None:
    if not job.width:
        return Hold(Reason.HELD, "spec.parallelism is 0, so it creates no pods: raise it to have it admitted")
    if job.width > MOST_PODS:
        what = f"spec.parallelism is {job.width}, more than the {MOST_PODS} pods that are admitted together"
        return Hold(Reason.INVALID_REQUESTS, f"{what}; lower it")
    return None


def _together(job: Job, template: wire.PodTemplate) -> tuple[Membership | None, Hold | None]:
    """Return in which domains the template wants the pods; they are admitted together anyway."""
    key = GroupKey(job.namespace, job.uid, is_job=True)
    owner = Owner("batch/v1", "Job", job.name, job.uid)
    try:
        said = membership(job.namespace, {}, {**(template.metadata.annotations or {}), **_AS_GANG}, owner)
    except GroupFault as fault:
        return Membership(key), Hold(Reason.GANG_INVALID, str(fault))
    return said or Membership(key), None
