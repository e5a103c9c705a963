"""Who asks: the apiserver says it in headers, which are believed only of who shows the certificate of its front proxy.

As `requestheader` of k8s.io/apiserver does. Which authority signs that certificate, which common names it may have and
how the headers are called stands in the ConfigMap `extension-apiserver-authentication`, which each apiserver writes
when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import orjson
from msgspec import DecodeError, Struct, json

from controller.extension_api.statuses import Refused
from controller.kube.errors import KubeError

CONFIG_MAP: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_AUTHORITY, _NAMES = "requestheader-client-ca-file", "requestheader-allowed-names"
_USERS, _UIDS = "requestheader-username-headers", "requestheader-uid-headers"
_GROUPS, _EXTRAS = "requestheader-group-headers", "requestheader-extra-headers-prefix"
_NO_UIDS: Final = "[]"
"""What a Kubernetes before 1.32 does not write."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks, as the apiserver has authenticated them. `extra` has values by key, in the order of the keys."""

    user: str
    uid: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """Whom to believe: certificates by `authority_pem` of one of the common names (none: of any), and in which headers.

    Names of headers are in lower case.
    """

    authority_pem: str
    names: frozenset[str]
    user_headers: tuple[str, ...]
    uid_headers: tuple[str, ...]
    group_headers: tuple[str, ...]
    extra_prefixes: tuple[str, ...]

    def viewer(self, certificate: Mapping[str, Any], headers: Sequence[tuple[str, str]]) -> Viewer:
        """Return who asks, by headers and the certificate that TLS has verified (empty: none). Raises Refused, 401."""
        subject = {value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"}
        if not certificate or (self.names and not subject & self.names):
            raise Refused(401, "only the apiserver is served here: ask it, by kubectl or at its own address")
        values = [(name.lower(), value) for name, value in headers]
        user = next((value for header in self.user_headers for name, value in values if name == header and value), "")
        if not user:
            raise Refused(401, f"the request names no user in the header {' or '.join(self.user_headers)}")
        uid = next((value for header in self.uid_headers for name, value in values if name == header and value), "")
        groups = tuple(value for name, value in values if name in self.group_headers)
        return Viewer(user, uid, groups, self._extra(values))

    def _extra(self, values: Sequence[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found: dict[str, list[str]] = {}
        for name, value in values:
            prefix = next((one for one in self.extra_prefixes if name.startswith(one)), None)
            if prefix is not None:
                found.setdefault(unquote(name.removeprefix(prefix)), []).append(value)
        return tuple((key, tuple(those)) for key, those in sorted(found.items()))


class _ConfigMap(Struct):
    data: dict[str, str] = {}


_config_map = json.Decoder(_ConfigMap)


def read_front_proxy(document: bytes) -> FrontProxy:
    """Read the ConfigMap. Raises KubeError, with what is missing, where it names no authority or no header of users."""
    try:
        data = _config_map.decode(document).data
        lists = {key: _texts(data.get(key, _NO_UIDS)) for key in (_NAMES, _USERS, _UIDS, _GROUPS, _EXTRAS)}
    except (DecodeError, orjson.JSONDecodeError, TypeError) as error:
        raise KubeError(f"{CONFIG_MAP}: it cannot be read: {error}") from None
    authority = data.get(_AUTHORITY, "")
    if not authority or not lists[_USERS]:
        raise KubeError(
            f"{CONFIG_MAP} has no {_USERS if authority else _AUTHORITY}: the apiserver runs without its aggregation "
            f"layer; start it with --{_AUTHORITY}, --{_USERS} and --proxy-client-cert-file"
        )
    headers = (tuple(one.lower() for one in lists[key]) for key in (_USERS, _UIDS, _GROUPS, _EXTRAS))
    return FrontProxy(authority, frozenset(lists[_NAMES]), *headers)


def _texts(value: str) -> tuple[str, ...]:
    return tuple(str(one) for one in orjson.loads(value))
