"""What the apiserver adds to the pods of a template when they are created: known before, so that it is charged before.

Limits are requests where a container does not say (`SetDefaults_Pod`), LimitRanges fill in what is missing then
(`LimitRanger`), a RuntimeClass brings overhead and rules of scheduling, and a PriorityClass the priority.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from msgspec import DecodeError, Raw, structs
from msgspec.json import Decoder

from controller.core.kubernetes.priority_classes import PriorityClass, default_of
from controller.core.kubernetes.runtime_classes import Conflict, RuntimeClass, additions
from controller.core.kubernetes.taints import Toleration
from controller.kube import wire
from controller.kube.decode_placement import read_toleration
from controller.kube.errors import UnreadableObject
from controller.kube.wire_limits import LimitRangeObject

Quantities = Mapping[str, str | int]
_resources = Decoder(wire.Resources | None)
_selector = Decoder(dict[str, str] | None)
_tolerations = Decoder(list[wire.PodToleration] | None)
_quantities = Decoder(dict[str, str | int] | None)
_limit_range = Decoder(LimitRangeObject)
_NOTHING: Final = wire.Resources()


@dataclass(frozen=True, slots=True)
class LimitRange:
    """A LimitRange, as far as it fills in what containers do not say."""

    namespace: str
    name: str
    limits: Quantities
    requests: Quantities

    @property
    def key(self) -> tuple[str, str]:
        """(namespace, name)."""
        return self.namespace, self.name


def decode_limit_range(raw: bytes | Raw) -> LimitRange:
    """Return the LimitRange; raise UnreadableObject when the bytes are none."""
    try:
        found = _limit_range.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"limitrange: {error}") from error
    of_containers = [one for one in found.spec.limits if one.type == "Container"]
    return LimitRange(
        found.metadata.namespace,
        found.metadata.name,
        {key: amount for one in of_containers for key, amount in (one.default or {}).items()},
        {key: amount for one in of_containers for key, amount in (one.default_request or {}).items()},
    )


class TemplateDefaults:
    """The classes and LimitRanges of a cluster, and what they make of a template."""

    def __init__(self) -> None:
        self.priority_classes: dict[str, PriorityClass] = {}
        self.runtime_classes: dict[str, RuntimeClass] = {}
        self.limit_ranges: dict[tuple[str, str], LimitRange] = {}
        self.version = 0
        """Another one after each change: what was made of templates before may be another by now."""

    def priority(self, spec: wire.PodSpec) -> int:
        """Return the priority of the pods: that of their class, or of the cluster's default class."""
        name = spec.priority_class_name or default_of(self.priority_classes.values())
        found = self.priority_classes.get(name)
        return 0 if found is None else found.value

    def completed(self, spec: wire.PodSpec, namespace: str) -> wire.PodSpec:
        """Return the spec as that of its pods will be."""
        ranges = [one for key, one in sorted(self.limit_ranges.items()) if key[0] == namespace]
        containers = [_asking(one, ranges) for one in spec.containers]
        first = None if spec.init_containers is None else [_asking(one, ranges) for one in spec.init_containers]
        found = structs.replace(spec, containers=containers, init_containers=first)
        wanted = self.runtime_classes.get(spec.runtime_class_name or "")
        return found if wanted is None else _of_class(found, wanted)


def _asking(container: wire.Container, ranges: Iterable[LimitRange]) -> wire.Container:
    """Return a container with all its requests."""
    said = (_resources.decode(container.resources) if bytes(container.resources) else None) or _NOTHING
    requests = {**(said.limits or {}), **(said.requests or {})}
    for one in ranges:
        # a limit that is only filled in is no request: those are filled in by themselves
        requests = {**one.requests, **requests}
    if requests == (said.requests or {}):
        return container
    return structs.replace(container, resources=Raw(orjson.dumps({"requests": requests})))


def _of_class(spec: wire.PodSpec, wanted: RuntimeClass) -> wire.PodSpec:
    """Return the spec with what its RuntimeClass adds; as it is where they contradict, since no pod is created then."""
    selector = _read(_selector, spec.node_selector) or {}
    tolerations = tuple(read_toleration(one) for one in _read(_tolerations, spec.tolerations) or ())
    added = additions(selector, tolerations, _read(_quantities, spec.overhead) or {}, wanted)
    if isinstance(added, Conflict):
        return spec
    changes: dict[str, Any] = {}
    if added.node_selector:
        changes["node_selector"] = _raw({**selector, **added.node_selector})
    if added.tolerations:
        changes["tolerations"] = _raw([_written(one) for one in added.tolerations])
    if added.overhead:
        changes["overhead"] = _raw(dict(added.overhead))
    return structs.replace(spec, **changes)


def _read(decoder: Decoder[Any], raw: Raw) -> Any:
    return decoder.decode(raw) if bytes(raw) else None


def _raw(value: Any) -> Raw:
    return Raw(orjson.dumps(value))


def _written(one: Toleration) -> dict[str, Any]:
    found = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    seconds = {} if one.seconds is None else {"tolerationSeconds": one.seconds}
    return {**{key: value for key, value in found.items() if value}, **seconds}
