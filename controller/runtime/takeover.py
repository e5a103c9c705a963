"""What a new leader does before it decides, where the leader before it did not give up the Lease: see its writes end.

Release patches of a former leader may still be on their way. Two things stop them: the fence (`config/guards`), by
which the apiserver refuses the stamps of all but the Lease's holder once it knows that; and time, for what passed the
fence before. So the fence is probed with dry-run patches until it works, then the answer time is waited for. What was
written by then is in the list that follows, or in what a warm standby has caught up with (`Watches.caught_up`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import orjson

from controller.core.keys import ADMITTED_BY, QUEUE_NAME
from controller.kube import clock
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import KubeError, NotFound, Unreachable
from controller.telemetry import logs

_log = logs.get("takeover")

_PROBE_SECONDS: Final = 15.0
_PAUSE_SECONDS: Final = 0.2
_REQUEST_SECONDS: Final = 5.0
_RULE: Final = "leader-only"
"""What the refusal of the fence begins with."""
_NOT_FENCED: Final = ("kube-system", "kube-node-lease", "kube-public")
_UNFENCED_HINT: Final = (
    "apply config/guards; without it a leader that was paused for longer than its Lease may release pods beyond a quota"
)


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks an apiserver whether its fence knows who leads. `namespace`: of the Lease, whose pods are not fenced."""

    client: Client
    namespace: str
    identity: str

    async def passed(self) -> bool | None:
        """Wait until only our stamps pass; None where no pod names a queue, False where that does not come.

        There is no pod then that a former leader could release; or the fence is not installed, or this apiserver has
        not heard of the new Lease. Each try is of another namespace: some may be left out of the policies.
        """
        ends_at, why, tried = clock.monotonic() + _PROBE_SECONDS, "", list[str]()
        while True:
            try:
                pod = await self._pod(tried)
                if pod is None:
                    return None
                namespace, name = pod
                tried.append(namespace)
                if await self._is_fenced(f"/api/v1/namespaces/{namespace}/pods/{name}"):
                    return True
                why = "a stamp of another than the leader passes, or the leader's own does not"
            except Unreachable:
                # it says nothing of the fence; our own Lease ends where this goes on
                ends_at = clock.monotonic() + _PROBE_SECONDS
            except KubeError as error:
                why = str(error)
            if clock.monotonic() > ends_at:
                _log.warning("fence_not_seen", why=why, hint=_UNFENCED_HINT)
                return False
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _pod(self, tried: list[str]) -> tuple[str, str] | None:
        """Return namespace and name of a pod that the fence may guard, in none of those tried, unless all were."""
        selector = ",".join(f"metadata.namespace!={name}" for name in (*_NOT_FENCED, self.namespace, *tried))
        params = {"labelSelector": QUEUE_NAME, "fieldSelector": selector, "limit": "1"}
        found = orjson.loads(await self.client.get("/api/v1/pods", params, seconds=_REQUEST_SECONDS))["items"]
        if found:
            return found[0]["metadata"]["namespace"], found[0]["metadata"]["name"]
        if not tried:
            return None
        tried.clear()
        return await self._pod(tried)

    async def _is_fenced(self, path: str) -> bool:
        """Say whether our stamp passes and another's does not.

        One alone says nothing: an apiserver that still has the former leader's Lease refuses all others', and one that
        has none lets all pass.
        """
        try:
            return not await self._is_refused(path, self.identity) and await self._is_refused(path, "nobody")
        except NotFound:
            return False  # it was deleted meanwhile

    async def _is_refused(self, path: str, stamp: str) -> bool:
        body = {"metadata": {"annotations": {ADMITTED_BY: stamp}}}
        params = {"dryRun": "All", "fieldManager": "penstock"}
        try:
            await self.client.patch(path, body, content_type=MERGE_PATCH, params=params, seconds=_REQUEST_SECONDS)
        except NotFound:
            raise
        except KubeError as error:
            if _RULE in str(error):
                return True
            raise
        return False
