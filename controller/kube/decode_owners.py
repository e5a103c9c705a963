"""With whom pods belong, from the apiserver's bytes: ownerReferences, Jobs and PodGroups."""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern
from typing import Any, TypeVar

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from controller.core.keys import ADMITTED_JOB, HELD, ON_TOP, PRIORITY_CLASS
from controller.core.kubernetes.owners import Job, Owner
from controller.core.reasons import Reason
from controller.core.workloads.groups import GroupFault, GroupKey, Membership, PodGroup, membership
from controller.core.workloads.held_sets import object_of_set
from controller.core.workloads.workload import Hold
from controller.kube import wire, wire_groups
from controller.kube.clock import epoch
from controller.kube.errors import UnreadableObject

_job = Decoder(wire.JobObject)
_pod_group = Decoder(wire_groups.PodGroupObject)
_INDEX = "batch.kubernetes.io/job-completion-index"
_NEVER = "Never"
_TOGETHER = "PodGroup"
"""The DisruptionMode of v1alpha2 that is `all` since."""
_DEFAULT_BACKOFF = 6
_LONGEST_INDEX = 10
_REMEMBERED = 10_000

_T = TypeVar("_T")


def decode_job(raw: bytes | Raw) -> Job:
    """Return the Job; raise UnreadableObject when the bytes are none."""
    try:
        return job_of(_job.decode(raw))
    except (DecodeError, ValueError) as error:
        raise UnreadableObject(f"job: {error}") from error


def job_of(found: wire.JobObject) -> Job:
    """Return the Job that these bytes were; raise ValueError where a time cannot be read."""
    meta, spec = found.metadata, found.spec
    return Job(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        created=epoch(meta.creation_timestamp),
        parallelism=1 if spec.parallelism is None else spec.parallelism,
        completions=spec.completions,
        succeeded=found.status.succeeded,
        failed=found.status.failed + _uncounted(found.status.uncounted_terminated_pods),
        backoff_limit=_DEFAULT_BACKOFF if spec.backoff_limit is None else spec.backoff_limit,
        is_limited_per_index=spec.backoff_limit_per_index is not None,
        ignores_disruption=_ignores_disruption(spec.pod_failure_policy),
        held=(meta.annotations or {}).get(HELD),
        is_on_top=ON_TOP in (meta.annotations or {}),
        started=epoch(found.status.start_time),
        deadline=spec.active_deadline_seconds or 0,
        priority_class=(meta.labels or {}).get(PRIORITY_CLASS),
        failed_indexes=_count_indexes(found.status.failed_indexes),
    )


def decode_pod_group(raw: bytes | Raw) -> PodGroup:
    """Return the PodGroup; raise UnreadableObject when the bytes are none."""
    try:
        found = _pod_group.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"podgroup: {error}") from error
    spec, gang = found.spec, found.spec.scheduling_policy.gang
    constraints = spec.scheduling_constraints
    return PodGroup(
        found.metadata.namespace,
        found.metadata.name,
        0 if gang is None else gang.min_count,
        topology=tuple(one.key for one in constraints.topology or ()) if constraints is not None else (),
        is_disrupted_together=_is_disrupted_together(spec.disruption_mode),
        priority=spec.priority,
        priority_class=spec.priority_class_name or "",
        preemption_policy=spec.preemption_policy or "",
        parent=spec.parent_composite_pod_group_name or "",
        has_claims=_is_set(spec.resource_claims),
    )


def _is_disrupted_together(mode: wire_groups.DisruptionMode | str | None) -> bool:
    return mode == _TOGETHER if isinstance(mode, str) else mode is not None and _is_set(mode.all)


def _is_set(raw: Raw) -> bool:
    return bytes(raw) not in (b"", b"null", b"[]")


class Kin:
    """Whose a pod is, and with whom it belongs; one object for all pods that have it in common."""

    def __init__(self) -> None:
        self._owners: dict[Owner, Owner] = {}
        self._groups: dict[Membership, Membership] = {}

    def of(
        self, meta: wire.PodMeta, native: wire.SchedulingGroup | None = None, preemption_policy: str | None = None
    ) -> tuple[dict[str, Any], Hold | None]:
        """Return what that makes of the fields of a Pod, and what is wrong with how the pod names its group."""
        owner = controlling_owner(meta.owner_references)
        owner = None if owner is None else _same(self._owners, owner)
        admitted_with = _admitted_with(meta, owner)
        if admitted_with:
            whole = object_of_set(admitted_with)
            key = GroupKey(meta.namespace, whole or admitted_with, is_job=whole is None, is_object=whole is not None)
            together = _same(self._groups, Membership(key))
            return {"owner": owner, "group": together, "admitted_with": intern(admitted_with)}, None
        try:
            named = native.pod_group_name if native is not None else None
            never = preemption_policy == _NEVER
            labels = meta.labels or {}
            group = membership(meta.namespace, labels, meta.annotations, owner, named, never_preempts=never)
        except GroupFault as fault:
            return {"owner": owner}, Hold(Reason.GANG_INVALID, str(fault))
        return {"owner": owner, "group": None if group is None else _same(self._groups, group)}, None


def _admitted_with(meta: wire.PodMeta, owner: Owner | None) -> str:
    """Return the uid of the record with which a pod was admitted: its Job's, or that of a pod set.

    Of a pod set the objects between it and its pods may be several; admission lets only their makers write this.
    """
    said = (meta.annotations or {}).get(ADMITTED_JOB, "")
    if owner is None or not said:
        return ""
    return said if said == owner.uid or object_of_set(said) is not None else ""


def _same(known: dict[_T, _T], one: _T) -> _T:
    if len(known) >= _REMEMBERED:
        known.clear()
    return known.setdefault(one, one)


def controlling_owner(references: Iterable[wire.OwnerReference] | None) -> Owner | None:
    """Return the owner that controls the object; None where nobody does."""
    for one in references or ():
        if one.controller:
            return Owner(one.api_version, one.kind, one.name, one.uid)
    return None


def completion_index(labels: dict[str, str], annotations: dict[str, str] | None) -> int:
    """Return the index of a pod of an Indexed Job; 0 for any other pod."""
    text = labels.get(_INDEX) or (annotations or {}).get(_INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_INDEX else 0


def _count_indexes(text: str) -> int:
    """Count indexes as the Job controller writes them, such as `1,3-5,7`."""
    count = 0
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def _uncounted(pods: wire.UncountedPods | None) -> int:
    return len(pods.failed or ()) if pods is not None else 0


def _ignores_disruption(policy: wire.FailurePolicy | None) -> bool:
    """Whether an evicted pod is not counted; rules are tried in order, and the first that matches decides.

    A rule on exit codes that stands before may match an evicted pod too: then it is not known to be ignored.
    """
    for rule in (policy.rules or ()) if policy is not None else ():
        if any(
            one.type == "DisruptionTarget" and (one.status or "True") == "True" for one in rule.on_pod_conditions or ()
        ):
            return rule.action == "Ignore"
        if bytes(rule.on_exit_codes) not in (b"", b"null") and rule.action != "Ignore":
            return False
    return False
