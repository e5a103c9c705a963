"""The page on loopback: one viewer, whose kubeconfig it is; the address that the command prints lets them in.

Others on the machine reach the port as well, and every page in the viewer's browser. Only who has the secret of the
address is let in, and keeps it as a cookie that no script reads and no other site sends.
"""

from __future__ import annotations

import secrets
from hmac import compare_digest

from aiohttp import web

from controller.dashboard.viewers import SignIn, Viewer
from controller.kube.client import Client

OPEN = "/open"


class OneViewer:
    """Whoever has the secret."""

    sign_in = SignIn("address")

    def __init__(self, client: Client) -> None:
        self._viewer = Viewer("kubeconfig", client)
        self._secret = secrets.token_urlsafe(32)
        # cookies know no port: two pages on one machine must not end each other
        self._cookie = f"penstock-{secrets.token_hex(4)}"

    def address(self, host: str, port: int) -> str:
        """Return the address to open."""
        return f"http://{host}:{port}{OPEN}?key={self._secret}"

    async def of(self, request: web.Request) -> Viewer | None:
        """Return the viewer where the request has the cookie."""
        sent = request.cookies.get(self._cookie, "")
        return self._viewer if compare_digest(sent.encode(), self._secret.encode()) else None

    def forget(self, viewer: Viewer) -> bool:
        """Say no: what is wrong is the kubeconfig, which the page cannot change."""
        return False

    def routes(self) -> list[web.RouteDef]:
        """Return the path of the address."""
        return [web.get(OPEN, self._open, allow_head=False)]

    async def _open(self, request: web.Request) -> web.StreamResponse:
        answer = web.Response(status=303, headers={"Location": "/"})
        if compare_digest(request.query.get("key", "").encode(), self._secret.encode()):
            answer.set_cookie(self._cookie, self._secret, httponly=True, samesite="Strict", path="/")
        return answer
