"""The serving certificate: read at start, read again when its files change, without dropping a connection.

aiohttp keeps the SSLContext it was given; loading a new chain into that same context serves it to new handshakes.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from controller.telemetry import logs

_log = logs.get("tls")

_CHECK_SECONDS = 10.0


class CertificateError(Exception):
    """The certificate or its key cannot be used; the text names the files and the fault."""


class Certificate:
    """A certificate chain and key in files that may be replaced while we serve."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._seen = self._stamp()
        self.load()

    def load(self) -> None:
        """Read the files into the context. Raises CertificateError and keeps what was there."""
        try:
            # a context of its own first: a half-written pair must not spoil the one in use
            for context in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self.context):
                # an encrypted key is a fault, not a question to a terminal that nobody sits at
                context.load_cert_chain(self._certificate, self._key, password=lambda: "")
        except (OSError, ssl.SSLError) as error:
            raise CertificateError(f"certificate {self._certificate} with key {self._key}: {error}") from None

    def refresh(self) -> bool:
        """Load the files again if they changed; say whether a new certificate is served now."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        try:
            self.load()
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

    def _stamp(self) -> tuple[float, ...]:
        try:
            return tuple(path.stat().st_mtime for path in (self._certificate, self._key))
        except OSError:
            return ()
