"""From what informers hand over to the cache: one sink a kind. No rule lives here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

from controller.api.cluster_queue import ClusterQueue
from controller.api.flavor import ResourceFlavor
from controller.api.local_queue import LocalQueue
from controller.api.pod_policy import ClusterPodSchedulingPolicy, PodSchedulingPolicy
from controller.api.scheduling_policy import SchedulingPolicy
from controller.api.workload_priority_class import WorkloadPriorityClass
from controller.cache.cluster import ClusterCache
from controller.cache.keyed import put_or_drop
from controller.cache.parts import in_parts
from controller.cache.resource_book import TemplateKey
from controller.cache.written import Written
from controller.core.kubernetes.devices import DeviceClass, DeviceRequest
from controller.core.kubernetes.nodes import Node
from controller.core.pod_policies.policies import Mode
from controller.core.workloads.groups import GroupKey, PodGroup
from controller.core.workloads.pods import Pod
from controller.kube.decode_devices import ClaimTemplate
from controller.kube.decode_jobs import JobState
from controller.kube.wire import Owned
from controller.objects.budgets import read_sums
from controller.objects.pod_policies import to_policy
from controller.objects.queues import (
    to_cluster_queue,
    to_dry_spell,
    to_flavor,
    to_local_queue,
    to_seconds,
    to_variation,
)
from controller.objects.read import Entry, Key, Read

K = TypeVar("K")
T = TypeVar("T")


def _take_list(
    items: Sequence[T],
    known: Iterable[K],
    *,
    key: Callable[[T], K],
    put: Callable[[T], object],
    drop: Callable[[K], object],
    drops_last: bool = False,
) -> Iterator[None]:
    """Take in a whole list in parts: drop what is known and not listed, and put what is listed."""
    listed = set(map(key, items))

    def judge(one: K) -> None:
        if one not in listed:
            drop(one)

    drops, puts = in_parts(map(judge, list(known))), in_parts(map(put, items))
    yield from chain(puts, drops) if drops_last else chain(drops, puts)


class Sink(Generic[T, K]):
    """Objects of one kind into the cache, by the key that an object and its last metadata have."""

    def __init__(
        self,
        cache: ClusterCache,
        *,
        key: Callable[[Any], K],
        known: Callable[[], Iterable[K]],
        put: Callable[[T], None],
        drop: Callable[[K], None],
        drops_last: bool = False,
    ) -> None:
        self._lists = cache.lists
        self.key = key
        self._known = known
        self._drop = drop
        self._drops_last = drops_last
        self.upsert = put

    def replace(self, items: Sequence[T]) -> Iterator[None]:
        """All objects there are, in parts: a hundred thousand take seconds, and the Lease has to be kept meanwhile.

        Nothing is decided before all of the list is there. Half a list shows who came and still those that went:
        others would be preempted for want of what is free already.
        """
        with self._lists.taking_one():
            yield from _take_list(
                items,
                self._known(),
                key=self.key,
                put=self.upsert,
                drop=self._drop,
                drops_last=self._drops_last,
            )

    def remove(self, gone: Owned) -> None:
        """One object is gone."""
        self._drop(self.key(gone))


class TakesPods(Protocol):
    """What pods are given to: the cache, or who looks on as the cache takes them in."""

    def put_pod(self, pod: Pod) -> None:
        """A pod is as this says."""

    def drop_pod(self, uid: str) -> None:
        """A pod is gone."""


class PodSink(Sink[Pod, str]):
    """Pods into the cache."""

    def __init__(self, cache: ClusterCache, into: TakesPods | None = None) -> None:
        """`into` gives them to the cache; None: they go there at once."""
        taker = cache if into is None else into

        def drop(uid: str) -> None:
            if uid not in cache.pods or not cache.pods[uid].is_job:  # Jobs are in a list of their own
                taker.drop_pod(uid)

        super().__init__(
            cache,
            key=attrgetter("uid"),
            known=lambda: cache.pods,
            put=taker.put_pod,
            drop=drop,
            drops_last=True,  # so that a gang whose pods were all recreated is known throughout
        )


class NodeSink(Sink[Node, str]):
    """Nodes into the cache, with what their resources come to in quota."""

    def __init__(self, cache: ClusterCache) -> None:
        super().__init__(
            cache,
            key=attrgetter("name"),
            known=lambda: cache.nodes,
            put=lambda node: cache.put_node(cache.resources.node(node)),
            drop=lambda name: _drop_node(cache, name),
        )


class NamespaceSink(Sink[Owned, str]):
    """Namespaces' labels into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        super().__init__(
            cache,
            key=attrgetter("name"),
            known=lambda: cache.namespaces,
            put=lambda item: cache.set_namespace(item.name, item.labels or {}),
            drop=lambda name: cache.set_namespace(name, None),
        )


class JobSink(Sink[JobState, str]):
    """Jobs into the cache, and those that are held as a whole among what waits and is charged."""

    def __init__(self, cache: ClusterCache) -> None:
        super().__init__(
            cache,
            key=attrgetter("uid"),
            known=lambda: cache.jobs,
            put=self._put,
            drop=self._forget_job,
        )
        self._cache = cache

    def _put(self, state: JobState) -> None:
        self._cache.set_job(state.uid, state.job)
        put_or_drop(self._cache.stopped_jobs, state.uid, state.pods if state.has_stopped else None)
        if state.pods is not None:
            self._cache.put_pod(state.pods)
        elif state.uid in self._cache.pods:
            self._cache.drop_pod(state.uid)

    def _forget_job(self, uid: str) -> None:
        self._cache.stopped_jobs.pop(uid, None)
        self._cache.drop_pod(uid)
        self._cache.set_job(uid, None)


class PodGroupSink(Sink[PodGroup, GroupKey]):
    """PodGroups of Kubernetes into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        super().__init__(
            cache,
            key=_key_of,
            known=cache.gangs.native,
            put=lambda group: cache.set_pod_group(_key_of(group), group),
            drop=lambda key: cache.set_pod_group(key, None),
        )


def _key_of(one: PodGroup | Owned) -> GroupKey:
    return GroupKey(one.namespace, one.name, is_native=True)


def _drop_node(cache: ClusterCache, name: str) -> None:
    cache.resources.nodes.pop(name, None)
    cache.drop_node(name)


class DeviceClassSink(Sink[DeviceClass, str]):
    """DeviceClasses into the cache: what nodes may have, and what claims are charged as, rests on them."""

    def __init__(self, cache: ClusterCache) -> None:
        def put(name: str, one: DeviceClass | None) -> None:
            if cache.resources.set_class(name, one):
                for node in list(cache.resources.nodes.values()):
                    cache.put_node(cache.resources.node(node))
                for pod in cache.resources.claiming():
                    cache.update_pod(pod)

        super().__init__(
            cache,
            key=attrgetter("name"),
            known=lambda: cache.resources.classes,
            put=lambda one: put(one.name, one),
            drop=lambda name: put(name, None),
        )


class ClaimTemplateSink(Sink[ClaimTemplate, TemplateKey]):
    """ResourceClaimTemplates into the cache: pods with claims of them are charged by them."""

    def __init__(self, cache: ClusterCache) -> None:
        def put(key: TemplateKey, requests: tuple[DeviceRequest, ...] | None) -> None:
            if cache.resources.set_template(key, requests):
                for pod in cache.resources.claiming(key):
                    cache.update_pod(pod)

        super().__init__(
            cache,
            key=attrgetter("namespace", "name"),
            known=lambda: cache.resources.templates,
            put=lambda one: put((one.namespace, one.name), one.requests),
            drop=lambda key: put(key, None),
        )


class ObjectSink:
    """Objects of one of our own kinds: entries for their status, models for the decision."""

    def __init__(self, entries: dict[Key, Entry], put: Callable[[Key, Read | None], None]) -> None:
        self._entries = entries
        self._put = put

    def replace(self, items: Sequence[Read]) -> Iterator[None]:
        """All objects of the kind there are, in parts."""
        return _take_list(items, self._entries, key=self.key, put=self.upsert, drop=self._forget)

    def key(self, one: Read | Owned) -> Key:
        """Return the key of an object, or of its last metadata."""
        return one.entry.key if isinstance(one, Read) else one.key

    def upsert(self, item: Read) -> None:
        """One object is new or changed; a change of its status alone changes nothing for the decision."""
        key = item.entry.key
        former = self._entries.get(key)
        self._entries[key] = item.entry
        if former is None or _version(former) != _version(item.entry):
            self._put(key, item)

    def remove(self, gone: Owned) -> None:
        """One object is gone."""
        self._forget(gone.key)

    def _forget(self, key: Key) -> None:
        self._entries.pop(key, None)
        self._put(key, None)


def _version(entry: Entry) -> tuple[str, int, str]:
    """What a decision may rest on; an annotation alone gives an object no new generation."""
    return entry.uid, entry.generation, entry.note


def flavor_sink(cache: ClusterCache, written: Written) -> ObjectSink:
    """ResourceFlavors into the cache."""

    def put(key: Key, read: Read | None) -> None:
        model = read.model if read is not None else None
        if read is not None:
            cache.clocks.stock_outs.restore(key[1], to_dry_spell(read.entry.status))
        cache.set_flavor(key[1], to_flavor(model) if isinstance(model, ResourceFlavor) else None)

    return ObjectSink(written.flavors, put)


def cluster_queue_sink(cache: ClusterCache, written: Written) -> ObjectSink:
    """ClusterQueues into the cache."""

    def put(key: Key, read: Read | None) -> None:
        model = read.model if read is not None else None
        fault = read.entry.fault if read is not None else None
        if read is not None:
            cache.budgets.remember(key[1], read_sums(read.entry.status))
        if isinstance(model, ClusterQueue):
            cache.set_cluster_queue(key[1], to_cluster_queue(model), variation=to_variation(model), fault=fault)
        else:
            cache.set_cluster_queue(key[1], None, fault=fault)

    return ObjectSink(written.cluster_queues, put)


def local_queue_sink(cache: ClusterCache, written: Written) -> ObjectSink:
    """LocalQueues into the cache."""

    def put(key: Key, read: Read | None) -> None:
        model = read.model if read is not None else None
        if read is not None:
            cache.usage.past.remember(key, read.entry.status)
        if isinstance(model, LocalQueue):
            cache.usage.past.note(key, model.spec.cluster_queue)
        cache.set_local_queue(key, to_local_queue(model) if isinstance(model, LocalQueue) else None)

    return ObjectSink(written.local_queues, put)


def priority_class_sink(cache: ClusterCache, written: Written) -> ObjectSink:
    """WorkloadPriorityClasses into the cache."""

    def put(key: Key, read: Read | None) -> None:
        model = read.model if read is not None else None
        spec = model.spec if isinstance(model, WorkloadPriorityClass) else None
        value, run_time = (None, 0) if spec is None else (spec.value, to_seconds(spec.max_run_time) or 0)
        cache.move(cache.positions.set_class(key[1], value, run_time))
        cache.reopen_all()  # who may preempt whom is another matter now

    return ObjectSink(written.priority_classes, put)


def policy_sinks(cache: ClusterCache, written: Written) -> tuple[ObjectSink, ObjectSink]:
    """ClusterPodSchedulingPolicies, and PodSchedulingPolicies, into the cache."""

    def put(key: Key, read: Read | None) -> None:
        model = read.model if read is not None else None
        policy = to_policy(model) if isinstance(model, PodSchedulingPolicy | ClusterPodSchedulingPolicy) else None
        cache.policies.put(key, policy)

    return ObjectSink(written.cluster_policies, put), ObjectSink(written.policies, put)


def scheduling_policy_sink(cache: ClusterCache, written: Written) -> ObjectSink:
    """SchedulingPolicies into the cache."""

    def put(key: Key, read: Read | None) -> None:
        model = read.model if read is not None else None
        mode = Mode(model.spec.mode) if isinstance(model, SchedulingPolicy) else None
        cache.policies.put_scheduling(key[1], mode)

    return ObjectSink(written.scheduling_policies, put)
