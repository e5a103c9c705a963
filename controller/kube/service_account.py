"""The connection settings that Kubernetes gives to a pod: its service account's token, the cluster's authority.

They are files that the kubelet writes anew before the token ends. No library is needed for that: ours for kubeconfigs
takes 35 MiB, in each pod.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from controller.kube import clock
from controller.kube.connection import Connection
from controller.kube.errors import ConfigError, Unreachable, one_line

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST = "KUBERNETES_SERVICE_HOST"
_PORT = "KUBERNETES_SERVICE_PORT"
_TOKEN_SECONDS = 60.0
"""For so long a token is used before its file is read again, as client-go does."""


def is_in_pod() -> bool:
    """Whether this process runs in a pod."""
    return HOST in os.environ


def connection() -> Connection:
    """Return how a pod reaches its apiserver. Raises ConfigError with what is missing."""
    host, port = os.environ.get(HOST), os.environ.get(_PORT)
    if not host or not port:
        raise ConfigError(f"service account of this pod: {HOST} or {_PORT} is not set or empty")
    authority, token = FOLDER / "ca.crt", _Token(FOLDER / "token")
    try:
        token.read()
        if not authority.read_bytes():
            raise ValueError(f"{authority} is empty")
    except (OSError, ValueError) as error:
        raise ConfigError(f"service account of this pod: {one_line(error)}") from error
    address = f"[{host}]" if ":" in host else host
    return Connection(host=f"https://{address}:{port}", ca_file=str(authority), authorization=token.authorization)


def namespace() -> str:
    """Return the namespace of this pod; `default` where nothing says it."""
    own = FOLDER / "namespace"
    return own.read_text(encoding="utf-8").strip() if own.exists() else "default"


class _Token:
    """The token of a file, read again once a minute."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._header = ""
        self._until = 0.0

    def read(self) -> None:
        """Read the file. Raises OSError, and ValueError for an empty one."""
        # a header may hold no newline
        token = "".join(self._file.read_text(encoding="utf-8").split())
        if not token:
            raise ValueError(f"{self._file} is empty")
        self._header, self._until = f"Bearer {token}", clock.monotonic() + _TOKEN_SECONDS

    async def authorization(self) -> str:
        """Return the header of a request. Raises Unreachable."""
        if clock.monotonic() >= self._until:
            try:
                await asyncio.to_thread(self.read)
            except (OSError, ValueError) as error:
                raise Unreachable(f"the token cannot be read: {error}") from error
        return self._header
