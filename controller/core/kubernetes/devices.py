"""Devices of claims (resource.k8s.io), as far as they can be counted before they are allocated.

A request is counted by its DeviceClass and its count. Whatever says how many only once nodes are chosen is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""Before the name of a DeviceClass: the resource by which pods request its devices without a claim (KEP-5004)."""


@dataclass(frozen=True, slots=True)
class PodClaim:
    """An entry of a pod's spec.resourceClaims: made from a template for this pod, or a claim that exists by itself."""

    name: str
    template: str = ""
    claim: str = ""


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """`extended_resource`: by which name pods may request its devices like an extended resource; empty: none."""

    name: str
    extended_resource: str = ""


@dataclass(frozen=True, slots=True)
class DeviceOption:
    """So many devices of a class; `is_admin`: access to devices whoever else has them, which takes none."""

    device_class: str
    count: int = 1
    is_all: bool = False
    is_admin: bool = False


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A request of a claim: the first of the options that is available."""

    name: str
    options: tuple[DeviceOption, ...] = ()


class UncountableError(ValueError):
    """Devices cannot be counted; the text names the request, and what to do."""


def devices_of(requests: Iterable[DeviceRequest], resource_of: Callable[[str], str]) -> dict[str, int]:
    """Return how many devices the requests of one claim are, by the resource that a class is charged as.

    Raises UncountableError, and what `resource_of` raises.
    """
    total: dict[str, int] = {}
    for request in requests:
        try:
            resource, count = _counted(request, resource_of)
        except UncountableError as error:
            raise UncountableError(f"request {request.name}: {error}") from None
        if count:
            total[resource] = total.get(resource, 0) + count
    return total


def _counted(request: DeviceRequest, resource_of: Callable[[str], str]) -> tuple[str, int]:
    taking = [one for one in request.options if not one.is_admin]
    if not taking:
        if not request.options:
            raise UncountableError("has neither exactly nor firstAvailable")
        return "", 0
    if any(one.is_all for one in taking):
        raise UncountableError(
            "allocationMode All takes all devices of a node, and nobody knows how many before; write a count"
        )
    resources = {resource_of(one.device_class): None for one in taking}
    if len(resources) > 1:
        names = ", ".join(resources)
        raise UncountableError(
            f"firstAvailable may take devices that are charged differently ({names}); name devices that are charged "
            "alike, or map their classes to one resource"
        )
    return next(iter(resources)), max(one.count for one in taking)
