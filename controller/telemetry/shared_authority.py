"""An authority of Penstock's own that all replicas of a program share in a Secret, and what they sign with it.

Each replica signs a certificate for itself and never writes that anywhere. What the apiserver trusts is the authority:
it lives for ten years, and beside a new one the one before is still trusted.
"""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import orjson
from cryptography import x509

from controller.kube.client import Client
from controller.kube.errors import Conflict, NotFound
from controller.telemetry.authority import Authority, KeyPair

_DAY: Final = 86_400.0
AUTHORITY_DAYS: Final = 3650.0
_AUTHORITY_LEFT: Final = 365.0
SERVING_DAYS: Final = 90.0
_SERVING_LEFT: Final = 30.0


@dataclass(frozen=True, slots=True)
class SharedAuthority:
    """The authority of all replicas; `bundle_pem` is who is to be trusted: it, and the one before."""

    pair: KeyPair
    bundle_pem: bytes


class AuthoritySecret:
    """The Secret that keeps the authority of what a Service leads to. All methods raise KubeError."""

    def __init__(self, client: Client, namespace: str, service: str) -> None:
        self._client = client
        self._service = service
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._name = f"{service}-ca"
        self._path = f"{self._collection}/{self._name}"

    async def read(self, now: float) -> SharedAuthority:
        """Return the authority; make one where there is none, or little time of it is left. `now`: epoch seconds."""
        while True:
            try:
                found = orjson.loads(await self._client.get(self._path))
            except NotFound:
                found = {}
            known = _read(found)
            if known is not None and _is_good(known, now):
                return known
            try:
                return await self._write(found, known, now)
            except Conflict:  # another replica was quicker
                continue

    async def _write(self, found: Mapping[str, Any], known: SharedAuthority | None, now: float) -> SharedAuthority:
        pair = Authority.create(self._service, now=now, days=AUTHORITY_DAYS).pair
        made = SharedAuthority(pair, pair.certificate_pem + (known.pair.certificate_pem if known is not None else b""))
        kept = {"tls.crt": pair.certificate_pem, "tls.key": pair.key_pem, "ca.crt": made.bundle_pem}
        data = {name: base64.b64encode(value).decode() for name, value in kept.items()}
        labels = {"app.kubernetes.io/part-of": "penstock"}
        if not found:
            document = {"metadata": {"name": self._name, "labels": labels}, "type": "kubernetes.io/tls", "data": data}
            await self._client.post(self._collection, document)
        else:
            await self._client.put(self._path, {**found, "data": data})
        return made


def load_serving(
    context: ssl.SSLContext, authority: SharedAuthority, *, service: str, namespace: str, now: float
) -> None:
    """Let the context serve the Service of the namespace, by a certificate that the authority signs now."""
    names = [f"{service}.{namespace}.svc", f"{service}.{namespace}"]
    pair = Authority.load(authority.pair).serving(names, now=now, days=SERVING_DAYS)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with _as_file(pair.certificate_pem + pair.key_pem) as file:
        context.load_cert_chain(file)


def renewed_at(now: float) -> float:
    """Return when a certificate that is signed now has to be replaced, in epoch seconds."""
    return now + (SERVING_DAYS - _SERVING_LEFT) * _DAY


def is_due(signed_at: float, now: float) -> bool:
    """Whether a certificate that was signed then has to be replaced, in epoch seconds.

    It may end soon; or the clock was ahead when it was signed, and it may not be valid yet.
    """
    return not signed_at <= now < renewed_at(signed_at)


def expires_at(now: float) -> float:
    """Return when a certificate that is signed now ends, in epoch seconds."""
    return now + SERVING_DAYS * _DAY


def _is_good(known: SharedAuthority, now: float) -> bool:
    """Whether it is valid, and for long enough. One made by a clock that was ahead is not valid yet."""
    authority = Authority.load(known.pair)
    return authority.begins <= now and authority.expires - now > _AUTHORITY_LEFT * _DAY


def _read(secret: Mapping[str, Any]) -> SharedAuthority | None:
    """Return what the Secret holds; None for what is no authority, which is then made anew."""
    try:
        data = {name: base64.b64decode(value) for name, value in (secret.get("data") or {}).items()}
        pair = KeyPair(data["tls.crt"], data["tls.key"])
        Authority.load(pair)
        # who trusts a bundle without it trusts nothing that it signs
        is_trusted = x509.load_pem_x509_certificate(pair.certificate_pem) in x509.load_pem_x509_certificates(
            data["ca.crt"]
        )
        return SharedAuthority(pair, data["ca.crt"]) if is_trusted else None
    except (KeyError, ValueError):
        return None


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Let OpenSSL read what is in memory: it takes files only, and the key must not come onto a disk."""
    handle = os.memfd_create("certificate")
    try:
        os.write(handle, content)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
