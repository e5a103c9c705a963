"""The events of the pods of a namespace, read as cheaply as this language can."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import orjson

from controller.kube.client import Client

_SILENT_SECONDS = 600.0


class Metadata(msgspec.Struct):
    name: str
    uid: str
    version: str = msgspec.field(name="resourceVersion")


class Gate(msgspec.Struct):
    name: str


class Spec(msgspec.Struct):
    gates: list[Gate] = msgspec.field(default_factory=list, name="schedulingGates")
    node: str = msgspec.field(default="", name="nodeName")


class Pod(msgspec.Struct):
    metadata: Metadata
    spec: Spec


class Event(msgspec.Struct):
    type: str
    object: Pod


_read = msgspec.json.Decoder(Event).decode


async def version_now(client: Client, path: str) -> str:
    """The version of the pods of this path, which events follow."""
    return str(orjson.loads(await client.get(path, {"limit": "1"}))["metadata"]["resourceVersion"])


async def pod_events(client: Client, path: str, version: str) -> AsyncIterator[list[Event]]:
    """All events after this version, those of a chunk together.

    An apiserver ends the watch of whoever does not keep up: the next one goes on where it ended.
    """
    while True:
        params = {"watch": "1", "resourceVersion": version}
        async with client.stream(path, params, silent_seconds=_SILENT_SECONDS) as chunks:
            rest = b""
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                if events := [_read(line) for line in lines]:
                    version = events[-1].object.metadata.version
                    yield events
