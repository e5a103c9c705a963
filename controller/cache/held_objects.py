"""Objects of WorkloadKinds, and these themselves, from informers into the cache."""

from __future__ import annotations

from operator import attrgetter

from controller.api.workload_kind import WorkloadKind as WrittenKind
from controller.cache.cluster import ClusterCache
from controller.cache.keyed import put_or_drop
from controller.cache.sinks import ObjectSink, Sink
from controller.cache.written import Written
from controller.kube.decode_workload_objects import ObjectState
from controller.objects.read import Key, Read
from controller.objects.workload_kinds import to_workload_kind


class HeldObjectSink(Sink[ObjectState, str]):
    """Objects of one kind: those that are held as a whole go among what waits and is charged, pod set by pod set."""

    def __init__(self, cache: ClusterCache, kind: str) -> None:
        super().__init__(
            cache,
            key=attrgetter("uid"),
            known=lambda: cache.workload_kinds.of_kind(kind),
            put=self._put,
            drop=lambda uid: self._put(ObjectState(uid)),
        )
        self._cache = cache
        self._kind = kind

    def _put(self, state: ObjectState) -> None:
        cache = self._cache
        for uid in cache.workload_kinds.take_in(self._kind, state.uid, state.sets):
            cache.drop_pod(uid)
        for one in state.sets:
            cache.put_pod(one)
        stopping = next((one for one in state.sets if one.is_stopping), None)
        put_or_drop(cache.stopped_jobs, state.uid, stopping)


def workload_kind_sink(cache: ClusterCache, written: Written) -> ObjectSink:
    """WorkloadKinds into the cache."""

    def put(key: Key, read: Read | None) -> None:
        model = read.model if read is not None else None
        kind = to_workload_kind(model) if isinstance(model, WrittenKind) else None
        put_or_drop(cache.workload_kinds.known, key[1], kind)

    return ObjectSink(written.workload_kinds, put)
