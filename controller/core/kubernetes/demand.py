"""What one pod asks for, as kube-scheduler computes it.

Mirrors `PodRequests` of k8s.io/component-helpers/resource: the greater of the init peaks (each with the sidecars
started before it) and the sum of containers and sidecars, overridden resource by resource by the pod level, plus
overhead, plus one of `pods`. A pod level that names only cpu never drops a container's GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.core.kubernetes.amounts import PODS, QuantityError, Requests, as_requests, demand_amount

Quantities = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Reported:
    """What the node says it gives to a container or pod, which in-place resize lets differ from the spec (KEP-1287)."""

    actuated: Quantities = field(default_factory=dict)
    allocated: Quantities = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContainerDemand:
    """One container: its requests as written, what the node reports of it, and whether it is a sidecar."""

    name: str
    requests: Quantities
    reported: Reported | None = None
    is_sidecar: bool = False


def pod_demand(
    containers: Iterable[ContainerDemand],
    init_containers: Iterable[ContainerDemand] = (),
    *,
    pod_level: Quantities | None = None,
    pod_reported: Reported | None = None,
    overhead: Quantities | None = None,
    is_resize_infeasible: bool = False,
) -> Requests:
    """Compute the demand of one pod: of one on a node the greater of what it asks for and what it holds.

    A resize that the node called infeasible is not counted: it will not come.

    Raises QuantityError with the path of the request that is malformed, negative or overflowing.
    """
    running: dict[str, int] = {}
    for container in containers:
        _add(running, _container_amounts("containers", container, is_resize_infeasible))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in init_containers:
        amounts = _container_amounts("initContainers", container, is_resize_infeasible)
        if container.is_sidecar:
            _add(running, amounts)
            _add(sidecars, amounts)
            _raise_to(peak, sidecars)
        else:
            _add(amounts, sidecars)
            _raise_to(peak, amounts)
    _raise_to(running, peak)
    whole_pod = _effective("spec.resources.requests", pod_level or {}, pod_reported, is_resize_infeasible)
    running.update({resource: amount for resource, amount in whole_pod.items() if _has_pod_level(resource)})
    _add(running, asked_amounts("spec.overhead", overhead or {}))
    running[PODS] = 1
    return as_requests(running)


def _container_amounts(kind: str, container: ContainerDemand, is_infeasible: bool) -> dict[str, int]:
    path = f"spec.{kind}[{container.name}].resources.requests"
    # an init container that is no sidecar cannot be resized
    reported = container.reported if kind == "containers" or container.is_sidecar else None
    return _effective(path, container.requests, reported, is_infeasible)


def _effective(path: str, asked: Quantities, reported: Reported | None, is_infeasible: bool) -> dict[str, int]:
    """Mirrors determineEffectiveRequests of k8s.io/component-helpers/resource."""
    if reported is None:
        return asked_amounts(path, asked)
    amounts = {} if is_infeasible else asked_amounts(path, asked)
    _raise_to(amounts, asked_amounts(path, reported.actuated))
    _raise_to(amounts, asked_amounts(path, reported.allocated))
    return amounts


def asked_amounts(path: str, quantities: Quantities) -> dict[str, int]:
    """Read requests as they are charged; raises QuantityError that begins with `path` and the resource."""
    amounts = {}
    for resource, text in quantities.items():
        try:
            amounts[resource] = demand_amount(resource, text)
        except QuantityError as error:
            raise QuantityError(f"{path}.{resource}: {error}") from None
    return amounts


def _has_pod_level(resource: str) -> bool:
    """KEP-2837: only these can be given for the pod as a whole."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0) + amount


def _raise_to(total: dict[str, int], other: Mapping[str, int]) -> None:
    for resource, amount in other.items():
        if amount > total.get(resource, 0):
            total[resource] = amount
