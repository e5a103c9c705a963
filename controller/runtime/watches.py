"""What keeps a cache in step with the apiserver: one informer a kind, and the pods once all else is listed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, Final

from controller.cache import sinks
from controller.cache.cluster import ClusterCache
from controller.cache.kinds import COMPLETING, JOBS, OURS, PODS, Kind, ServedKind, deciding, where_served
from controller.cache.relays import Relay
from controller.cache.versions import forget_versions
from controller.cache.written import Written
from controller.kube.client import Client
from controller.kube.decode import PodDecoder
from controller.kube.served import InformerIfServed
from controller.kube.watch import Informer, Trouble
from controller.objects.read import read_cluster_pod_policy, read_pod_policy, read_scheduling_policy
from controller.runtime.kind_watches import KindWatches
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics
from controller.telemetry.sources import Source

_log = logs.get("controller")

_WRITTEN_BY_LEADERS: Final = ("pods", "resourceflavors", "clusterqueues", "localqueues")
"""What a leader releases, evicts, or keeps sums in for the next one."""


_NOT_OURS: Final = (
    *("jobs", "namespaces", "nodes", "pods"),
    *("deviceclasses", "limitranges", "podgroups", "priorityclasses", "resourceclaimtemplates", "runtimeclasses"),
)
_TEMPLATES_SECONDS: Final = 1.0
"""So often it is looked whether what completes templates has changed."""


class Watches:
    """All informers of a program that decides. They begin with `start`."""

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        metrics: ControllerMetrics,
        written: Written,
        *,
        decode: PodDecoder,
        pods: sinks.PodSink,
        keeps: bool = False,
    ) -> None:
        """`pods` takes the pods, `decode` reads them; `written` keeps what our own objects' status has.

        `keeps`: keep every object, until `hand_over` gives all to another cache.
        """
        self._client, self._decode = client, decode
        self.cache = cache
        self._metrics = metrics
        self._relays: dict[str, Relay[Any]] | None = {} if keeps else None
        self.informers: list[Informer[Any] | InformerIfServed] = [
            *(self._informer(*kind) for kind in deciding(cache, written, decode)),
            *map(self._if_served, where_served(cache, written)),
        ]
        """What decisions rest on beside pods."""
        (self._jobs,) = (one for one in self.informers if isinstance(one, Informer) and one.path == JOBS)
        self.pods = self._informer(PODS, decode, pods)
        # no decision rests on policies: nothing waits for them, and the controller works where their CRDs are missing
        self.side_informers = [self._informer(*kind) for kind in reported_kinds(cache, written)]
        self._kinds = KindWatches(client, cache, decode=decode, report=self._report, on_rewind=self._rewind)
        self._begun: tuple[Source, ...] = ()

    @property
    def watching(self) -> tuple[Source, ...]:
        """Those that have begun."""
        return (*self._begun, *self._kinds.informers)

    def _informer(self, path: str, decode: Any, sink: Any) -> Informer[Any]:
        into = self._relayed(_resource(path), sink)
        return Informer(self._client, path, decode=decode, sink=into, report=self._report, on_rewind=self._rewind)

    def _relayed(self, resource: str, sink: Any) -> Any:
        return sink if self._relays is None else self._relays.setdefault(resource, Relay(sink))

    def _rewind(self) -> Iterator[None]:
        return forget_versions(self.cache)

    def _if_served(self, kind: ServedKind) -> InformerIfServed:
        sink = self._relayed(kind.resource, kind.sink)
        return InformerIfServed(
            self._client,
            kind.group,
            kind.versions,
            kind.resource,
            make=lambda path: Informer(
                self._client, path, decode=kind.decode, sink=sink, report=self._report, on_rewind=self._rewind
            ),
            report=self._report,
            forget=lambda: sink.replace(()),
        )

    def _report(self, trouble: Trouble) -> None:
        self._metrics.watch_troubles.labels(trouble.resource, trouble.cause).inc()
        is_ours = trouble.resource not in _NOT_OURS
        hint = {"hint": "are the CRDs of config/crd applied?"} if is_ours and trouble.cause == "NotFound" else {}
        _log.warning("watch_trouble", resource=trouble.resource, cause=trouble.cause, error=trouble.text, **hint)

    def start(self, group: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """Begin, as tasks of this group; return these, to be cancelled at the end."""
        self._begun = (*self.informers, *self.side_informers)
        tasks = [
            group.create_task(one.run(), name=f"watch-{one.resource}")
            for one in (*self.informers, *self.side_informers)
            if one is not self._jobs
        ]
        tasks.append(group.create_task(self._watch_templates(), name="watch-templates"))
        return [*tasks, group.create_task(self.watch_pods(), name="watch-pods")]

    async def _watch_templates(self) -> None:
        """Watch Jobs and objects of WorkloadKinds once it is known what completes their templates.

        When that has changed, all of them are read anew: it changes seldom, and templates are not kept.
        """
        await _listed(one for one in self.informers if isinstance(one, Informer) and one.path in COMPLETING)
        defaults = self._decode.defaults
        version = defaults.version
        async with asyncio.TaskGroup() as group:
            group.create_task(self._jobs.run(), name="watch-jobs")
            group.create_task(self._kinds.run(), name="watch-workload-kinds")
            while True:
                await asyncio.sleep(_TEMPLATES_SECONDS)
                if version != defaults.version:
                    version = defaults.version
                    await self._jobs.list_again()
                    await self._kinds.list_again()

    async def watch_pods(self) -> None:
        """Watch pods once all else is listed: a queue or node that came later would move what is known of thousands."""
        await _listed(self.informers)
        self._begun = (*self._begun, self.pods)
        await self.pods.run()

    async def listed(self) -> None:
        """Wait until all that decisions rest on is listed."""
        await _listed((*self.informers, self.pods))
        await self._kinds.listed()

    async def caught_up(self) -> None:
        """Wait until all is known that a leader had written before this was called: to pods, and into a status."""
        async with asyncio.TaskGroup() as group:
            for one in (*self.informers, self.pods):
                if isinstance(one, Informer) and one.resource in _WRITTEN_BY_LEADERS:
                    group.create_task(one.catch_up(), name=f"catch-up-{one.resource}")

    def hand_over(self, cache: ClusterCache, written: Written, pods: sinks.PodSink) -> Iterator[None]:
        """Give all that was kept to these, which are empty, in parts; and all that comes from now on.

        Raises AssertionError where nothing was kept.
        """
        if self._relays is None:
            raise AssertionError("these watches keep nothing that could be handed over")
        self.cache = cache
        relays, self._relays = self._relays, None
        self._kinds.cache = cache
        every = (*deciding(cache, written, self._decode), *reported_kinds(cache, written))
        takers = {_resource(one.path): one.sink for one in every}
        # pods last, as when they are listed
        takers |= {one.resource: one.sink for one in where_served(cache, written)} | {_resource(PODS): pods}
        for resource, sink in takers.items():
            yield from relays[resource].hand_over(sink)

    def unsynced(self) -> str | None:
        """Say which kinds are not listed yet; None when all are."""
        missing = [one.resource for one in (*self.informers, self.pods) if not one.synced.is_set()]
        return f"not listed yet: {', '.join(missing)}" if missing else None


def _resource(path: str) -> str:
    return path.rsplit("/", 1)[-1]


async def _listed(informers: Iterable[Informer[Any] | InformerIfServed]) -> None:
    """Wait until each has handed on its first list."""
    for informer in informers:
        await informer.synced.wait()


def reported_kinds(cache: ClusterCache, written: Written) -> tuple[Kind, ...]:
    """What is only reported on."""
    wide, own = sinks.policy_sinks(cache, written)
    return (
        Kind(f"{OURS}/clusterpodschedulingpolicies", read_cluster_pod_policy, wide),
        Kind(f"{OURS}/podschedulingpolicies", read_pod_policy, own),
        Kind(f"{OURS}/schedulingpolicies", read_scheduling_policy, sinks.scheduling_policy_sink(cache, written)),
    )
