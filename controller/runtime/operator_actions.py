"""Do what `penstock hold`, `release`, `top`, `drain` and `open` ask for: one patch an object, in the name of who asks.

A patch names the uid that was read, and of queues the version, so that nothing is done to what is another by now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from controller.core.queueing.operator_actions import Change, Misplaced, Spared, Verb, change
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import Conflict, KubeError, NotFound, TooManyRequests, Unreachable
from controller.runtime.operator_action_targets import Subject, again

_WORKERS: Final = 8
_ATTEMPTS: Final = 5
PAUSE_SECONDS: Final = 0.3
LONGEST_PAUSE_SECONDS: Final = 30.0
_REVIEWS: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@dataclass(slots=True)
class Tally:
    """What has become of the objects so far; `spared` are those that needed nothing, and why."""

    done: list[Subject] = field(default_factory=list)
    spared: list[tuple[Subject, str]] = field(default_factory=list)
    refused: list[tuple[Subject, KubeError]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many objects had their turn."""
        return len(self.done) + len(self.spared) + len(self.refused)


async def who(client: Client) -> str:
    """Return the name by which the apiserver knows who asks (SelfSubjectReview, KEP-3325)."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer: Any = orjson.loads(await client.post(_REVIEWS, body))
    return str(answer["status"]["userInfo"].get("username") or "somebody")


class OperatorActions:
    """Some workers over one list of objects. `stop` lets them finish what is under way, so that the count is exact."""

    def __init__(
        self, client: Client, verb: Verb, note: str, *, is_dry: bool, on_progress: Callable[[Tally], None]
    ) -> None:
        """`is_dry`: the apiserver says what would become of each, and keeps nothing."""
        self._client = client
        self._verb = verb
        self._note = note
        self._params = {"fieldManager": "penstock-cli", **({"dryRun": "All"} if is_dry else {})}
        self._on_progress = on_progress
        self._stopping = asyncio.Event()
        self.tally = Tally()

    def stop(self) -> None:
        """Begin with no further object, and wait no longer for a better time."""
        self._stopping.set()

    async def do(self, subjects: Iterable[Subject]) -> Tally:
        """Do it to each; an apiserver that stays away ends it early."""
        left = iter(subjects)
        async with asyncio.TaskGroup() as group:
            for number in range(_WORKERS):
                group.create_task(self._work(left), name=f"actions-{number}")
        return self.tally

    async def _work(self, left: Iterator[Subject]) -> None:
        while not self._stopping.is_set():
            subject = next(left, None)
            if subject is None:
                return
            try:
                spared = await self._do(subject)
            except KubeError as error:
                self.tally.refused.append((subject, error))
                if isinstance(error, Unreachable):
                    self.stop()
            else:
                if spared is None:
                    self.tally.done.append(subject)
                else:
                    self.tally.spared.append((subject, spared))
            self._on_progress(self.tally)

    async def _do(self, subject: Subject) -> str | None:
        """Return why nothing had to be done, None when it was. Raises the KubeError that stands in the way."""
        now: Subject | None = subject
        for attempt in range(1, _ATTEMPTS + 1):
            if now is None:
                return "is gone"
            wanted = change(self._verb, now.found.standing, self._note)
            if isinstance(wanted, Spared):
                return wanted.text
            if isinstance(wanted, Misplaced):
                raise KubeError(wanted.text)
            try:
                body = _body(now, wanted)
                await self._client.patch(now.path, body, content_type=MERGE_PATCH, params=self._params)
                return None
            except NotFound:
                return "is gone"
            except (Conflict, TooManyRequests, Unreachable) as error:
                if attempt == _ATTEMPTS or self._stopping.is_set():
                    raise
                if not isinstance(error, Conflict):
                    await self._pause(getattr(error, "retry_after_seconds", 0.0) or PAUSE_SECONDS * attempt)
                now = await again(self._client, now)
        raise AssertionError("the last attempt returns or raises")

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), min(seconds, LONGEST_PAUSE_SECONDS))


def _body(subject: Subject, wanted: Change) -> dict[str, Any]:
    metadata: dict[str, Any] = {"uid": subject.found.uid, "annotations": dict(wanted.annotations)}
    if wanted.stop is None:
        return {"metadata": metadata}
    # a pod changes too often for this, and who is held or not does not change with it
    metadata["resourceVersion"] = subject.found.resource_version
    return {"metadata": metadata, "spec": {"stopPolicy": wanted.stop}}
