"""The serving certificate: read at start, read again when its files change, without dropping a connection.

Each reading makes a context of its own, which new connections get. Into a context that is in use nothing is loaded: its
certificate and its key come one after the other, and a handshake between the two fails.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509

from controller.telemetry import logs

_log = logs.get("tls")

_CHECK_SECONDS = 10.0


class CertificateError(Exception):
    """The certificate, its key or the authority of clients cannot be used; the text names the files and the fault."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Who is served: anybody, or with `authority` only who shows a certificate by an authority of that file.

    Of these, where there are `names`, only those whose common name or a DNS name is among them.
    """

    authority: Path | None = None
    names: frozenset[str] = frozenset()

    def ask(self, context: ssl.SSLContext) -> None:
        """Let the context ask for the certificates that are needed. Raises CertificateError."""
        if self.authority is None:
            return
        try:
            context.load_verify_locations(self.authority)
        except (OSError, ssl.SSLError) as error:
            raise CertificateError(f"authority of clients {self.authority}: {error}") from None
        context.verify_mode = ssl.CERT_REQUIRED

    def admits(self, certificate: Mapping[str, Any]) -> bool:
        """Whether a client with this certificate, as `ssl` has checked it, is served."""
        if not self.names:
            return True
        subject = {value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"}
        names = subject | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
        if names & self.names:
            return True
        _log.warning("client_refused", names=sorted(names))
        return False


class Certificate:
    """A certificate chain and key in files that may be replaced while we serve, and whom they serve."""

    def __init__(self, certificate: Path, key: Path, clients: Clients | None = None) -> None:
        self._certificate = certificate
        self._key = key
        self._clients = clients or Clients()
        self._seen = self._stamp()
        self._context, self._expires = self._load()

    def context(self) -> ssl.SSLContext:
        """What a new connection is served by."""
        return self._context

    def admits(self, certificate: Mapping[str, Any]) -> bool:
        """Whether a client with this certificate, as `ssl` has checked it, is served."""
        return self._clients.admits(certificate)

    def missing(self) -> str | None:
        """Why there is no certificate to serve yet: files are read at once, or not at all."""
        return None

    def expires(self) -> float:
        """When the certificate that is served ends, in epoch seconds."""
        return self._expires

    def refresh(self) -> bool:
        """Load the files again if they changed; say whether a new certificate is served now."""
        found = self._stamp()
        if found == self._seen:
            return False
        try:
            self._context, self._expires = self._load()
        except CertificateError as error:
            _log.warning("certificate_kept", error=str(error))
            return False
        self._seen = found
        _log.info("certificate_reloaded", file=str(self._certificate))
        return True

    async def watch(self) -> None:
        """Look for changed files until cancelled."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            await asyncio.to_thread(self.refresh)

    def _load(self) -> tuple[ssl.SSLContext, float]:
        """Return what serves the files of now, and when their certificate ends. Raises CertificateError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            # an encrypted key is a fault, not a question to a terminal that nobody sits at
            context.load_cert_chain(self._certificate, self._key, password=lambda: "")
        except (OSError, ssl.SSLError) as error:
            raise CertificateError(f"certificate {self._certificate} with key {self._key}: {error}") from None
        self._clients.ask(context)
        return context, self._end()

    def _end(self) -> float:
        try:
            chain = x509.load_pem_x509_certificates(self._certificate.read_bytes())
        except (OSError, ValueError) as error:
            raise CertificateError(f"certificate {self._certificate}: {error}") from None
        return chain[0].not_valid_after_utc.timestamp()

    def _stamp(self) -> tuple[float, ...]:
        return stamp(self._certificate, self._key, self._clients.authority)


def stamp(*files: Path | None) -> tuple[float, ...]:
    """When these files changed last, to see that they did; nothing while one of them cannot be found."""
    try:
        return tuple(file.stat().st_mtime for file in files if file is not None)
    except OSError:
        return ()
