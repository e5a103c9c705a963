"""How queues, namespaces and other objects are set up: opened, created, pointed elsewhere, made to take the pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.core.kubernetes.labels import LabelSelector
from controller.core.queueing.queues import (
    ClusterQueue,
    FlavorMode,
    LocalQueue,
    QueueingStrategy,
    StopPolicy,
)
from controller.core.workloads.workload import QueueKey
from controller.visibility.changes.change import Change, Cost
from controller.visibility.editing import Case, with_queues


class _Setup(Change):
    """A change of an object that whoever looks after queues makes."""

    __slots__ = ()

    @property
    def cost(self) -> Cost:
        """One object."""
        return Cost.SETUP


@dataclass(frozen=True, slots=True)
class OpenLocalQueue(_Setup):
    """A LocalQueue that is stopped admits again."""

    queue: QueueKey
    stop: StopPolicy

    @property
    def text(self) -> str:
        """Which."""
        return f"LocalQueue {self.queue[1]} in namespace {self.queue[0]} without its stopPolicy {self.stop}"

    @property
    def command(self) -> str:
        """What undoes the hold, or the drain."""
        return f"penstock {_verb(self.stop)} queue/{self.queue[1]} -n {self.queue[0]}"

    @property
    def key(self) -> tuple[str, ...]:
        """The queue."""
        return "OpenLocalQueue", *self.queue

    def apply(self, case: Case) -> Case:
        """Take the stopPolicy away."""
        local = case.snapshot.queues.local_queues[self.queue]
        return _with_local_queue(case, replace(local, stop=StopPolicy.NONE))


@dataclass(frozen=True, slots=True)
class OpenClusterQueue(_Setup):
    """A ClusterQueue that is stopped admits again."""

    queue: str
    stop: StopPolicy

    @property
    def text(self) -> str:
        """Which."""
        return f"ClusterQueue {self.queue} without its stopPolicy {self.stop}"

    @property
    def command(self) -> str:
        """What undoes the hold, or the drain."""
        return f"penstock {_verb(self.stop)} clusterqueue/{self.queue}"

    @property
    def key(self) -> tuple[str, ...]:
        """The queue."""
        return "OpenClusterQueue", self.queue

    def apply(self, case: Case) -> Case:
        """Take the stopPolicy away."""
        return with_queue(case, replace(case.snapshot.queues.cluster_queues[self.queue], stop=StopPolicy.NONE))


@dataclass(frozen=True, slots=True)
class LocalQueueTo(_Setup):
    """A LocalQueue that leads to this ClusterQueue: a new one, or one that leads elsewhere now."""

    queue: QueueKey
    cluster_queue: str
    exists: bool

    @property
    def text(self) -> str:
        """Which, and where to."""
        namespace, name = self.queue
        if self.exists:
            return f"spec.clusterQueue {self.cluster_queue} in LocalQueue {name} of namespace {namespace}"
        return f"a LocalQueue {name} in namespace {namespace} with spec.clusterQueue {self.cluster_queue}"

    @property
    def key(self) -> tuple[str, ...]:
        """The LocalQueue."""
        return "LocalQueueTo", *self.queue

    def apply(self, case: Case) -> Case:
        """Create it, or let it lead there."""
        namespace, name = self.queue
        known = case.snapshot.queues.local_queues.get(self.queue)
        if known is not None:
            return _with_local_queue(case, replace(known, cluster_queue=self.cluster_queue))
        return _with_local_queue(case, LocalQueue(namespace=namespace, name=name, cluster_queue=self.cluster_queue))


@dataclass(frozen=True, slots=True)
class SelectNamespace(_Setup):
    """The namespace has labels that the ClusterQueue selects; without `labels` the queue selects every namespace."""

    queue: str
    namespace: str
    labels: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """Which labels, or which selector."""
        if not self.labels:
            return f"namespaceSelector {{}} in ClusterQueue {self.queue}, which selects every namespace"
        return f"{_labels(self.labels)} on namespace {self.namespace}"

    @property
    def command(self) -> str:
        """What sets the labels."""
        pairs = " ".join(f"{key}={value}" for key, value in self.labels)
        return f"kubectl label namespace {self.namespace} {pairs}" if pairs else ""

    @property
    def key(self) -> tuple[str, ...]:
        """The queue, and on which side it is changed."""
        return "SelectNamespace", self.queue, "labels" if self.labels else "selector"

    def apply(self, case: Case) -> Case:
        """Set the labels, or the selector."""
        view = case.snapshot.queues
        if not self.labels:
            return with_queue(case, replace(view.cluster_queues[self.queue], namespaces=LabelSelector()))
        labels = {**view.namespaces.get(self.namespace, {}), **dict(self.labels)}
        edited = replace(view, namespaces={**view.namespaces, self.namespace: labels})
        return case.with_snapshot(replace(case.snapshot, queues=edited))


@dataclass(frozen=True, slots=True)
class WithoutFlavor(_Setup):
    """A ClusterQueue no longer names a flavor that does not exist."""

    queue: str
    flavor: str

    @property
    def text(self) -> str:
        """Which; creating the flavor does it too."""
        return f"ResourceFlavor {self.flavor}, or ClusterQueue {self.queue} without it"

    @property
    def key(self) -> tuple[str, ...]:
        """The queue and the flavor."""
        return "WithoutFlavor", self.queue, self.flavor

    def apply(self, case: Case) -> Case:
        """Take it from the list."""
        queue = case.snapshot.queues.cluster_queues[self.queue]
        return with_queue(case, replace(queue, flavors=tuple(it for it in queue.flavors if it.flavor != self.flavor)))


@dataclass(frozen=True, slots=True)
class WithoutParent(_Setup):
    """A ClusterQueue whose parent is missing or leads in a circle becomes the root of a tree."""

    queue: str

    @property
    def text(self) -> str:
        """Which."""
        return f"ClusterQueue {self.queue} without spec.parent, or with one that can be used"

    @property
    def key(self) -> tuple[str, ...]:
        """The queue."""
        return "WithoutParent", self.queue

    def apply(self, case: Case) -> Case:
        """Make it a root."""
        return with_queue(case, replace(case.snapshot.queues.cluster_queues[self.queue], parent=""))


@dataclass(frozen=True, slots=True)
class FlavorsInOrder(_Setup):
    """A ClusterQueue whose flavors do not go together tries them in order."""

    queue: str

    @property
    def text(self) -> str:
        """Which."""
        return f"flavorMode Ordered in ClusterQueue {self.queue}"

    @property
    def key(self) -> tuple[str, ...]:
        """The queue."""
        return "FlavorsInOrder", self.queue

    def apply(self, case: Case) -> Case:
        """Set the mode."""
        queue = case.snapshot.queues.cluster_queues[self.queue]
        return with_queue(case, replace(queue, flavor_mode=FlavorMode.ORDERED))


@dataclass(frozen=True, slots=True)
class OthersMayPass(_Setup):
    """A ClusterQueue lets others pass a head that cannot be admitted."""

    queue: str

    @property
    def text(self) -> str:
        """Which strategy."""
        return f"queueingStrategy BestEffortFIFO in ClusterQueue {self.queue}"

    @property
    def key(self) -> tuple[str, ...]:
        """The queue."""
        return "OthersMayPass", self.queue

    def apply(self, case: Case) -> Case:
        """Set the strategy."""
        queue = case.snapshot.queues.cluster_queues[self.queue]
        return with_queue(case, replace(queue, strategy=QueueingStrategy.BEST_EFFORT_FIFO))


def with_queue(case: Case, queue: ClusterQueue) -> Case:
    """Return the case with this ClusterQueue instead of that of the same name."""
    return case.with_snapshot(with_queues(case.snapshot, {queue.name: queue}))


def _with_local_queue(case: Case, local: LocalQueue) -> Case:
    view = case.snapshot.queues
    local_queues: Mapping[QueueKey, LocalQueue] = {**view.local_queues, (local.namespace, local.name): local}
    return case.with_snapshot(replace(case.snapshot, queues=replace(view, local_queues=local_queues)))


def _verb(stop: StopPolicy) -> str:
    return "open" if stop is StopPolicy.HOLD_AND_DRAIN else "release"


def _labels(pairs: tuple[tuple[str, str], ...]) -> str:
    written = ", ".join(f"{key}={value}" for key, value in pairs)
    return f"the label{'s' if len(pairs) > 1 else ''} {written}"
