"""A kind that not every apiserver serves: watched where it is, looked for from time to time where it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import DecodeError, Struct, field
from msgspec.json import Decoder

from controller.kube import clock
from controller.kube.client import Client
from controller.kube.errors import KubeError, NotFound
from controller.kube.watch import Informer, Trouble

AGAIN_SECONDS = 60.0
FAILED_SECONDS = 1.0


class _Resource(Struct):
    name: str


class _Resources(Struct):
    """meta/v1 APIResourceList."""

    resources: list[_Resource] = field(default_factory=list)


_resources = Decoder(_Resources)


async def served_path(client: Client, group: str, versions: Sequence[str], resource: str) -> str | None:
    """Return the path of a collection in the first of these versions that is served; None without one.

    Raises KubeError, and DecodeError when the apiserver's answer is no list of resources.
    """
    for version in versions:
        path = f"/apis/{group}/{version}"
        try:
            found = _resources.decode(await client.get(path))
        except NotFound:
            continue
        if any(one.name == resource for one in found.resources):
            return f"{path}/{resource}"
    return None


class InformerIfServed:
    """An informer of `resource` once the apiserver serves it. `synced` too says that it does not, so that none wait."""

    def __init__(
        self,
        client: Client,
        group: str,
        versions: Sequence[str],
        resource: str,
        *,
        make: Callable[[str], Informer[Any]],
        report: Callable[[Trouble], None],
        forget: Callable[[], Iterable[None] | None],
    ) -> None:
        """`versions` are those that can be read, the best first; `make` makes the informer of a path.

        `forget` is called where the kind is not served, and done in parts: there are none, or none any more.
        """
        self._client = client
        self._group = group
        self._versions = versions
        self.resource = resource
        self._make = make
        self._report = report
        self._forget = forget
        self.synced = asyncio.Event()
        self._informer: Informer[Any] | None = None
        self._is_answered = False
        self._last_answer = clock.monotonic()

    @property
    def stale_seconds(self) -> float | None:
        """As of an Informer; where the kind is not served, for how long the apiserver has not said so again."""
        if self._informer is not None:
            return self._informer.stale_seconds
        return None if self._is_answered else clock.monotonic() - self._last_answer

    @property
    def is_served(self) -> bool:
        """Whether the kind was served when it was last looked for."""
        return self._informer is not None

    async def list_again(self) -> None:
        """Have everything listed, and read, anew, where the kind is served."""
        if self._informer is not None:
            await self._informer.list_again()

    async def run(self) -> None:
        """Look, and watch, until cancelled. Where another version is served than before, as after an upgrade, anew."""
        self._last_answer = clock.monotonic()
        while True:
            path = await self._find()
            if path is None:
                self._informer = None
                for _ in self._forget() or ():
                    await asyncio.sleep(0)
                self.synced.set()
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                await self._watch(path)

    async def _watch(self, path: str) -> None:
        informer = self._informer = self._make(path)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(informer.run(), name=f"watch-{self.resource}-served")
            telling = group.create_task(self._tell_synced(informer), name=f"synced-{self.resource}-served")
            # not only once it is listed: a version that goes before that is never listed
            await self._until_other(path)
            watching.cancel()
            telling.cancel()

    async def _tell_synced(self, informer: Informer[Any]) -> None:
        await informer.synced.wait()
        self.synced.set()

    async def _until_other(self, path: str) -> None:
        found: str | None = path
        while found == path:
            await asyncio.sleep(AGAIN_SECONDS)
            found = await self._find()

    async def _find(self) -> str | None:
        while True:
            try:
                path = await served_path(self._client, self._group, self._versions, self.resource)
            except (KubeError, DecodeError) as error:
                self._is_answered = False
                self._report(Trouble(self.resource, type(error).__name__, str(error)))
                await asyncio.sleep(FAILED_SECONDS)
            else:
                self._is_answered, self._last_answer = True, clock.monotonic()
                return path
