"""Find out what became of release patches that got no answer, and revoke those that may still apply.

A patch may reach the apiserver long after we stopped waiting, so its quota is kept until the pod shows that it was
released, that the patch can no longer apply, or that it is revoked (`core.gate.release_fate`). Time alone ends nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from controller.cache.cluster import ClusterCache
from controller.core.gate.release_fate import Fate, Stamps, fate, fate_of_widening, revocation
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Pod
from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.kube.client import Client
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.errors import Conflict, Invalid, KubeError, NotFound, one_line
from controller.runtime.pod_requests import patch_pod, read_pod
from controller.telemetry import logs

_log = logs.get("doubts")

MOST_IN_NAMESPACE = 8
"""With so many doubts of one namespace, no further pod of it is released."""
_REQUESTS = 8
_BACKOFF = Backoff(first=1.0, longest=6.0)


@dataclass(frozen=True, slots=True)
class Sent:
    """A release patch that was sent: the state of the pod that it was built from, for which admission, its stamps.

    Of an object of several pod sets `pod` is the record of the first, and `others` are the admissions of the others.
    Or what lets an admitted Job have more pods: then the admission is that of the record in which these wait.
    """

    pod: Pod
    admit: Admit
    stamps: Stamps
    others: tuple[Admit, ...] = ()

    @property
    def is_widening(self) -> bool:
        """Whether it lets an admitted Job have more pods."""
        return self.admit.uid != self.pod.uid

    def fate(self, now: Pod) -> Fate:
        """Return what became of it, as this state of the pod shows."""
        if self.is_widening:
            return fate_of_widening(self.pod, self.stamps.admitted_by, now)
        return fate(self.pod, self.stamps, now)


class DoubtLane:
    """A task for each doubt, so that none waits for another; a few requests at a time."""

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        *,
        decode: AnswerDecoder,
        identity: str,
        held: Callable[[], Awaitable[None]],
        on_end: Callable[[Sent, Pod | None, KubeError], None],
    ) -> None:
        """`held` waits until we surely lead.

        `on_end` gets, for each doubt, the state of the pod that ended it (None: it is gone) and how it began.
        """
        self._client = client
        self._cache = cache
        self._decode = decode
        self._identity = identity
        self._held = held
        self._on_end = on_end
        self._begun: asyncio.Queue[tuple[Sent, KubeError]] = asyncio.Queue()
        self._slots = asyncio.Semaphore(_REQUESTS)

    def add(self, sent: Sent, error: KubeError) -> None:
        """Take up a patch that was not answered, for the reason `error`."""
        self._cache.doubts.begin(sent.pod, sent.admit.cluster_queue, clock.now())
        self._begun.put_nowait((sent, error))

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                sent, error = await self._begun.get()
                group.create_task(self._end(sent, error), name=f"doubt-{sent.pod.key}")

    async def all_ended(self) -> None:
        """Wait until there is no doubt."""
        await self._begun.join()

    async def _end(self, sent: Sent, error: KubeError) -> None:
        try:
            now = await self._find_out(sent)
            self._cache.doubts.end(sent.pod)
            self._on_end(sent, now, error)
        finally:
            self._begun.task_done()

    async def _find_out(self, sent: Sent) -> Pod | None:
        """Return the state of the pod that ends the doubt; None where the pod is gone."""
        known, failures = sent.pod, 0
        while True:
            seen = self._cache.pods.get(sent.pod.uid)
            # a state without a version is from before the apiserver's history began anew: it says nothing of now
            if seen is None or (seen.resource_version and sent.fate(seen) is not Fate.OPEN):
                return seen
            failures += 1
            pause = _BACKOFF.delay(failures)
            try:
                async with self._slots:
                    now = await self._revoke(sent, known)
            except KubeError as error:
                _log.warning("release_in_doubt", pod=sent.pod.key, error=one_line(error), retry_seconds=pause)
            else:
                if now is None or sent.fate(now) is not Fate.OPEN:
                    return now
                known = now
            await asyncio.sleep(pause)

    async def _revoke(self, sent: Sent, known: Pod) -> Pod | None:
        """Revoke the patch; return the pod as the answer shows it, None where it is gone. Raises KubeError.

        Where a test fails, another copy of this came first, or the pod changed since it was `known`: a read tells.
        """
        await self._held()
        try:
            body = await patch_pod(self._client, sent.pod, revocation(sent.pod, known, by=self._identity))
        except NotFound:
            return None
        except (Conflict, Invalid) as error:
            _log.info("revocation_failed", pod=sent.pod.key, error=one_line(error))
            return await read_pod(self._client, self._decode, sent.pod)
        return self._decode(body, sent.pod)
