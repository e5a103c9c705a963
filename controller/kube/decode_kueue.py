"""Pods and Jobs of Kueue from the apiserver's bytes, as far as their adoption reads them."""

from __future__ import annotations

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

from controller.core.gate.adoption import KueuePod
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
