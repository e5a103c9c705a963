"""Take our gate off many pods, for whoever runs `penstock release`. The controller's own releases are `executor`'s.

One patch a pod, each guarded by what was read: a pod that was edited meanwhile is read again, one that is gone, or open
by now, needs nothing. A refusal is a value; the next pod may fare better, unless the refusal holds for all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from controller.core.gate.opening import GatedPod, opening_patch
from controller.core.gate.protection import Rule
from controller.kube.client import JSON_PATCH, Client
from controller.kube.decode import decode_gated
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

_WORKERS: Final = 8
_ATTEMPTS: Final = 5
PAUSE_SECONDS: Final = 0.3
LONGEST_PAUSE_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 12.0
_OUR_WEBHOOK_AWAY: Final = re.compile(WEBHOOK_AWAY + r' "([^"]+\.penstock\.dev)"')


@dataclass(slots=True)
class Tally:
    """What has become of the pods so far; `needless` are those that were gone, or open, when their turn came."""

    opened: int = 0
    needless: int = 0
    refused: list[tuple[GatedPod, KubeError]] = field(default_factory=list)

    @property
    def done(self) -> int:
        """How many pods had their turn."""
        return self.opened + self.needless + len(self.refused)


async def gated_pods(client: Client, namespace: str | None) -> list[GatedPod]:
    """Return the pods with our gate, of a namespace or of all with None, in the order of their names."""
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods" if namespace else "/api/v1/pods"
    return sorted(pod for pod in await list_all(client, path, decode_gated) if pod is not None)


class GateOpener:
    """Some workers over one list of pods. `stop` lets them finish what is under way, so that the count is exact."""

    def __init__(self, client: Client, *, on_progress: Callable[[Tally], None]) -> None:
        self._client = client
        self._on_progress = on_progress
        self._stopping = asyncio.Event()
        self.tally = Tally()

    def stop(self) -> None:
        """Begin with no further pod, and wait no longer for a better time."""
        self._stopping.set()

    async def open(self, pods: Iterable[GatedPod]) -> Tally:
        """Open the gate of each; an apiserver that stays away, or a refusal that holds for all, ends it early."""
        left = iter(pods)
        async with asyncio.TaskGroup() as group:
            for number in range(_WORKERS):
                group.create_task(self._work(left), name=f"open-{number}")
        return self.tally

    async def _work(self, left: Iterator[GatedPod]) -> None:
        while not self._stopping.is_set():
            pod = next(left, None)
            if pod is None:
                return
            try:
                if await self._open(pod):
                    self.tally.opened += 1
                else:
                    self.tally.needless += 1
            except KubeError as error:
                self.tally.refused.append((pod, error))
                if _holds_for_all(error):
                    self.stop()
            self._on_progress(self.tally)

    async def _open(self, pod: GatedPod) -> bool:
        """Return whether it was we who opened it. Raises the KubeError that stands in the way."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._client.patch(
                    _path(pod),
                    opening_patch(pod),
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
                now = await self._again(pod, error, attempt)
                if now is None:
                    return False
                if now == pod and isinstance(error, Invalid):
                    raise  # no test of ours failed: the apiserver itself refuses
                if self._stopping.is_set() and not isinstance(error, (Conflict, Invalid)):
                    raise  # the wait that another try needs was cut short
                pod = now
        raise AssertionError("the last attempt returns or raises")

    async def _again(self, pod: GatedPod, error: KubeError, attempt: int) -> GatedPod | None:
        """Wait where that helps, and read the pod anew; None when there is nothing left to open."""
        if isinstance(error, TooManyRequests):
            await self._pause(min(max(error.retry_after_seconds, PAUSE_SECONDS), LONGEST_PAUSE_SECONDS))
        elif not isinstance(error, (Conflict, Invalid)):
            await self._pause(PAUSE_SECONDS * attempt)
        try:
            now = decode_gated(await self._client.get(_path(pod), seconds=_ANSWER_SECONDS))
        except NotFound:
            return None
        except (Unreachable, TooManyRequests):
            return pod
        return now if now is not None and now.uid == pod.uid else None

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def is_protection(error: KubeError) -> bool:
    """Whether it is our protection of the gate that refuses."""
    return isinstance(error, Forbidden) and f"{Rule.GATE_IS_OURS}: " in error.message


def webhook_away(error: KubeError) -> str | None:
    """Return the name of our webhook that the apiserver could not ask, if that is what stands in the way."""
    found = _OUR_WEBHOOK_AWAY.search(error.message) if isinstance(error, ApiError) else None
    return found[1] if found else None


def _holds_for_all(error: KubeError) -> bool:
    """Whether the next pod would meet the same. Rights (403) are not of the kind: they differ by namespace."""
    return isinstance(error, Unreachable) or is_protection(error) or webhook_away(error) is not None


def _may_pass(error: KubeError) -> bool:
    """Whether another try may go better."""
    if isinstance(error, (Conflict, Invalid, TooManyRequests, Unreachable)):
        return True
    return isinstance(error, ApiError) and error.status >= 500 and WEBHOOK_AWAY not in error.message


def _path(pod: GatedPod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
