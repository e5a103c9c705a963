"""Who looks at the page: the credentials by which the cluster is asked, and how a request shows whose it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from aiohttp import web
from msgspec import Struct

from controller.kube.client import Client


class SignIn(Struct, frozen=True, rename="camel"):
    """What to do to be let in: `kind` is address (open the one that the command printed) or token (send one)."""

    kind: str


class Viewer:
    """Somebody who looks: `key` is the same for the same credentials and tells nothing of them."""

    def __init__(self, key: str, client: Client) -> None:
        self.key = key
        self.client = client
        self.uses = 0

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[None]:
        """Keep the connections open while the block runs."""
        self.uses += 1
        try:
            yield
        finally:
            self.uses -= 1


class Viewers(Protocol):
    """All who may look."""

    sign_in: SignIn

    async def of(self, request: web.Request) -> Viewer | None:
        """Return who has sent a request; None: nobody we know."""
        ...

    def routes(self) -> list[web.RouteDef]:
        """Return the paths by which somebody comes in, and goes."""
        ...
