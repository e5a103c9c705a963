"""What protects the viewer: what the page may load and send, and who may call its server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware
from yarl import URL

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

HEADERS: Final[Mapping[str, str]] = {
    # everything is from here: nothing runs that stands in a name or a message
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_OWN_SITE: Final = ("same-origin", "none")
"""What browsers say of a request that no other site has made."""


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Add the headers to an answer; a signal of aiohttp, since streams are prepared before a middleware sees them."""
    response.headers.update(HEADERS)


@web.middleware
async def of_own_site(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what another site sends by the viewer's browser; who is no browser does not say where it comes from."""
    if request.path.startswith("/api/") and request.headers.get("Sec-Fetch-Site", "none") not in _OWN_SITE:
        raise web.HTTPForbidden(text="requests of other sites are refused")
    return await handler(request)


def only_for(names: Callable[[str], bool]) -> Middleware:
    """Return what refuses requests to other hosts: a name of somebody else's that leads here shares no cookies."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not names(_host(request.host)):
            raise web.HTTPForbidden(text="this page is not called so")
        return await handler(request)

    return check


def _host(header: str) -> str:
    """Return the name in a Host header, with or without a port; empty: it has none."""
    try:
        return URL(f"http://{header}").host or ""
    except ValueError:
        return ""
