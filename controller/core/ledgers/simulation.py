"""A ledger on which preemption is tried: candidates are removed from it, and put back afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from controller.core.candidates.candidate import Candidate
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import Flavor
from controller.core.snapshot import Snapshot
from controller.core.workloads.pods import Pod


class Simulation:
    """`victims` go for somebody, in this decision or since an earlier one; by their keys."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self.victims: dict[str, Candidate] = {}
        self.pods: set[str] = set()
        """The uids of all that are of victims."""
        self._queues_in: dict[str, list[str]] = {}

    def take(self, victims: Iterable[Candidate]) -> None:
        """Remove these for the rest of the decision."""
        for one in victims:
            self.victims[one.key] = one
            self.pods.update(pod.uid for pod in one.pods)
            self.queues_in(self._snapshot.queues.tree.path(one.queue)[-1]).append(one.queue)
            # for good: to take all of them off a ledger at each search costs their number each time
            self.remove(self._ledger.shadow(), one)

    def queues_in(self, root: str) -> list[str]:
        """Return the queues of a tree that victims were taken of, one after the other; it goes on."""
        return self._queues_in.setdefault(root, [])

    def of(self, left: AnyLedger) -> _Simulated:
        """Enter what a workload may take of `left` without the victims; the caller leaves it as it was."""
        is_plain = left is self._ledger
        simulated = self._ledger.shadow() if is_plain and self.victims else left
        return _Simulated(simulated, self.removing(simulated, () if is_plain else tuple(self.victims.values())))

    def removing(self, simulated: AnyLedger, gone: Collection[Candidate], *, keeps_room: bool = False) -> _Removing:
        """Remove these from a simulated ledger meanwhile; `keeps_room`: from its quota alone."""
        return _Removing(self, simulated, gone, keeps_room=keeps_room)

    def remove(self, simulated: AnyLedger, one: Candidate, *, keeps_room: bool = False) -> None:
        """Give back what a candidate has; `keeps_room`: its quota alone."""
        ledger = self.base(simulated)
        for pod in self._there(one):
            flavor, also = self._held(pod)
            ledger.give_back(one.queue, flavor, pod.shape.requests, None if keeps_room else self._node(pod), also)

    def put_back(self, simulated: AnyLedger, one: Candidate, *, keeps_room: bool = False) -> None:
        """Take it again; `keeps_room`: its room was not given back."""
        ledger = self.base(simulated)
        for pod in self._there(one):
            flavor, also = self._held(pod)
            ledger.spend(one.queue, flavor, pod.shape.requests, None if keeps_room else self._node(pod), also)

    def on_nodes(self, one: Candidate) -> Iterator[tuple[str, Requests]]:
        """Yield what each of its pods that are on a node holds there."""
        for pod in self._there(one):
            node = self._node(pod)
            if node is not None:
                yield node, pod.shape.requests

    def would_own(
        self, simulated: AnyLedger, queue: str, flavor: str, requests: Requests, candidates: Iterable[Candidate]
    ) -> bool:
        """Say whether a queue, its own candidates being gone, might use no more than is its own with these requests."""
        tree = self._snapshot.queues.tree
        held = [dict(pod.shape.requests) for one in candidates for pod in self._there(one)]
        return bool(tree.children(queue)) or all(
            tree.cell(queue, (flavor, resource)) is None
            or simulated.usage.beyond(queue, (flavor, resource)) + need <= sum(one.get(resource, 0) for one in held)
            for resource, need in requests
        )

    def base(self, simulated: AnyLedger) -> Ledger:
        """Return the ledger from which candidates are removed: that of now, not those of the times that are booked."""
        return simulated if isinstance(simulated, Ledger) else self._ledger

    def _there(self, one: Candidate) -> Sequence[Pod]:
        """Return the pods of a candidate but those that are victims by themselves, as of a gang some may be."""
        return [pod for pod in one.pods if self.victims.get(pod.uid, one) is one] if self.victims else one.pods

    def _held(self, pod: Pod) -> tuple[Flavor, list[Flavor]]:
        """The flavor that pays for a pod, and those that hold quota for it too."""
        flavors = self._snapshot.queues.flavors
        return flavors[pod.flavor or ""], [flavors[name] for name in pod.also if name in flavors]

    def _node(self, pod: Pod) -> str | None:
        node = None if pod.uid in self._snapshot.running.overdue else pod.node or pod.pinned
        return node if node in self._snapshot.nodes.index.nodes else None


# Classes, for a decision tries on more often than it does most else, and contextlib takes longer than what is tried.


class _Removing:
    """Candidates are removed meanwhile."""

    def __init__(
        self, simulation: Simulation, simulated: AnyLedger, gone: Collection[Candidate], *, keeps_room: bool
    ) -> None:
        self._simulation = simulation
        self._simulated = simulated
        self._gone = gone
        self._keeps_room = keeps_room

    def __enter__(self) -> None:
        for one in self._gone:
            self._simulation.remove(self._simulated, one, keeps_room=self._keeps_room)

    def __exit__(self, *raised: object) -> None:
        for one in self._gone:
            self._simulation.put_back(self._simulated, one, keeps_room=self._keeps_room)


class _Simulated:
    """A ledger without the victims, to try on."""

    def __init__(self, simulated: AnyLedger, removing: _Removing) -> None:
        self._simulated = simulated
        self._trying = simulated.trying()
        self._removing = removing
        self._was_emptied = False

    def __enter__(self) -> AnyLedger:
        self._was_emptied, self._simulated.is_emptied = self._simulated.is_emptied, True
        self._trying.__enter__()
        self._removing.__enter__()
        return self._simulated

    def __exit__(self, *raised: object) -> None:
        self._removing.__exit__()
        self._trying.__exit__()
        self._simulated.is_emptied = self._was_emptied
