"""Who looks at the page: the credentials by which the cluster is asked, and how a request shows whose it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from aiohttp import web
from msgspec import Struct

from controller.kube.client import Client

WHO_AM_I: Final = (
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
)
"""The path and the body by which the apiserver says whose credentials these are; everybody may ask."""


class SignIn(Struct, frozen=True, rename="camel"):
    """What to do to be let in: `kind` is address (open the one that the command printed) or token (send one)."""

    kind: str


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who looks: `key` is the same for the same credentials and tells nothing of them."""

    key: str
    client: Client


class Viewers(Protocol):
    """All who may look."""

    sign_in: SignIn

    async def of(self, request: web.Request) -> Viewer | None:
        """Return who has sent a request; None: nobody we know."""
        ...

    def forget(self, viewer: Viewer) -> bool:
        """Take back what is known of somebody whose credentials are refused now; say whether they can sign in anew."""
        ...

    def routes(self) -> list[web.RouteDef]:
        """Return the paths by which somebody comes in, and goes."""
        ...
