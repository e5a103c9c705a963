"""From what informers hand over to the cache: one sink a kind. No rule lives here."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TypeVar

from controller.api.cluster_queue import ClusterQueue
from controller.api.flavor import ResourceFlavor
from controller.api.local_queue import LocalQueue
from controller.api.pod_policy import ClusterPodSchedulingPolicy, PodSchedulingPolicy
from controller.api.scheduling_policy import SchedulingPolicy
from controller.api.workload_priority_class import WorkloadPriorityClass
from controller.cache.budget_objects import read_sums
from controller.cache.cluster import ClusterCache
from controller.cache.objects import to_cluster_queue, to_dry_spell, to_flavor, to_local_queue, to_variation
from controller.cache.parts import in_parts
from controller.cache.pod_policies import to_policy
from controller.cache.written import Entry, Key, Read, Written
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.owners import Job
from controller.core.policies.pod_policies import Mode
from controller.core.workloads.groups import GroupKey, PodGroup
from controller.core.workloads.pods import Pod
from controller.kube.wire import Owned

K = TypeVar("K")


def _whole(cache: ClusterCache, parts: Iterator[None]) -> Iterator[None]:
    """Take in a list in parts, and let nothing be decided before all of it is there.

    Half a list shows who came and still those that went: others would be preempted for want of what is free already.
    """
    with cache.lists.taking_one():
        yield from parts


def _keep(listed: Container[K], known: Iterable[K], drop: Callable[[K], None]) -> Iterator[None]:
    """Drop in parts what is known and not listed."""

    def judge(one: K) -> None:
        if one not in listed:
            drop(one)

    return in_parts(map(judge, known))


class PodSink:
    """Pods into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self.upsert = cache.put_pod

    def replace(self, items: Sequence[Pod]) -> Iterator[None]:
        """All pods there are, in parts: a hundred thousand take seconds, and the Lease has to be kept meanwhile."""
        return _whole(self._cache, self._replace(items))

    def _replace(self, items: Sequence[Pod]) -> Iterator[None]:
        listed = set(map(attrgetter("uid"), items))
        yield from in_parts(map(self._cache.put_pod, items))
        yield from _keep(listed, list(self._cache.pods), self._cache.drop_pod)

    def remove(self, gone: Owned) -> None:
        """One pod is gone."""
        self._cache.drop_pod(gone.uid)


class NodeSink:
    """Nodes into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self.upsert = cache.put_node

    def replace(self, items: Sequence[Node]) -> Iterator[None]:
        """All nodes there are, in parts."""
        return _whole(self._cache, self._replace(items))

    def _replace(self, items: Sequence[Node]) -> Iterator[None]:
        listed = set(map(attrgetter("name"), items))
        yield from _keep(listed, list(self._cache.nodes), self._cache.drop_node)
        yield from in_parts(map(self._cache.put_node, items))

    def remove(self, gone: Owned) -> None:
        """One node is gone."""
        self._cache.drop_node(gone.name)


class NamespaceSink:
    """Namespaces' labels into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def replace(self, items: Sequence[Owned]) -> Iterator[None]:
        """All namespaces there are, in parts."""
        return _whole(self._cache, self._replace(items))

    def _replace(self, items: Sequence[Owned]) -> Iterator[None]:
        listed, known = set(map(attrgetter("name"), items)), list(self._cache.namespaces)
        yield from _keep(listed, known, lambda name: self._cache.set_namespace(name, None))
        yield from in_parts(map(self.upsert, items))

    def upsert(self, item: Owned) -> None:
        """One namespace is new or changed."""
        self._cache.set_namespace(item.name, item.labels or {})

    def remove(self, gone: Owned) -> None:
        """One namespace is gone."""
        self._cache.set_namespace(gone.name, None)


class JobSink:
    """Jobs into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def replace(self, items: Sequence[Job]) -> Iterator[None]:
        """All Jobs there are, in parts."""
        return _whole(self._cache, self._replace(items))

    def _replace(self, items: Sequence[Job]) -> Iterator[None]:
        listed = set(map(attrgetter("uid"), items))
        yield from _keep(listed, list(self._cache.jobs), lambda uid: self._cache.set_job(uid, None))
        yield from in_parts(map(self.upsert, items))

    def upsert(self, item: Job) -> None:
        """One Job is new or changed."""
        self._cache.set_job(item.uid, item)

    def remove(self, gone: Owned) -> None:
        """One Job is gone."""
        self._cache.set_job(gone.uid, None)


class PodGroupSink:
    """PodGroups of Kubernetes into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def replace(self, items: Sequence[PodGroup]) -> Iterator[None]:
        """All PodGroups there are, in parts."""
        return _whole(self._cache, self._replace(items))

    def _replace(self, items: Sequence[PodGroup]) -> Iterator[None]:
        listed, known = set(map(_key_of, items)), self._cache.gangs.native()
        yield from _keep(listed, known, lambda key: self._cache.set_pod_group(key, None))
        yield from in_parts(map(self.upsert, items))

    def upsert(self, item: PodGroup) -> None:
        """One PodGroup is new or changed."""
        self._cache.set_pod_group(_key_of(item), item)

    def remove(self, gone: Owned) -> None:
        """One PodGroup is gone."""
        self._cache.set_pod_group(_key_of(gone), None)


def _key_of(one: PodGroup | Owned) -> GroupKey:
    return GroupKey(one.namespace, one.name, is_native=True)


class ObjectSink:
    """Objects of one of our own kinds: entries for their status, models for the decision."""

    def __init__(self, entries: dict[Key, Entry], put: Callable[[Key, Read | None], None]) -> None:
        self._entries = entries
        self._put = put

    def replace(self, items: Sequence[Read]) -> Iterator[None]:
        """All objects of the kind there are, in parts."""
        listed = {item.entry.key for item in items}
        yield from _keep(listed, list(self._entries), self._forget)
        yield from in_parts(map(self.upsert, items))

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
        value = model.spec.value if isinstance(model, WorkloadPriorityClass) else None
        cache.move(cache.places.set_class(key[1], value))
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
