"""One leader at a time, by a Lease (coordination.k8s.io/v1), as client-go's leaderelection keeps it.

Expiry is judged by our own monotonic clock from when we saw the Lease change last, never by comparing clocks of two
machines. A leader that cannot renew gives up before anybody else may take over.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from controller.kube import clock
from controller.kube.client import Client
from controller.kube.errors import Conflict, KubeError, NotFound

_REPEAT_SECONDS = 60.0
_HELD_UP_SECONDS = 1.0
"""A loop that comes back later than this was held up, by its own work or for want of processor time."""


class LeadershipLost(KubeError):
    """The Lease could not be renewed in time, or somebody else holds it: stop writing at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """Which Lease, under which name, for how long.

    `identity` must be of one process alone, also of one that is started again: patches that carry the identity of a
    process that ended must not pass for those of the leader.
    """

    namespace: str
    name: str
    identity: str
    seconds: int = 10

    @property
    def renew_deadline(self) -> float:
        """A leader that has not renewed for this long stops: well before its Lease ends."""
        return self.seconds * 2 / 3

    @property
    def retry(self) -> float:
        """Time between two tries, to renew or to take over."""
        return self.seconds * 2 / 15

    @property
    def pause(self) -> float:
        """Time between two tries to renew, when one failed."""
        return self.retry / 4

    @property
    def patience(self) -> float:
        """How long one request for the Lease may take, the same for who leads and for who is to."""
        return self.seconds / 3


class Elector:
    """Takes, renews and gives up the Lease."""

    def __init__(
        self,
        client: Client,
        election: Election,
        *,
        report: Callable[[str], None],
        annotations: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`annotations` are what the holder says of itself on the Lease, each time that it writes it."""
        self._client = client
        self._election = election
        self._report = report
        self._annotations = annotations
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{election.namespace}/leases"
        self._path = f"{self._collection}/{election.name}"
        self._lease: dict[str, Any] = {}
        self._changed_at = 0.0
        self._renewed_at = 0.0
        """When that was sent by which we hold it."""
        self._renewed = asyncio.Event()
        self.trouble: str | None = "the Lease was not read yet"
        """Why we cannot even stand by; None when the Lease can be read and written."""

    async def acquire(self) -> bool:
        """Wait until we hold the Lease; say whether its last holder may have left writes behind.

        It may unless it gave the Lease up: a Lease that is not there may have been deleted under its holder.

        What keeps us waiting is reported when it changes, and again every minute.
        """
        said, said_at = "", 0.0
        while True:
            try:
                found = await self._try()
                self.trouble = None
            except Conflict:
                found = "somebody else was quicker; standing by"
            except KubeError as error:
                found = self.trouble = str(error)
            if isinstance(found, bool):
                return found
            if found != said or clock.monotonic() - said_at > _REPEAT_SECONDS:
                self._report(found)
                said, said_at = found, clock.monotonic()
            await asyncio.sleep(self._election.retry * random.uniform(0.9, 1.3))  # noqa: S311 - jitter

    @property
    def age_seconds(self) -> float:
        """How long ago who holds the Lease renewed it last."""
        return clock.monotonic() - self._renewed_at

    async def held(self) -> None:
        """Return as soon as we surely hold the Lease: to be awaited right before each write that only a leader may do.

        A process that was paused, or whose machine slept, comes back with writes prepared for long ago. It waits here
        until the Lease is renewed, or ends with `keep` where it cannot be.
        """
        while clock.monotonic() >= self._renewed_at + self._election.renew_deadline:
            self._renewed.clear()
            await self._renewed.wait()

    async def keep(self) -> None:
        """Renew for as long as that works; raises LeadershipLost when it has not for the renew deadline."""
        while True:
            await self._renew_in_time(await _sleep(self._election.retry))

    async def _renew_in_time(self, late: float) -> None:
        """Renew, trying until that is over; `late`: for so long this process was held up before."""
        one, over_at, held_up = self._election, self._over_at(late), late
        while True:
            # one short try for who was held up for longer than the Lease lasts: somebody else may lead by now
            seconds = max(min(over_at - clock.monotonic(), one.patience), one.pause)
            ends_at = clock.monotonic() + seconds
            try:
                async with asyncio.timeout(seconds):
                    await self._renew()
                return
            except LeadershipLost:
                raise
            except TimeoutError:
                why = "no answer in time"
            except KubeError as error:
                why = str(error)
            late = clock.monotonic() - ends_at
            over_at, held_up = max(over_at, self._over_at(late)), max(held_up, late)
            if clock.monotonic() + one.pause >= over_at:
                text = f"; this process was held up for {held_up:.0f} s before" if held_up > _HELD_UP_SECONDS else ""
                raise LeadershipLost(f"the Lease {one.name} could not be renewed: {why}{text}")
            late = await _sleep(one.pause)
            over_at, held_up = max(over_at, self._over_at(late)), max(held_up, late)

    def _over_at(self, held_up: float) -> float:
        """Return when to give up.

        Who was held up until the deadline had no chance to renew, and gets one until the Lease ends.
        """
        one, now = self._election, clock.monotonic()
        deadline = self._renewed_at + one.renew_deadline
        if held_up <= _HELD_UP_SECONDS:
            return deadline
        return max(deadline, min(now + one.retry, self._renewed_at + one.seconds))

    async def _renew(self) -> None:
        try:
            await self._write(lambda: self._spec(self._lease, renew=True))
        except NotFound:
            raise LeadershipLost(f"the Lease {self._election.name} was deleted: somebody else may lead now") from None

    async def _write(self, spec: Callable[[], dict[str, Any]]) -> None:
        try:
            await self._put(spec())
        except Conflict:
            # somebody wrote it between our read and our write, or we did and heard no answer
            await self._read_anew()
            await self._put(spec())

    async def _read_anew(self) -> None:
        """Read the Lease that somebody wrote; go on only if it is still ours."""
        self._lease = orjson.loads(await self._client.get(self._path, seconds=self._election.patience))
        holder = self._lease.get("spec", {}).get("holderIdentity")
        if holder != self._election.identity:
            raise LeadershipLost(f"the Lease {self._election.name} is held by {holder or 'nobody'} now")

    async def release(self) -> None:
        """Give the Lease up, so that the next leader need not wait for it to end."""
        given_up = {"holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            await self._write(lambda: {**self._lease.get("spec", {}), **given_up})
        except KubeError:
            return  # then it ends by itself

    async def _try(self) -> bool | str:
        """Take the Lease if it may be taken, and say whether it had not been given up; else say who holds it."""
        patience = self._election.patience
        try:
            current = orjson.loads(await self._client.get(self._path, seconds=patience))
        except NotFound:
            body = {"metadata": self._metadata(), "spec": self._spec({}, renew=False)}
            await self._hold(self._client.post(self._collection, body, seconds=patience))
            return True
        if current["metadata"]["resourceVersion"] != self._lease.get("metadata", {}).get("resourceVersion"):
            self._lease, self._changed_at = current, clock.monotonic()
        spec = current.get("spec", {})
        holder = spec.get("holderIdentity") or ""
        lasts = float(spec.get("leaseDurationSeconds") or self._election.seconds)
        is_foreign = holder not in ("", self._election.identity)
        if is_foreign and clock.monotonic() < self._changed_at + lasts:
            return f"{holder} leads; standing by"
        await self._put(self._spec(current, renew=not is_foreign and holder != ""))
        return holder != ""

    def _spec(self, lease: dict[str, Any], *, renew: bool) -> dict[str, Any]:
        former = lease.get("spec", {})
        now = clock.rfc3339_micro(clock.now())
        return {
            "holderIdentity": self._election.identity,
            "leaseDurationSeconds": self._election.seconds,
            "acquireTime": former.get("acquireTime", now) if renew else now,
            "renewTime": now,
            "leaseTransitions": former.get("leaseTransitions", 0) + (0 if renew or not former else 1),
        }

    def _metadata(self) -> dict[str, Any]:
        return {"name": self._election.name, "annotations": dict(self._annotations())}

    async def _put(self, spec: dict[str, Any]) -> None:
        known = self._lease.get("metadata", {})
        body = {
            "metadata": {**self._metadata(), "resourceVersion": known.get("resourceVersion", "")},
            "spec": spec,
        }
        # an answer that comes when the Lease is over would make a second leader
        await self._hold(self._client.put(self._path, body, seconds=self._election.patience))

    async def _hold(self, request: Awaitable[bytes]) -> None:
        """Send what writes the Lease; its term begins now, whenever the answer comes."""
        sent_at = clock.monotonic()
        self._lease = orjson.loads(await request)
        self._renewed_at = sent_at
        self._renewed.set()


async def _sleep(seconds: float) -> float:
    """Sleep; return for how much longer this process was held up."""
    ends_at = clock.monotonic() + seconds
    await asyncio.sleep(seconds)
    return clock.monotonic() - ends_at
