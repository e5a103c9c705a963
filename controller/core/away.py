"""Who of the admitted counts as gone while it is tried whom to preempt: taken off a decision's ledger, and put back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from controller.core.ledger import Ledger
from controller.core.pods import Pod
from controller.core.preemption import Candidate
from controller.core.queues import Flavor
from controller.core.snapshot import Snapshot


class Away:
    """`victims` go for somebody, in this decision or since an earlier one; by their keys."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self.victims: dict[str, Candidate] = {}

    @contextmanager
    def without(self, more: Iterable[Candidate] = ()) -> Iterator[None]:
        """Try what would be if the victims and these were gone."""
        gone = [*self.victims.values(), *more]
        with self._ledger.trying():
            for one in gone:
                self.remove(one)
            try:
                yield
            finally:
                for one in gone:
                    self.put_back(one)

    def remove(self, one: Candidate) -> None:
        """Give back what a candidate has."""
        for pod in self._there(one):
            flavor, also = self._held(pod)
            self._ledger.give_back(one.queue, flavor, pod.shape.requests, self._node(pod), also)

    def put_back(self, one: Candidate) -> None:
        """Take it again."""
        for pod in self._there(one):
            flavor, also = self._held(pod)
            self._ledger.spend(one.queue, flavor, pod.shape.requests, self._node(pod), also)

    def pods(self) -> set[str]:
        """Return the uids of all victims."""
        return {pod.uid for one in self.victims.values() for pod in one.pods}

    def _there(self, one: Candidate) -> list[Pod]:
        """Return the pods of a candidate but those that are victims by themselves, as of a gang some may be."""
        return [pod for pod in one.pods if self.victims.get(pod.uid, one) is one]

    def _held(self, pod: Pod) -> tuple[Flavor, list[Flavor]]:
        """The flavor that pays for a pod, and those that hold quota for it too."""
        flavors = self._snapshot.flavors
        return flavors[pod.flavor or ""], [flavors[name] for name in pod.also if name in flavors]

    def _node(self, pod: Pod) -> str | None:
        node = None if pod.uid in self._snapshot.overdue else pod.node or pod.pinned
        return node if node in self._snapshot.nodes.nodes else None
