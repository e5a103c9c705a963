"""DeviceClasses and ResourceClaimTemplates (resource.k8s.io, v1 and v1beta2) to what the core counts."""

from __future__ import annotations

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

from controller.core.kubernetes.devices import DeviceClass, DeviceOption, DeviceRequest
from controller.kube.errors import UnreadableObject
from controller.kube.wire import Owned


class _ClassSpec(Struct, rename="camel"):
    extended_resource_name: str | None = None


class _Class(Struct):
    metadata: Owned
    spec: _ClassSpec = field(default_factory=_ClassSpec)


class _Option(Struct, rename="camel"):
    """ExactDeviceRequest and DeviceSubRequest."""

    device_class_name: str
    allocation_mode: str | None = None
    count: int | None = None
    admin_access: bool | None = None

    @property
    def meaning(self) -> DeviceOption:
        is_all = (self.allocation_mode or "ExactCount") != "ExactCount"
        return DeviceOption(self.device_class_name, self.count or 1, is_all, bool(self.admin_access))


class _Request(Struct, rename="camel"):
    name: str
    exactly: _Option | None = None
    first_available: list[_Option] | None = None


class _Devices(Struct):
    requests: list[_Request] | None = None


class _ClaimSpec(Struct):
    devices: _Devices = field(default_factory=_Devices)


class _TemplateSpec(Struct):
    spec: _ClaimSpec = field(default_factory=_ClaimSpec)


class _Template(Struct):
    metadata: Owned
    spec: _TemplateSpec = field(default_factory=_TemplateSpec)


class ClaimTemplate(Struct, frozen=True):
    """What claims made from a template request."""

    namespace: str
    name: str
    requests: tuple[DeviceRequest, ...]


_class = Decoder(_Class)
_template = Decoder(_Template)


def decode_device_class(raw: bytes | Raw) -> DeviceClass:
    """Return the DeviceClass; raise UnreadableObject when the bytes are none."""
    try:
        found = _class.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"deviceclass: {error}") from error
    return DeviceClass(found.metadata.name, found.spec.extended_resource_name or "")


def decode_claim_template(raw: bytes | Raw) -> ClaimTemplate:
    """Return the ResourceClaimTemplate; raise UnreadableObject when the bytes are none."""
    try:
        found = _template.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"resourceclaimtemplate: {error}") from error
    requests = found.spec.spec.devices.requests or ()
    return ClaimTemplate(found.metadata.namespace, found.metadata.name, tuple(map(_meaning, requests)))


def _meaning(request: _Request) -> DeviceRequest:
    options = [request.exactly] if request.exactly is not None else request.first_available or []
    return DeviceRequest(request.name, tuple(one.meaning for one in options))
