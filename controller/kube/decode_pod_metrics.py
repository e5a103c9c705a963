"""What pods use now, as metrics-server says it: PodMetrics of metrics.k8s.io."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

from controller.core.kubernetes.amounts import CPU, MEMORY, demand_amount
from controller.kube.clock import epoch
from controller.kube.errors import UnreadableObject


class _Metadata(Struct):
    namespace: str
    name: str


class _Container(Struct):
    usage: dict[str, str] = field(default_factory=dict)


class _PodMetrics(Struct):
    metadata: _Metadata
    timestamp: str | None = None
    containers: list[_Container] | None = None


_pod_metrics = Decoder(_PodMetrics)


@dataclass(frozen=True, slots=True)
class PodUsage:
    """What the containers of a pod used together, at a time in seconds since 1970; by resource, in its unit."""

    namespace: str
    name: str
    at: float
    amounts: dict[str, int]


def decode_pod_metrics(raw: Raw) -> PodUsage:
    """Return what it says. Raises UnreadableObject."""
    try:
        found = _pod_metrics.decode(raw)
        amounts = {
            name: sum(demand_amount(name, one.usage.get(name, "0")) for one in found.containers or ())
            for name in (CPU, MEMORY)
        }
        return PodUsage(found.metadata.namespace, found.metadata.name, epoch(found.timestamp), amounts)
    except (DecodeError, ValueError) as error:
        raise UnreadableObject(f"PodMetrics: {error}") from error
