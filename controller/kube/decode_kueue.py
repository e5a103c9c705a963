"""Pods and Jobs of Kueue from the apiserver's bytes, as far as their adoption reads them."""

from __future__ import annotations

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

from controller.core.gate.adoption import KueuePod
from controller.core.gate.job_adoption import KueueJob
from controller.core.gate.job_protection import JOB_CONTROLLER
from controller.core.keys import KUEUE_QUEUE, QUEUE_NAME
from controller.core.workloads.shapes import Constraints
from controller.kube import wire
from controller.kube.decode_owners import controlling_owner
from controller.kube.decode_placement import required_terms
from controller.kube.errors import UnreadableObject


class _Spec(Struct, rename="camel"):
    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: wire.Affinity | None = None
    scheduling_gates: list[wire.Gate] | None = None


class _Status(Struct, rename="camel"):
    phase: str = ""
    start_time: str | None = None


class _Pod(Struct):
    metadata: wire.PodMeta
    spec: _Spec = field(default_factory=_Spec)
    status: _Status = field(default_factory=_Status)


_pod = Decoder(_Pod)


def decode_kueue_pod(raw: bytes | Raw) -> KueuePod:
    """Return the pod; raise UnreadableObject when the bytes are none."""
    try:
        found = _pod.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"pod: {error}") from error
    meta, spec, status = found.metadata, found.spec, found.status
    owner = controlling_owner(meta.owner_references)
    return KueuePod(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        labels=meta.labels or {},
        job=owner.uid if owner is not None and owner.kind == "Job" else "",
        node=spec.node_name or "",
        held_to=Constraints(tuple(sorted((spec.node_selector or {}).items())), required_terms(spec.affinity)),
        gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        is_finished=status.phase in ("Succeeded", "Failed"),
        admitted_at=status.start_time or meta.creation_timestamp or "",
    )


class _Template(Struct, rename="camel"):
    metadata: wire.PodMeta = field(default_factory=wire.PodMeta)
    spec: _Spec = field(default_factory=_Spec)


class _JobSpec(Struct, rename="camel"):
    suspend: bool | None = None
    managed_by: str | None = None
    template: _Template = field(default_factory=_Template)


class _JobStatus(Struct, rename="camel"):
    start_time: str | None = None
    conditions: list[wire.Condition] | None = None


class _Job(Struct):
    metadata: wire.PodMeta
    spec: _JobSpec = field(default_factory=_JobSpec)
    status: _JobStatus = field(default_factory=_JobStatus)


_job = Decoder(_Job)


def decode_kueue_job(raw: bytes | Raw) -> KueueJob:
    """Return the Job; raise UnreadableObject when the bytes are none."""
    try:
        found = _job.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"job: {error}") from error
    meta, spec, status = found.metadata, found.spec, found.status
    inside, owner = spec.template, controlling_owner(meta.owner_references)
    is_of_another = owner is not None and not (owner.kind == "CronJob" and owner.api_version.startswith("batch/"))
    labels = inside.metadata.labels or {}
    return KueueJob(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        labels=meta.labels or {},
        template_annotations=inside.metadata.annotations or {},
        held_to=Constraints(
            tuple(sorted((inside.spec.node_selector or {}).items())), required_terms(inside.spec.affinity)
        ),
        is_suspended=bool(spec.suspend),
        has_gated_pods=QUEUE_NAME in labels or bool(labels.get(KUEUE_QUEUE)) or bool(inside.spec.scheduling_gates),
        is_finished=meta.deletion_timestamp is not None
        or any(one.type in ("Complete", "Failed") and one.status == "True" for one in status.conditions or ()),
        is_of_another=is_of_another or spec.managed_by not in (None, JOB_CONTROLLER),
        admitted_at=status.start_time or meta.creation_timestamp or "",
    )
