"""The unit of admission and its place in the order.

A workload is a demand (pod sets, each a count of one shape) that some patches can release; the decision does not
assume that its pods exist. A queued pod is a workload of one set of one, a gang one of as many as it has members, and a
Job that is held as a whole one of a set of as many pods as it is to keep alive, which one patch releases.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from controller.core.kubernetes.amounts import Requests, plus, times
from controller.core.reasons import Reason
from controller.core.workloads.shapes import Shape
from controller.core.workloads.topology import Slices, Topology

OrderKey = tuple[int, float, int, float, str, str, tuple[Any, ...]]
"""(negated priority, creation of the owner, completion index, creation, namespace/name, uid, ()), times in epoch
seconds: ascending is first come, and total. Last, of who stands `behind` another whose place the rest is: its own six.
"""

_AHEAD = -(2**40)
"""Added to a priority's place, it is before every priority."""

QueueKey = tuple[str, ...]
"""(namespace, name) of a local queue."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A fault of the workload itself that keeps it from being looked at; `text` says which and what to do."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of one shape that are admitted together; `requests` are those of all of them.

    `slices`: how they have to stand, slice by slice in their order.
    """

    shape: Shape
    count: int = 1
    slices: Slices | None = None
    requests: Requests = field(init=False, repr=False, compare=False)
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        one = self.shape.requests
        object.__setattr__(self, "requests", one if self.count == 1 else times(one, self.count))
        object.__setattr__(self, "_hash", hash((self.shape, self.count, self.slices)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class WorkloadClass:
    """Workloads that differ only in their place in the order: one queue, the same pod sets, one hold.

    `waited`: of the queue's `fallback_after` the longest, in seconds, that they have waited; it opens flavors to them.
    `topology`: the domain in which all pods of each have to be, or prefer to be, together. `runtime`: the seconds that
    they say they run, where a queue backfills; 0: they do not say. `is_job`: each is a Job that is held as a whole.
    `most`: of a Job that can do with fewer pods, how many it wants; its pod set has those that it needs.
    """

    queue: QueueKey
    pod_sets: tuple[PodSet, ...]
    hold: Hold | None = None
    waited: int = 0
    topology: Topology | None = None
    runtime: int = 0
    is_job: bool = False
    most: int = 0
    size: int = field(init=False, repr=False, compare=False)
    """How many pods each workload has."""
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(one.count for one in self.pod_sets))
        parts = self.queue, self.pod_sets, self.hold, self.waited, self.topology, self.runtime
        object.__setattr__(self, "_hash", hash((*parts, self.is_job, self.most)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def user(self) -> str:
        """Whose they are, where users are told apart; of a gang the user of its largest pods."""
        return self.pod_sets[0].shape.user

    @property
    def is_free(self) -> bool:
        """Whether each is one pod that goes to any node that suits it."""
        return self.size == 1 and not self.is_job and self.topology is None and self.pod_sets[0].slices is None

    @property
    def wanted(self) -> int:
        """How many pods each workload wants; `size` of them it needs."""
        return self.most or self.size

    @property
    def patches(self) -> int:
        """How many patches release each workload."""
        return 1 if self.is_job else self.size

    def shapes(self, count: int) -> list[Shape]:
        """Return the shapes of the pods that are admitted, pod by pod: of a Job there may be more than it needs."""
        if self.is_job and len(self.pod_sets) == 1:
            return [self.pod_sets[0].shape] * count
        return [one.shape for one in self.pod_sets for _ in range(one.count)]

    def of_size(self, count: int) -> WorkloadClass:
        """Return the class of a Job as if it needed just so many pods, and wanted no more."""
        return replace(self, pod_sets=(replace(self.pod_sets[0], count=count),), most=0)

    @property
    def requests(self) -> Requests:
        """What each workload asks for in all."""
        return self.pod_sets[0].requests if len(self.pod_sets) == 1 else plus(one.requests for one in self.pod_sets)


@dataclass(frozen=True, slots=True)
class Workload:
    """What waits. `uid` is the uid of the pod or Job and `name` its namespace/name, or those of a gang.

    `since` is when it was created (epoch seconds). `members` are the uids of a gang's pods, set by set as its class has
    them; empty: the workload is one pod, or a Job that is held as a whole. `counts`: of the pod sets of an object that
    is held as a whole, for how many pods each member stands.
    """

    uid: str
    name: str
    kind: WorkloadClass
    order: OrderKey
    since: float = 0.0
    members: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()

    @property
    def pods(self) -> tuple[str, ...]:
        """The uids of its pods, set by set; of a Job that is held as a whole its own, once for all of them."""
        return self.members or (self.uid,)

    def uid_of_each(self, count: int) -> tuple[str, ...]:
        """For each of its pods that are admitted, so many in all, set by set, the uid that stands for it."""
        if not self.counts:
            return self.pods * count if self.kind.is_job else self.pods
        return tuple(uid for uid, pods in zip(self.pods, self.counts, strict=True) for _ in range(pods))


def order_key(*, priority: int, created: float, name: str, uid: str, since: float, index: int = 0) -> OrderKey:
    """Build the place in the order: priority; the creation of its owner, `since`; completion index; its own creation.

    So a pod that an owner makes again keeps the place of the one before. Times have a resolution of 1 s: name and uid
    decide what is left.
    """
    return (-priority, since, index, created, name, uid, ())


def ahead(order: OrderKey) -> OrderKey:
    """Return a place before all of its own queue; among all queues it is the same as before (`among_all`)."""
    return (_AHEAD + order[0], *order[1:])


def is_ahead(order: OrderKey) -> bool:
    """Say whether a place is before all of its queue."""
    return bool(order[0] < _AHEAD // 2)


def among_all(order: OrderKey) -> OrderKey:
    """Return a place as it is compared with those of other queues."""
    return (order[0] - _AHEAD, *order[1:]) if is_ahead(order) else order


def behind(front: OrderKey, own: OrderKey) -> OrderKey:
    """Return the place right behind `front`, before whoever comes after that; several there go by their own places."""
    return (*front[:6], own[:6])
