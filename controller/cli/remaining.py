"""What is left running after `penstock hold` and `penstock drain`, as the status of each queue says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from controller.cli.refusals import told
from controller.core.queueing.operator_actions import Verb
from controller.kube import clock
from controller.kube.client import Client
from controller.kube.errors import KubeError
from controller.runtime.operator_action_targets import Subject

_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.3
_STAYING: Final = "PodsStay"
"""Reason of the condition Drained where pods are not evicted."""


@dataclass(slots=True)
class Remaining:
    """A line for each queue of which pods go on, and whether pods stay that a drain was to evict."""

    lines: list[str] = field(default_factory=list)
    pods_stay: bool = False


async def remaining(client: Client, verb: Verb, subjects: Iterable[Subject]) -> Remaining:
    """Read what held and drained queues say of their pods; of a drain the controller says it a moment later."""
    found = Remaining()
    for one in subjects:
        if "queues/" not in one.path:
            continue
        try:
            if verb is Verb.HOLD:
                _tell_running(found, one, await _read(client, one))
            elif verb is Verb.DRAIN:
                await _tell_drain(client, found, one)
        except KubeError as error:
            found.lines.append(f"{one.label}: its status cannot be read: {told(error)}")
    return found


def _tell_running(found: Remaining, one: Subject, queue: Mapping[str, Any]) -> None:
    status = queue.get("status") or {}
    count = int(status.get("reserved") or 0) + int(status.get("running") or 0)
    if count:
        found.lines.append(f"{one.label}: {count} admitted pods go on; penstock drain evicts those that may be evicted")


async def _tell_drain(client: Client, found: Remaining, one: Subject) -> None:
    ends_at = clock.monotonic() + _SECONDS
    while clock.monotonic() < ends_at:
        queue = await _read(client, one)
        drained = _drained(queue)
        if drained is not None:
            found.lines.append(f"{one.label}: {drained.get('message', '')}")
            found.pods_stay |= drained.get("reason") == _STAYING
            return
        await asyncio.sleep(_POLL_SECONDS)
    found.lines.append(
        f"{one.label}: its pods are not processed after {_SECONDS:g} s: check whether the controller runs; the "
        "condition Drained of the queue will say which pods stay"
    )


def _drained(queue: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the condition Drained, if it is of the queue as it is written now."""
    generation = queue["metadata"].get("generation", 0)
    for one in (queue.get("status") or {}).get("conditions") or ():
        if one.get("type") == "Drained" and one.get("observedGeneration", 0) >= generation:
            return dict(one)
    return None


async def _read(client: Client, one: Subject) -> Mapping[str, Any]:
    found: Mapping[str, Any] = orjson.loads(await client.get(one.path))
    return found
