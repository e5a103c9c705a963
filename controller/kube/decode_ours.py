"""Objects of our own kinds as JSON, with their metadata; of what form the rest is, `controller.api` judges."""

from __future__ import annotations

from typing import Any

import orjson
from msgspec import Raw

from controller.kube.decode import decode_metadata
from controller.kube.errors import UnreadableObject
from controller.kube.wire import Owned


def decode_ours(raw: Raw, what: str) -> tuple[dict[str, Any], Owned]:
    """Return the object and its metadata; raise UnreadableObject for what is none, or has no name."""
    metadata = decode_metadata(raw)
    if not metadata.name:
        raise UnreadableObject(f"{what} without metadata.name")
    try:
        return orjson.loads(bytes(raw)), metadata
    except ValueError as error:
        raise UnreadableObject(f"{what}: {error}") from error
