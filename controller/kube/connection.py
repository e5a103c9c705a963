"""How to reach an apiserver, and as whom: read by `config` or `service_account`, used by `client`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

_OF_HEADERS: Final = "!#$&'*+-.^_`|~"
"""What a name of a header may have beside letters and digits."""


async def nobody() -> str:
    """Return no credentials: there are none, or the certificate says who we are."""
    return ""


@dataclass(frozen=True, slots=True)
class ActingAs:
    """Somebody in whose name requests are made (impersonation); the apiserver asks whether we may."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def headers(self) -> list[tuple[str, str]]:
        """As Kubernetes reads them: each group, and each value of an extra, is a header of its own."""
        uid = [("Impersonate-Uid", self.uid)] if self.uid else []
        groups = [("Impersonate-Group", group) for group in self.groups]
        extra = [(f"Impersonate-Extra-{quote(key, safe=_OF_HEADERS)}", value) for key, value in self.extra]
        return [("Impersonate-User", self.user), *uid, *groups, *extra]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """`host` is https://HOST:PORT, maybe with a path; files are PEM.

    `authorization` returns the header of that name for the next request, empty for none. It raises Unreachable.
    `acting_as` is whom a kubeconfig says to impersonate.
    """

    host: str
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_tls: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None
    authorization: Callable[[], Awaitable[str]] = nobody
    acting_as: ActingAs | None = None
