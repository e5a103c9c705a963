"""Who was evicted lately of what people name: by the Events that the controller wrote, for the hour that these last."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from msgspec import DecodeError, Struct, field, json

from controller.cli.asking import Source
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import Forbidden
from controller.runtime.operator_action_targets import Target
from controller.telemetry.events import COMPONENT

_REASON = "Evicted"


class _Object(Struct):
    name: str = ""


class _Event(Struct):
    involved: _Object = field(name="involvedObject", default_factory=_Object)
    message: str = ""
    at: str | None = field(name="lastTimestamp", default=None)
    component: str = field(name="reportingComponent", default="")


class _Events(Struct):
    items: list[_Event]


class Evicted(Struct, frozen=True, rename="camel"):
    """A pod that was evicted: when, and for whom by which rule."""

    pod: str
    at: str
    message: str


_events = json.Decoder(_Events)


def evicted(source: Source, target: Target) -> list[Evicted]:
    """Return the evictions of a pod, or of the pods of an owner, the latest first.

    None of a file, of all namespaces, or where Events may not be read.
    """
    if source.file is not None or source.namespaces is None or target.kind == "group":
        return []
    (namespace,) = source.namespaces
    try:
        found = asyncio.run(_list(source, namespace, target))
    except (Forbidden, DecodeError):
        return []
    return sorted(found, key=lambda one: one.at, reverse=True)


async def _list(source: Source, namespace: str, target: Target) -> list[Evicted]:
    one = f",involvedObject.name={target.name}" if target.kind == "pod" else ""
    asked = {"fieldSelector": f"reason={_REASON},involvedObject.kind=Pod{one}"}
    async with Client(await config.load(source.kubeconfig, source.context), user_agent="penstock-cli") as client:
        answer = await client.get(f"/api/v1/namespaces/{namespace}/events", asked)
    return [
        Evicted(event.involved.name, event.at or "", event.message)
        for event in _events.decode(answer).items
        if event.component == COMPONENT and _is_of(event.involved.name, target)
    ]


def _is_of(pod: str, target: Target) -> bool:
    """Say whether a pod is the target, or by its name of that owner: it is gone, and cannot be asked."""
    return pod == target.name or (target.kind != "pod" and pod.startswith(f"{target.name}-"))


def evicted_text(found: list[Evicted]) -> Iterator[str]:
    """Yield the lines about evictions; nothing where there are none."""
    if found:
        yield ""
        yield "Evicted lately:"
        yield from (f"  {one.pod} at {one.at}: {one.message}" for one in found[:5])
