"""What people may do something to by hand, from the apiserver's bytes: pods, Jobs and queues alike."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

from controller.core.keys import GATE, HELD, ON_TOP, QUEUE_NAME
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.operator_actions import ActionMarks
from controller.kube import wire
from controller.kube.decode_owners import controlling_owner
from controller.kube.errors import UnreadableObject


class _Template(Struct):
    metadata: wire.Owned = field(default_factory=wire.Owned)


class _Spec(Struct, rename="camel"):
    scheduling_gates: list[wire.Gate] | None = None
    stop_policy: str | None = None
    template: _Template = field(default_factory=_Template)


class _Object(Struct):
    metadata: wire.PodMeta
    spec: _Spec = field(default_factory=_Spec)


@dataclass(frozen=True, slots=True)
class Handled:
    """One such object. `is_queued`: a pod at our gate; `names_queue`: a Job whose template names a queue."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    standing: ActionMarks
    owner: Owner | None = None
    is_queued: bool = False
    names_queue: bool = False


_object = Decoder(_Object)


def decode_handled(raw: bytes | Raw) -> Handled:
    """Return the object; raise UnreadableObject when the bytes are none."""
    try:
        found = _object.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"object: {error}") from error
    meta, spec = found.metadata, found.spec
    annotations = meta.annotations or {}
    return Handled(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        standing=ActionMarks(annotations.get(HELD), annotations.get(ON_TOP), spec.stop_policy),
        owner=controlling_owner(meta.owner_references),
        is_queued=any(gate.name == GATE for gate in spec.scheduling_gates or ()),
        names_queue=QUEUE_NAME in (spec.template.metadata.labels or {}),
    )
