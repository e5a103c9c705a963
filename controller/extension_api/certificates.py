"""The certificate that is served, by an authority of Penstock's own, which all replicas share in a Secret.

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

from controller.extension_api.front_proxy import FrontProxy
from controller.kube.client import Client
from controller.kube.errors import Conflict, KubeError, NotFound
from controller.telemetry.authority import Authority, KeyPair

SECRET: Final = "penstock-visibility-ca"  # noqa: S105 - a name, not what it holds
SERVICE: Final = "penstock-visibility"
_DAY: Final = 86_400.0
AUTHORITY_DAYS: Final = 3650.0
_AUTHORITY_LEFT: Final = 365.0
SERVING_DAYS: Final = 90.0
_SERVING_LEFT: Final = 30.0


class TrustingContext(ssl.SSLContext):
    """What secures a connection, and which front proxy its peer was verified for."""

    front_proxy: FrontProxy


@dataclass(frozen=True, slots=True)
class SharedAuthority:
    """The authority of all replicas; `bundle_pem` is who is to be trusted: it, and the one before."""

    pair: KeyPair
    bundle_pem: bytes


class AuthoritySecret:
    """The Secret of a namespace that keeps the authority. All methods raise KubeError."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._path = f"{self._collection}/{SECRET}"

    async def read(self, now: float) -> SharedAuthority:
        """Return the authority; make one where there is none, or little time of it is left. `now`: epoch seconds."""
        while True:
            try:
                found = orjson.loads(await self._client.get(self._path))
            except NotFound:
                found = {}
            known = _read(found)
            if known is not None and Authority.load(known.pair).expires - now > _AUTHORITY_LEFT * _DAY:
                return known
            try:
                return await self._write(found, known, now)
            except Conflict:  # another replica was quicker
                continue

    async def _write(self, found: Mapping[str, Any], known: SharedAuthority | None, now: float) -> SharedAuthority:
        pair = Authority.create("penstock-visibility", now=now, days=AUTHORITY_DAYS).pair
        made = SharedAuthority(pair, pair.certificate_pem + (known.pair.certificate_pem if known is not None else b""))
        kept = {"tls.crt": pair.certificate_pem, "tls.key": pair.key_pem, "ca.crt": made.bundle_pem}
        data = {name: base64.b64encode(value).decode() for name, value in kept.items()}
        labels = {"app.kubernetes.io/part-of": "penstock"}
        if not found:
            document = {"metadata": {"name": SECRET, "labels": labels}, "type": "kubernetes.io/tls", "data": data}
            await self._client.post(self._collection, document)
        else:
            await self._client.put(self._path, {**found, "data": data})
        return made


def serving_context(
    authority: SharedAuthority, front_proxy: FrontProxy, namespace: str, *, now: float
) -> TrustingContext:
    """Return what serves the Service of the namespace to any client, and verifies the certificate of who shows one.

    Raises KubeError where the authority of the front proxy is no certificate.
    """
    names = [f"{SERVICE}.{namespace}.svc", f"{SERVICE}.{namespace}"]
    pair = Authority.load(authority.pair).serving(names, now=now, days=SERVING_DAYS)
    context = TrustingContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with _as_file(pair.certificate_pem + pair.key_pem) as file:
        context.load_cert_chain(file)
    try:
        context.load_verify_locations(cadata=front_proxy.authority_pem)
    except ssl.SSLError as error:
        raise KubeError(f"the authority of the apiserver's front proxy is no certificate: {error}") from error
    context.verify_mode = ssl.CERT_OPTIONAL
    context.front_proxy = front_proxy
    return context


def renewed_at(now: float) -> float:
    """Return when a certificate that is signed now has to be replaced, in epoch seconds."""
    return now + (SERVING_DAYS - _SERVING_LEFT) * _DAY


def _read(secret: Mapping[str, Any]) -> SharedAuthority | None:
    """Return what the Secret holds; None for what is no authority, which is then made anew."""
    try:
        data = {name: base64.b64decode(value) for name, value in (secret.get("data") or {}).items()}
        pair = KeyPair(data["tls.crt"], data["tls.key"])
        Authority.load(pair)
        return SharedAuthority(pair, data["ca.crt"])
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
