"""A watch for each WorkloadKind, begun and ended as these come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from controller.cache.cluster import ClusterCache
from controller.cache.held_objects import HeldObjectSink
from controller.cache.kinds import objects_of
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.kube.client import Client
from controller.kube.decode import PodDecoder
from controller.kube.served import InformerIfServed
from controller.kube.watch import Informer, Trouble
from controller.telemetry.sources import Source

_IDLE_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Watch:
    kind: WorkloadKind
    cache: ClusterCache
    informer: InformerIfServed
    task: asyncio.Task[None]


class KindWatches:
    """Watches the objects of the kinds that the cache knows. What is not served holds up nothing."""

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        *,
        decode: PodDecoder,
        report: Callable[[Trouble], None],
        on_rewind: Callable[[], Iterable[None]],
    ) -> None:
        """`on_rewind` as of an Informer."""
        self._client = client
        self.cache = cache
        """Where the objects go. Another one may be set, which they are listed anew for."""
        self._decode = decode
        self._report = report
        self._on_rewind = on_rewind
        self._watches: dict[str, _Watch] = {}

    @property
    def informers(self) -> tuple[Source, ...]:
        """Those that have begun."""
        return tuple(one.informer for one in self._watches.values())

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._compare(group)
                await asyncio.sleep(_IDLE_SECONDS)

    async def list_again(self) -> None:
        """Have the objects of all kinds read anew."""
        for watch in list(self._watches.values()):
            await watch.informer.list_again()

    async def listed(self) -> None:
        """Wait until the objects of all kinds are listed that are known now."""
        while True:
            if all(self._is_listed(name, kind) for name, kind in self.cache.workload_kinds.known.items()):
                return
            await asyncio.sleep(_IDLE_SECONDS / 10)

    def _is_listed(self, name: str, kind: WorkloadKind) -> bool:
        found = self._watches.get(name)
        if found is None or found.kind != kind or found.cache is not self.cache:
            return False
        return found.informer.synced.is_set()

    async def _compare(self, group: asyncio.TaskGroup) -> None:
        known = self.cache.workload_kinds.known
        for name, watch in list(self._watches.items()):
            if known.get(name) != watch.kind or watch.cache is not self.cache:
                await self._end(name)
        for name, kind in list(known.items()):
            if name not in self._watches:
                informer = self._informer(kind)
                task = group.create_task(informer.run(), name=f"watch-{name}")
                self._watches[name] = _Watch(kind, self.cache, informer, task)
        for name, watch in self._watches.items():
            self._look_at(name, watch)

    def _look_at(self, name: str, watch: _Watch) -> None:
        """Note why the objects of a kind are not known; that it is over when they are."""
        troubles, informer = self.cache.workload_kinds.troubles, watch.informer
        if not informer.is_served:
            if informer.synced.is_set():
                served = f"{watch.kind.api_version} {watch.kind.resource}"
                troubles[name] = f"the apiserver does not serve {served}: install its CustomResourceDefinition"
        elif informer.stale_seconds is None:
            troubles.pop(name, None)

    def _told(self, name: str, trouble: Trouble) -> None:
        hint = ": apply what `penstock kinds render` prints for it" if trouble.cause == "Forbidden" else ""
        self.cache.workload_kinds.troubles[name] = f"{trouble.text}{hint}"
        self._report(trouble)

    async def _end(self, name: str) -> None:
        """Stop watching; objects of a kind that is gone are held, and charged, no more. Of a changed one they stay."""
        watch = self._watches.pop(name)
        watch.task.cancel()
        await asyncio.wait([watch.task])
        watch.cache.workload_kinds.troubles.pop(name, None)
        if name in self.cache.workload_kinds.known:
            return
        for _ in HeldObjectSink(self.cache, name).replace(()):
            await asyncio.sleep(0)

    def _informer(self, kind: WorkloadKind) -> InformerIfServed:
        report = partial(self._told, kind.name)
        group, versions, resource, decode, sink = objects_of(kind, self.cache, self._decode)
        return InformerIfServed(
            self._client,
            group,
            versions,
            resource,
            make=lambda path: Informer(
                self._client, path, decode=decode, sink=sink, report=report, on_rewind=self._on_rewind
            ),
            report=report,
            forget=lambda: sink.replace(()),
        )
