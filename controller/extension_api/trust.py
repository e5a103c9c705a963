"""Keeps up whom we believe and who believes us: reads both from the cluster again and again, without dropping anybody.

It polls: three small reads in half a minute, of which hardly any finds a change, cost less than what three watches do.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from math import inf
from typing import Any, Final

from controller.extension_api import registration
from controller.extension_api.certificates import SERVICE, trusting_context
from controller.extension_api.front_proxy import CONFIG_MAP, FrontProxy, read_front_proxy
from controller.extension_api.statuses import Refused
from controller.kube import clock
from controller.kube.client import Client
from controller.kube.errors import KubeError
from controller.telemetry import logs
from controller.telemetry.shared_authority import AuthoritySecret, SharedAuthority, is_due

_log = logs.get("visibility")

SECONDS: Final = 30.0
_SOON_SECONDS: Final = 2.0
"""Until all was read once, and while nobody is sent here, it is tried so often."""


class Trust:
    """What secures connections to the API, for `telemetry/http.serving`, and the front proxy that is believed."""

    def __init__(self, client: Client, namespace: str, *, seconds: float = SECONDS) -> None:
        """`namespace` is where the Service and the Secret are."""
        self._client = client
        self._namespace = namespace
        self._seconds = seconds
        self._secret = AuthoritySecret(client, namespace, SERVICE)
        # without a certificate every handshake fails: nobody is served before we know whom to believe
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._made_of: tuple[SharedAuthority, FrontProxy] | None = None
        self._signed_at = -inf
        self._trouble = ""

    def context(self) -> ssl.SSLContext:
        """What a new connection is served by."""
        return self._context

    def admits(self, certificate: Mapping[str, Any]) -> bool:
        """Every connection is served: who shows no certificate gets a refusal to read."""
        del certificate
        return True

    def front_proxy(self) -> FrontProxy:
        """Return who is believed now. Raises Refused, 503, before that is known."""
        if self._made_of is None:
            raise Refused(503, "not ready: the authority of the apiserver's front proxy was not read yet")
        return self._made_of[1]

    async def keep(self) -> None:
        """Look again and again until cancelled; what fails is logged when it changes, and tried again."""
        while True:
            is_registered = False
            try:
                is_registered = await self.refresh()
                trouble = "" if is_registered else f"{registration.API_SERVICE} does not exist: no request is sent here"
            except KubeError as error:
                trouble = str(error)
            if trouble and trouble != self._trouble:
                _log.warning("visibility_trouble", error=trouble)
            self._trouble = trouble
            await asyncio.sleep(self._seconds if is_registered else _SOON_SECONDS)

    async def refresh(self) -> bool:
        """Look once; say whether there is an APIService that leads here. Raises KubeError."""
        now = clock.now()
        front_proxy = read_front_proxy(await self._client.get(CONFIG_MAP))
        made_of = await self._secret.read(now), front_proxy
        if made_of != self._made_of or is_due(self._signed_at, now):
            # by a thread: a key is made, and OpenSSL reads it from a file
            self._context = await asyncio.to_thread(trusting_context, *made_of, self._namespace, now=now)
            self._made_of, self._signed_at = made_of, now
            _log.info("visibility_certificate", namespace=self._namespace)
        return await registration.register(self._client, made_of[0].bundle_pem)
