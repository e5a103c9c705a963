"""Check: the gate, our keys and our condition are ours, and no pod of a queue grows. The rules are in the core.

First of the checks, and the only one that sees subresources and Bindings. What the registration's matchConditions keep
from us is judged here all the same: whoever writes them otherwise must not open a hole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.gate import protection
from controller.core.gate.protection import Guarded
from controller.core.gate.users import noted_user
from controller.core.keys import CONDITION
from controller.core.kubernetes.demand import Quantities
from webhook.pods.creators import actor
from webhook.reviews.admission import Answer, Request
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.subresources import BINDING, RESIZE, STATUS
from webhook.steps.users import is_from_template


def protection_check(request: Request, world: ReviewLookups) -> Answer:
    """Refuse what breaks a rule, with all that is wrong."""
    texts = tuple(_faults(request, world))
    return Answer(denial="; ".join(texts) or None, audit=(("protected", "; ".join(texts)),) if texts else ())


def _faults(request: Request, world: ReviewLookups) -> Iterator[str]:
    who, new = actor(request, world), _guarded(request.pod)
    if request.operation == "CREATE" and request.subresource == BINDING:
        yield from protection.binding_keys(new, who)
    elif request.operation == "CREATE" and not request.subresource:
        labels = world.namespace_labels(request.namespace)
        yield from protection.gate_required(new, who, labels)
        yield from protection.queue_required(new, who, labels)
        yield from protection.stamps_are_ours(new, who)
        yield from protection.gate_needs_queue(new, who)
        is_made = is_from_template(request, world)
        yield from protection.user_is_true(
            new, who, noted_user(new.annotations, request.user, is_from_template=is_made)
        )
    elif request.operation == "UPDATE" and request.old is not None:
        old = _guarded(request.old)
        yield from protection.gate_is_ours(old, new, who)
        yield from protection.keys_are_ours(old, new, who)
        if request.subresource == STATUS:
            yield from protection.condition_is_ours(old, new, who)
        if request.subresource == RESIZE:
            yield from protection.no_growth(old, new, who)


def _guarded(pod: Mapping[str, Any]) -> Guarded:
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return Guarded(
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        gates=tuple(gate.get("name", "") for gate in spec.get("schedulingGates") or ()),
        node=spec.get("nodeName") or "",
        said=tuple(condition for condition in conditions if condition.get("type") == CONDITION),
        requests=dict(_requests(spec)),
    )


def _requests(spec: Mapping[str, Any]) -> Iterator[tuple[str, Quantities]]:
    """By the paths that `core.kubernetes.demand` gives them."""
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            yield f"spec.{kind}[{container.get('name', '')}].resources.requests", _asked(container)
    yield "spec.resources.requests", _asked(spec)


def _asked(holder: Mapping[str, Any]) -> Quantities:
    return (holder.get("resources") or {}).get("requests") or {}
