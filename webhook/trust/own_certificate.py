"""A certificate of the webhook's own: signed here, by an authority that all replicas share, and trusted before use.

It polls: a few small reads every few seconds find a registration that is new, or applied again without its `caBundle`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from math import inf
from typing import Any, Final

from controller.kube import clock
from controller.kube.client import Client
from controller.kube.errors import KubeError
from controller.telemetry import logs
from controller.telemetry.shared_authority import (
    AuthoritySecret,
    SharedAuthority,
    expires_at,
    is_due,
    load_serving,
    renewed_at,
)
from controller.telemetry.tls import CertificateError, Clients, stamp
from webhook.trust.registrations import SERVICE, Registrations

_log = logs.get("tls")

SECONDS: Final = 5.0
SETTLING_SECONDS: Final = 5.0
"""An apiserver hears of a registration by a watch, a moment after it was written."""
_SOON_SECONDS: Final = 1.0
"""So often it is looked while an authority settles."""


class OwnCertificate:
    """What secures connections to the webhook, for `telemetry/http.serving`; `watch` makes it and keeps it up."""

    def __init__(self, client: Client, namespace: str, clients: Clients) -> None:
        """`namespace` is where the Service and the Secret are; `clients` is who is served."""
        self._namespace = namespace
        self._clients = clients
        self._secret = AuthoritySecret(client, namespace, SERVICE)
        self._registrations = Registrations(client, namespace)
        # without a certificate every handshake fails: nobody is served before the apiserver trusts us
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._made_of: tuple[SharedAuthority, tuple[float, ...]] | None = None
        self._signed_at = -inf
        self._trusted: SharedAuthority | None = None
        self._trusted_since = inf
        self._trouble = ""

    def context(self) -> ssl.SSLContext:
        """What a new connection is served by."""
        return self._context

    def admits(self, certificate: Mapping[str, Any]) -> bool:
        """Whether a client with this certificate, as `ssl` has checked it, is served."""
        return self._clients.admits(certificate)

    def missing(self) -> str | None:
        """Why there is no certificate to serve yet; None when there is one."""
        if self._made_of is None:
            return f"no certificate yet: {self._trouble or 'it is being made'}"
        if clock.now() >= self.expires():
            return (
                f"the certificate expired at {clock.rfc3339(self.expires())}: {self._trouble or 'it is being renewed'}"
            )
        return None

    def expires(self) -> float:
        """When the certificate that is served ends, in epoch seconds; 0 while there is none."""
        return 0.0 if self._made_of is None else expires_at(self._signed_at)

    async def watch(self) -> None:
        """Look again and again until cancelled; what fails is logged when it changes, and tried again."""
        while True:
            is_served = True
            try:
                is_served = await self.refresh()
                trouble = ""
            except (KubeError, CertificateError) as error:
                trouble = str(error)
            if trouble and trouble != self._trouble:
                _log.warning("certificate_trouble", error=trouble)
            self._trouble = trouble
            await asyncio.sleep(SECONDS if is_served else _SOON_SECONDS)

    async def refresh(self) -> bool:
        """Look once; say whether a certificate by the authority of now is served. Raises KubeError, CertificateError.

        Only after the apiserver was told of an authority, and nobody has changed that for SETTLING_SECONDS, it is
        used; that is read again each time, for another replica may have replaced the authority meanwhile.
        """
        now = clock.now()
        authority = await self._secret.read(now)
        written = await self._registrations.trust(authority.bundle_pem)
        if written or authority != self._trusted:
            self._trusted, self._trusted_since = authority, clock.monotonic()
            _log.info("certificate_trusted", registrations=written)
        is_served = self._made_of is not None and self._made_of[0] == authority
        if not is_served and clock.monotonic() - self._trusted_since < SETTLING_SECONDS:
            return False
        made_of = authority, await asyncio.to_thread(stamp, self._clients.authority)
        if made_of != self._made_of or is_due(self._signed_at, now):
            # by a thread: a key is made, and OpenSSL reads it from a file
            self._context = await asyncio.to_thread(self._signed, authority, now)
            self._made_of, self._signed_at = made_of, now
            _log.info("certificate_signed", renewed=clock.rfc3339(renewed_at(now)))
        return True

    def _signed(self, authority: SharedAuthority, now: float) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load_serving(context, authority, service=SERVICE, namespace=self._namespace, now=now)
        self._clients.ask(context)
        return context
