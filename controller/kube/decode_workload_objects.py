"""Objects of WorkloadKinds from the apiserver's bytes: those that are held as a whole as a record for each pod set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from msgspec import DecodeError, Raw, structs
from msgspec.json import Decoder

from controller.core.forecasts.runtimes import stated
from controller.core.gate.job_protection import MOST_PODS
from controller.core.gate.job_release import written_by_user
from controller.core.gate.opening import HeldJob
from controller.core.keys import (
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    CONDITION,
    EXPECTED_RUNTIME,
    GATE,
    HELD,
    ON_TOP,
    ORIGINAL_TEMPLATE,
    PRIORITY_CLASS,
    QUEUE_NAME,
    RELEASE_ATTEMPT,
    USER,
)
from controller.core.kubernetes.owners import Owner
from controller.core.kubernetes.pointers import pointer
from controller.core.queueing.scheduler_preemption import preempting_class
from controller.core.reasons import Reason
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workload_kinds.reading import (
    FoundSet,
    UnreadablePodSets,
    has_ended,
    is_suspended,
    pod_sets_of,
)
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.held_sets import uid_of_set
from controller.core.workloads.pods import HeldSet, Pod, PublishedCondition
from controller.core.workloads.shapes import Constraints, Shape
from controller.core.workloads.topology import TopologyFault, read_topology
from controller.core.workloads.workload import Hold
from controller.kube import wire
from controller.kube.clock import epoch
from controller.kube.decode import PodDecoder, claims_of, condition_of
from controller.kube.decode_jobs import held_job
from controller.kube.decode_owners import controlling_owner
from controller.kube.decode_reserved import stamps
from controller.kube.errors import UnreadableObject

_object = Decoder(wire.OwnedObject)
_template = Decoder(wire.PodTemplate)
_condition = Decoder(wire.Condition)
_NOTHING: Final = Shape((), Constraints())


@dataclass(frozen=True, slots=True)
class ObjectState:
    """An object of a WorkloadKind, with the records of its pod sets where it is held as a whole."""

    uid: str
    sets: tuple[Pod, ...] = ()


class WorkloadObjectDecoder:
    """Decode the objects of one kind. Templates are read by the decoder of pods, which remembers what repeats."""

    def __init__(self, kind: WorkloadKind, pods: PodDecoder) -> None:
        self.kind = kind
        self._pods = pods

    def __call__(self, raw: bytes | Raw) -> ObjectState:
        """Return the object; raise UnreadableObject when the bytes are none.

        An object that another one controls is not held: that says when it begins.
        """
        try:
            meta = _object.decode(raw).metadata
            sets = self._sets(orjson.loads(bytes(raw)), meta) if _is_held(meta) else ()
        except (DecodeError, ValueError) as error:
            raise UnreadableObject(f"{self.kind.kind}: {error}") from error
        return ObjectState(meta.uid, sets)

    def _sets(self, document: Mapping[str, Any], meta: wire.PodMeta) -> tuple[Pod, ...]:
        base = self._base(document, meta)
        try:
            found = pod_sets_of(self.kind, document)
        except UnreadablePodSets as fault:
            return (replace(base, hold=Hold(Reason.INVALID_REQUESTS, str(fault))),)
        hold = _uncountable(found)
        if not found:
            return (replace(base, hold=hold),)
        group, unclear = _together(meta, len(found))
        records = [self._record(base, one, is_first=not number) for number, one in enumerate(found)]
        return tuple(replace(one, group=group, hold=one.hold or unclear or hold) for one in records)

    def _base(self, document: Mapping[str, Any], meta: wire.PodMeta) -> Pod:
        """Return what all pod sets have in common, as a record of none."""
        labels, notes, kind = meta.labels or {}, meta.annotations or {}, self.kind
        is_admitted = CLUSTER_QUEUE in labels or ORIGINAL_TEMPLATE in notes
        is_stopped = is_suspended(kind, document)
        held = HeldSet(kind.name, kind.path(meta.namespace, meta.name), meta.uid, "", "", pointer(kind.suspend))
        return Pod(
            uid=uid_of_set(meta.uid, ""),
            namespace=meta.namespace,
            name=meta.name,
            shape=_NOTHING,
            generation=meta.generation,
            resource_version=meta.resource_version,
            queue=labels[QUEUE_NAME],
            gates=(GATE,) if is_stopped and not is_admitted else (),
            priority_class=labels.get(PRIORITY_CLASS),
            created=epoch(meta.creation_timestamp),
            is_finished=has_ended(kind, document),
            is_terminating=meta.deletion_timestamp is not None,
            release_attempt=notes.get(RELEASE_ATTEMPT),
            said=_condition_in(notes.get(CONDITION)),
            has_annotations=meta.annotations is not None,
            owner=Owner(kind.api_version, kind.kind, meta.name, meta.uid),
            group=Membership(GroupKey(meta.namespace, meta.uid, is_object=True), 1),
            expected_runtime=stated(notes.get(EXPECTED_RUNTIME), None),
            user=notes.get(USER, ""),
            held=notes.get(HELD),
            is_on_top=ON_TOP in notes,
            is_job=True,
            is_stopping=is_stopped and is_admitted,
            held_set=held,
        )

    def _record(self, base: Pod, found: FoundSet, *, is_first: bool) -> Pod:
        template = _template.decode(orjson.dumps(found.template))
        shape, outline, _, hold = self._pods.of_template(template, base.namespace)
        labels, notes, spec = template.metadata.labels, template.metadata.annotations, template.spec
        if base.held_set is None:
            raise AssertionError("the record of a pod set says of which object")
        uid = uid_of_set(base.held_set.uid, found.name)
        metadata = found.template.get("metadata")
        held = replace(
            base.held_set,
            name=found.name,
            template=found.pointer,
            is_first=is_first,
            has_metadata=metadata is not None,
            has_labels=labels is not None,
        )
        return replace(
            base,
            uid=uid,
            name=f"{base.name}.{found.name}",
            shape=shape,
            priority=self._pods.defaults.priority(spec),
            preempting_class=preempting_class(spec.priority_class_name, spec.preemption_policy),
            **{**stamps(labels or {}, notes or {}), "release_attempt": base.release_attempt},
            hold=hold,
            outline=replace(outline, template_annotations=notes is not None),
            claims=claims_of(spec.resource_claims or ()),
            count=found.count,
            written="" if ADMITTED_JOB in (notes or {}) else written_by_user(found.template),
            held_set=held,
        )


def _condition_in(note: str | None) -> PublishedCondition | None:
    """Read our condition, which is an annotation; what others may have made of it is none."""
    try:
        return None if note is None else condition_of([structs.replace(_condition.decode(note), type=CONDITION)])
    except (DecodeError, ValueError):
        return None


def decode_held_object(kind: WorkloadKind, raw: bytes | Raw) -> HeldJob | None:
    """Return an object that is held as a whole and suspended; None for any other. Raise UnreadableObject for none."""
    try:
        meta, document = _object.decode(raw).metadata, orjson.loads(bytes(raw))
    except (DecodeError, ValueError) as error:
        raise UnreadableObject(f"{kind.kind}: {error}") from error
    is_waiting = _is_held(meta) and is_suspended(kind, document) and not has_ended(kind, document)
    return held_job(meta, kind) if is_waiting else None


def _is_held(meta: wire.PodMeta) -> bool:
    """Whether the object is held as a whole: it names a queue, and no other object controls it."""
    return bool((meta.labels or {}).get(QUEUE_NAME)) and controlling_owner(meta.owner_references) is None


def _uncountable(found: Iterable[FoundSet]) -> Hold | None:
    count = sum(one.count for one in found)
    if not count:
        return Hold(Reason.HELD, "no pod set of it has pods: write how many replicas there are to be")
    if count > MOST_PODS:
        what = f"its pod sets have {count} pods, more than the {MOST_PODS} that are admitted together"
        return Hold(Reason.INVALID_REQUESTS, f"{what}; write fewer replicas")
    return None


def _together(meta: wire.PodMeta, sets: int) -> tuple[Membership, Hold | None]:
    """Return the group that its pod sets are, in the domain that the object's own annotations name."""
    key = GroupKey(meta.namespace, meta.uid, is_object=True)
    try:
        return Membership(key, sets, read_topology(meta.annotations or {})), None
    except TopologyFault as fault:
        return Membership(key, sets), Hold(Reason.GANG_INVALID, str(fault))
