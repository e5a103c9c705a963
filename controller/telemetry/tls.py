"""The serving certificate: read at start, read again when its files change, without dropping a connection.

Each reading makes a context of its own, which new connections get. Into a context that is in use nothing is loaded: its
certificate and its key come one after the other, and a handshake between the two fails.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.telemetry import logs

_log = logs.get("tls")

_CHECK_SECONDS = 10.0


class CertificateError(Exception):
    """The certificate, its key or the authority of clients cannot be used; the text names the files and the fault."""


class Certificate:
    """A certificate chain and key in files that may be replaced while we serve.

    With `client_ca` only clients with a certificate by an authority of that file are served, and of these, where there
    are `client_names`, only those whose common name or a DNS name is among them.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        client_ca: Path | None = None,
        client_names: frozenset[str] = frozenset(),
    ) -> None:
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._client_names = client_names
        self._seen = self._stamp()
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """What a new connection is served by."""
        return self._context

    def admits(self, certificate: Mapping[str, Any]) -> bool:
        """Whether a client with this certificate, as `ssl` has checked it, is served."""
        if not self._client_names:
            return True
        subject = {value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"}
        names = subject | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
        if names & self._client_names:
            return True
        _log.warning("client_refused", names=sorted(names))
        return False

    def refresh(self) -> bool:
        """Load the files again if they changed; say whether a new certificate is served now."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        try:
            self._context = self._load()
        except CertificateError as error:
            _log.warning("certificate_kept", error=str(error))
            return False
        self._seen = stamp
        _log.info("certificate_reloaded", file=str(self._certificate))
        return True

    async def watch(self) -> None:
        """Look for changed files until cancelled."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            await asyncio.to_thread(self.refresh)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            # an encrypted key is a fault, not a question to a terminal that nobody sits at
            context.load_cert_chain(self._certificate, self._key, password=lambda: "")
        except (OSError, ssl.SSLError) as error:
            raise CertificateError(f"certificate {self._certificate} with key {self._key}: {error}") from None
        if self._client_ca is not None:
            try:
                context.load_verify_locations(self._client_ca)
            except (OSError, ssl.SSLError) as error:
                raise CertificateError(f"authority of clients {self._client_ca}: {error}") from None
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _stamp(self) -> tuple[float, ...]:
        files = (self._certificate, self._key, self._client_ca)
        try:
            return tuple(path.stat().st_mtime for path in files if path is not None)
        except OSError:
            return ()
