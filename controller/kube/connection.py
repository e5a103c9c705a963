"""How to reach an apiserver, and as whom: read by `config` or `service_account`, used by `client`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


async def nobody() -> str:
    """Return no credentials: there are none, or the certificate says who we are."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """`host` is https://HOST:PORT, maybe with a path; files are PEM.

    `authorization` returns the header of that name for the next request, empty for none. It raises Unreachable.
    """

    host: str
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_tls: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None
    authorization: Callable[[], Awaitable[str]] = nobody
