"""Take our gate off many pods, and let held Jobs begin, for whoever runs `penstock release`.

The controller's own releases are `executor`'s. One patch for each pod or Job, guarded by what was read: one that was
edited meanwhile is read again, one that is gone, or open by now, needs nothing. A refusal is a value; the next may fare
better, unless the refusal holds for all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import quote

from controller.core.gate.opening import HeldJob, Waiting, opening_patch
from controller.core.gate.protection import Rule
from controller.core.keys import QUEUE_NAME
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workload_kinds.policies import OBJECT_IS_HELD
from controller.core.workloads.held_sets import path_of_job
from controller.kube.client import JSON_PATCH, Client
from controller.kube.decode import decode_gated
from controller.kube.decode_jobs import decode_held
from controller.kube.decode_workload_objects import decode_held_object
from controller.kube.errors import (
    WEBHOOK_AWAY,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    TooManyRequests,
    Unreachable,
)
from controller.kube.listing import list_all
from controller.runtime.named_kinds import known_kinds

_WORKERS: Final = 8
_ATTEMPTS: Final = 5
PAUSE_SECONDS: Final = 0.3
LONGEST_PAUSE_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 12.0
_OUR_WEBHOOK_AWAY: Final = re.compile(WEBHOOK_AWAY + r' "([^"]+\.penstock\.dev)"')


@dataclass(slots=True)
class Tally:
    """What has become of pods and Jobs so far; `needless` are those that were gone, or open, when their turn came."""

    opened: int = 0
    needless: int = 0
    refused: list[tuple[Waiting, KubeError]] = field(default_factory=list)

    @property
    def done(self) -> int:
        """How many had their turn."""
        return self.opened + self.needless + len(self.refused)


async def waiting(client: Client, namespace: str | None) -> list[Waiting]:
    """Return pods with our gate, Jobs that are held, and objects of other kinds, of a namespace or of all with None."""
    within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    pods = await list_all(client, f"/api/v1{within}/pods", decode_gated)
    jobs = await list_all(client, f"/apis/batch/v1{within}/jobs", decode_held, {"labelSelector": QUEUE_NAME})
    objects = [one for kind in await known_kinds(client) for one in await _objects(client, kind, within)]
    found = (sorted(one for one in those if one is not None) for those in (pods, jobs))
    return [*(one for those in found for one in those), *sorted(objects)]


async def _objects(client: Client, kind: WorkloadKind, within: str) -> list[HeldJob]:
    """Return the objects of a kind that are held; none where it is not served."""
    path = f"/apis/{kind.api_version}{within}/{kind.resource}"
    try:
        found = await list_all(client, path, partial(decode_held_object, kind), {"labelSelector": QUEUE_NAME})
    except NotFound:
        return []
    return [one for one in found if one is not None]


class GateOpener:
    """Some workers over one list. `stop` lets them finish what is under way, so that the count is exact."""

    def __init__(self, client: Client, *, on_progress: Callable[[Tally], None]) -> None:
        self._client = client
        self._on_progress = on_progress
        self._stopping = asyncio.Event()
        self.tally = Tally()

    def stop(self) -> None:
        """Begin with none further, and wait no longer for a better time."""
        self._stopping.set()

    async def open(self, found: Iterable[Waiting]) -> Tally:
        """Free each; an apiserver that stays away, or a refusal that holds for all, ends it early."""
        left = iter(found)
        async with asyncio.TaskGroup() as group:
            for number in range(_WORKERS):
                group.create_task(self._work(left), name=f"open-{number}")
        return self.tally

    async def _work(self, left: Iterator[Waiting]) -> None:
        while not self._stopping.is_set():
            one = next(left, None)
            if one is None:
                return
            try:
                if await self._open(one):
                    self.tally.opened += 1
                else:
                    self.tally.needless += 1
            except KubeError as error:
                self.tally.refused.append((one, error))
                if _holds_for_all(error):
                    self.stop()
            self._on_progress(self.tally)

    async def _open(self, one: Waiting) -> bool:
        """Return whether it was we who opened it. Raises the KubeError that stands in the way."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._client.patch(
                    _path(one),
                    opening_patch(one),
                    content_type=JSON_PATCH,
                    params={"fieldManager": "penstock"},
                    seconds=_ANSWER_SECONDS,
                )
                return True
            except NotFound:
                return False
            except KubeError as error:
                if attempt == _ATTEMPTS or not _may_pass(error):
                    raise
                now = await self._again(one, error, attempt)
                if now is None:
                    return False
                if now == one and isinstance(error, Invalid):
                    raise  # no test of ours failed: the apiserver itself refuses
                if self._stopping.is_set() and not isinstance(error, (Conflict, Invalid)):
                    raise  # the wait that another try needs was cut short
                one = now
        raise AssertionError("the last attempt returns or raises")

    async def _again(self, one: Waiting, error: KubeError, attempt: int) -> Waiting | None:
        """Wait where that helps, and read it anew; None when there is nothing left to open."""
        if isinstance(error, TooManyRequests):
            await self._pause(min(max(error.retry_after_seconds, PAUSE_SECONDS), LONGEST_PAUSE_SECONDS))
        elif not isinstance(error, (Conflict, Invalid)):
            await self._pause(PAUSE_SECONDS * attempt)
        try:
            now = _decoded(one, await self._client.get(_path(one), seconds=_ANSWER_SECONDS))
        except NotFound:
            return None
        except (Unreachable, TooManyRequests):
            return one
        return now if now is not None and now.uid == one.uid else None

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def is_protection(error: KubeError) -> bool:
    """Whether it is our protection of the gate, or of held Jobs, that refuses."""
    rules = (Rule.GATE_IS_OURS, Rule.JOB_IS_HELD, OBJECT_IS_HELD)
    return isinstance(error, Forbidden) and any(f"{rule}: " in error.message for rule in rules)


def webhook_away(error: KubeError) -> str | None:
    """Return the name of our webhook that the apiserver could not ask, if that is what stands in the way."""
    found = _OUR_WEBHOOK_AWAY.search(error.message) if isinstance(error, ApiError) else None
    return found[1] if found else None


def _holds_for_all(error: KubeError) -> bool:
    """Whether the next would meet the same. Rights (403) are not of the kind: they differ by namespace."""
    return isinstance(error, Unreachable) or is_protection(error) or webhook_away(error) is not None


def _may_pass(error: KubeError) -> bool:
    """Whether another try may go better."""
    if isinstance(error, (Conflict, Invalid, TooManyRequests, Unreachable)):
        return True
    return isinstance(error, ApiError) and error.status >= 500 and WEBHOOK_AWAY not in error.message


def _path(one: Waiting) -> str:
    if isinstance(one, HeldJob):
        path = path_of_job if one.kind is None else one.kind.path
        return path(one.namespace, one.name)
    return f"/api/v1/namespaces/{one.namespace}/pods/{one.name}"


def _decoded(one: Waiting, raw: bytes) -> Waiting | None:
    if not isinstance(one, HeldJob):
        return decode_gated(raw)
    return decode_held(raw) if one.kind is None else decode_held_object(one.kind, raw)
