"""What a manifest of a Job needs to be simulated, told by path and value: no apiserver has looked at it yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from controller.core.kubernetes.amounts import QuantityError, parse_quantity
from controller.core.kubernetes.names import (
    DNS_LABEL_FORM,
    DNS_SUBDOMAIN_FORM,
    is_dns_label,
    is_dns_subdomain,
    is_label_key,
)

_TEMPLATE: Final = "spec.template"
_SHOWN: Final = 80


class ManifestFault(ValueError):
    """What is wrong where in a manifest."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")


def check_job(document: Mapping[str, Any]) -> None:
    """Raise ManifestFault where a Job lacks what the simulation reads, or has it in another form."""
    metadata = _object(document, "metadata")
    _check_name(metadata, "metadata.name", is_dns_subdomain, DNS_SUBDOMAIN_FORM)
    if metadata.get("namespace") is not None:
        _check_name(metadata, "metadata.namespace", is_dns_label, DNS_LABEL_FORM)
    template = _object(_object(document, "spec"), _TEMPLATE)
    if template.get("metadata") is not None:
        _check_texts(_object(template, f"{_TEMPLATE}.metadata"), f"{_TEMPLATE}.metadata.labels")
    spec = _object(template, f"{_TEMPLATE}.spec")
    _check_containers(spec, f"{_TEMPLATE}.spec.containers")
    if not spec["containers"]:
        raise ManifestFault(f"{_TEMPLATE}.spec.containers", "is empty; a pod has one container at least")
    if spec.get("initContainers") is not None:
        _check_containers(spec, f"{_TEMPLATE}.spec.initContainers")
    _check_resources(spec, f"{_TEMPLATE}.spec.resources")


def _object(parent: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return what is at the last part of a path, an object."""
    found = _there(parent, path)
    if not isinstance(found, Mapping):
        raise ManifestFault(path, f"must be an object, and is {_shown(found)}")
    return found


def _there(parent: Mapping[str, Any], path: str) -> Any:
    found = parent.get(path.rpartition(".")[2])
    if found is None:
        raise ManifestFault(path, "is missing; a Job needs it")
    return found


def _check_name(metadata: Mapping[str, Any], path: str, fits: Any, form: str) -> None:
    found = _there(metadata, path)
    if not isinstance(found, str) or not fits(found):
        raise ManifestFault(path, f"{_shown(found)} is no name; write {form}")


def _check_texts(metadata: Mapping[str, Any], path: str) -> None:
    if metadata.get("labels") is None:
        return
    for key, value in _object(metadata, path).items():
        if not isinstance(value, str):
            raise ManifestFault(f"{path}[{key}]", f"must be text, and is {_shown(value)}; put it in quotes")


def _check_containers(spec: Mapping[str, Any], path: str) -> None:
    found = _there(spec, path)
    if not isinstance(found, list):
        raise ManifestFault(path, f"must be a list, and is {_shown(found)}")
    for number, one in enumerate(found):
        where = f"{path}[{number}]"
        if not isinstance(one, Mapping):
            raise ManifestFault(where, f"must be an object, and is {_shown(one)}")
        if one.get("name") is not None:
            _check_name(one, f"{where}.name", is_dns_label, DNS_LABEL_FORM)
        _check_resources(one, f"{where}.resources")


def _check_resources(parent: Mapping[str, Any], path: str) -> None:
    if parent.get("resources") is None:
        return
    resources = _object(parent, path)
    for part in ("requests", "limits"):
        if resources.get(part) is not None:
            _check_quantities(_object(resources, f"{path}.{part}").items(), f"{path}.{part}")


def _check_quantities(quantities: Iterable[tuple[Any, Any]], path: str) -> None:
    for name, value in quantities:
        where = f"{path}[{name}]"
        if not isinstance(name, str) or not is_label_key(name):
            raise ManifestFault(where, "is no name of a resource; write one such as cpu or nvidia.com/gpu")
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ManifestFault(where, f"{_shown(value)} is no text and no whole number; put a quantity in quotes")
        try:
            parse_quantity(value)
        except QuantityError as error:
            raise ManifestFault(where, str(error)) from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
