"""Asking the apiserver during a review, for what the informers may not have seen yet: a rare case, of bounded time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Raw

from controller.kube.client import Client
from controller.kube.errors import KubeError, NotFound
from controller.telemetry import logs

_T = TypeVar("_T")

_ASK_SECONDS = 0.8
"""Two questions fit into the 2 s that the apiserver waits for us."""

_log = logs.get("live")


async def ask(client: Client, path: str, decode: Callable[[bytes | Raw], _T]) -> _T | None:
    """Read one object from the apiserver; None when there is none, or no answer in time."""
    try:
        return decode(await client.get(path, seconds=_ASK_SECONDS))
    except NotFound:
        return None
    except KubeError as error:
        _log.warning("not_read", path=path, error=str(error))
        return None
