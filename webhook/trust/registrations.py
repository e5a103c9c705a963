"""Tells the apiserver whom to trust behind the webhook: by the `caBundle` of each of its registrations."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

import orjson
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from controller.kube import clock
from controller.kube.client import Client
from controller.kube.errors import Conflict, NotFound

SERVICE: Final = "penstock-webhook"
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
NAMES: Final = {
    "mutatingwebhookconfigurations": (
        "penstock",
        "penstock-pod-policies",
        "penstock-pod-template-policies",
        "penstock-runtime-class",
        "penstock-scheduling-policies",
    ),
    "validatingwebhookconfigurations": ("penstock", "penstock-pod-policies", "penstock-scheduling-policies"),
}
"""All that Penstock may be registered by. They are asked for by name, so that no right concerns those of others."""
KEPT_SECONDS: Final = 600.0
"""So long there may be replicas that serve a certificate of another source, or by the authority before."""


class Registrations:
    """Those that lead to the webhook's Service in a namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._others: dict[x509.Certificate, float] = {}

    async def trust(self, bundle_pem: bytes) -> int:
        """Write the bundle wherever it is missing; return how many registrations changed. Raises KubeError.

        Another authority that is trusted there stays so for KEPT_SECONDS after it was first seen: while one source
        of certificates replaces another, in either direction, replicas serve certificates of both.
        """
        ours, found = x509.load_pem_x509_certificates(bundle_pem), set[x509.Certificate]()
        changed = 0
        for kind, names in NAMES.items():
            for name in names:
                changed += await self._amend(f"{ADMISSION}/{kind}/{name}", ours, found)
        # one that comes back later is kept anew
        self._others = {one: since for one, since in self._others.items() if one in found}
        return changed

    async def _amend(self, path: str, ours: list[x509.Certificate], found: set[x509.Certificate]) -> bool:
        while True:
            try:
                document = orjson.loads(await self._client.get(path))
            except NotFound:  # its feature is not installed
                return False
            if not self._write(document, ours, found):
                return False
            try:
                await self._client.put(path, document)
            except (Conflict, NotFound):  # somebody else wrote or deleted it just now
                continue
            return True

    def _write(self, document: dict[str, Any], ours: list[x509.Certificate], found: set[x509.Certificate]) -> bool:
        """Write the bundle into a registration as it was read; say whether anything is new."""
        changed = False
        for entry in document.get("webhooks") or ():
            configured = entry["clientConfig"]
            service = configured.get("service") or {}
            if (service.get("name"), service.get("namespace")) != (SERVICE, self._namespace):
                continue
            trusted = _trusted(configured)
            found.update(trusted)
            wanted = [*ours, *(one for one in trusted if one not in ours and self._is_kept(one))]
            if set(wanted) != set(trusted):
                pem = b"".join(one.public_bytes(Encoding.PEM) for one in wanted)
                configured["caBundle"] = base64.b64encode(pem).decode()
                changed = True
        return changed

    def _is_kept(self, other: x509.Certificate) -> bool:
        now = clock.monotonic()
        return now - self._others.setdefault(other, now) < KEPT_SECONDS


def _trusted(configured: Mapping[str, Any]) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(base64.b64decode(configured.get("caBundle") or ""))
    except ValueError:  # empty, or nothing that an apiserver could trust
        return []
