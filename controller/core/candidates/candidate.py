"""Who may be preempted: admitted pods that go together, in their order, and what is remembered of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from controller.core.quota.quota_tree import Column
from controller.core.workloads.pods import Pod


@dataclass(frozen=True, slots=True)
class Candidate:
    """Admitted pods that go together: one pod, or all of a gang that stay. `to_evict` are those that do not go yet.

    Those of a gang that go while others stay are each a candidate of their own.

    `priority` is the highest in the gang, `since` and `admitted` the latest. `columns`: the flavors and resources of
    which they have anything; `held`: how much of those of the flavors that pay for them. `was_refused`: an eviction of
    one was. Until `quiet`, epoch seconds, no other queue may preempt them, until `quiet_for_borrowers` none that would
    borrow (`preemption.rounds`).
    """

    key: str
    queue: str
    pods: tuple[Pod, ...]
    to_evict: tuple[Pod, ...]
    priority: int
    since: float
    admitted: float
    columns: frozenset[Column]
    held: Mapping[Column, int] = field(hash=False)
    was_refused: bool = False
    quiet: float = 0.0
    quiet_for_borrowers: float = 0.0

    @property
    def is_going(self) -> bool:
        """Whether all of them are being evicted or deleted already."""
        return not self.to_evict

    @property
    def together(self) -> str:
        """What its evictions have in common, so that they are all sent or none; empty: there is one at most."""
        return self.key if len(self.to_evict) > 1 else ""


CandidateRank = tuple[bool, bool, bool, int, float, str]
"""Where a candidate stands among all; total, by its key."""


def candidate_rank(one: Candidate, own: str, first: Collection[str] = ()) -> CandidateRank:
    """Return the place in the order of Kueue's `CandidatesOrdering`; of a preemptor whose queue is `own`.

    Those that go anyway, other queues', of these those of the queues in `first`, lower priority, latest admitted.
    """
    is_own = one.queue == own
    return not one.is_going, is_own, one.queue not in first, one.priority, -one.admitted, one.key


def uses(candidate: Candidate, columns: Iterable[Column]) -> bool:
    """Say whether a candidate has anything of these flavors and resources."""
    return not candidate.columns.isdisjoint(columns)


CandidatesByFlavor = Mapping[str, tuple[Candidate, ...]]
"""Those of a queue that have anything of a flavor, in order."""


def by_flavor(candidates: Iterable[Candidate]) -> CandidatesByFlavor:
    """Tell candidates, which are in order, by the flavors that they have anything of."""
    found: dict[str, list[Candidate]] = {}
    for one in candidates:
        for flavor in {flavor for flavor, _ in one.columns}:
            found.setdefault(flavor, []).append(one)
    return {flavor: tuple(those) for flavor, those in found.items()}


class KnownCandidates:
    """The candidates of queues in which nothing moved since. Mutable: kept by the cache, filled by `decide`."""

    def __init__(self) -> None:
        self._of: dict[str, CandidatesByFlavor] = {}
        self._least: dict[str, dict[str, Mapping[Column, int]]] = {}
        self._moved: set[str] | None = set()
        self.of_several: Collection[str] = frozenset()
        """The queues of which any has something of several flavors, alone or with its gang."""

    def get(self, queue: str) -> CandidatesByFlavor | None:
        """Return those of a queue, if they are known."""
        return self._of.get(queue)

    def put(self, queue: str, found: CandidatesByFlavor) -> None:
        """Remember those of a queue."""
        self._of[queue] = found

    def least_of(self, queue: str) -> dict[str, Mapping[Column, int]]:
        """Return how much of a flavor each of a queue's has at least, by flavor; to be filled by who works it out."""
        return self._least.setdefault(queue, {})

    def forget(self, *queues: str) -> None:
        """A pod of these queues changed, came or went, or its Job did."""
        for queue in queues:
            self._of.pop(queue, None)
            self._least.pop(queue, None)
        if self._moved is not None:
            self._moved.update(queues)

    def forget_all(self) -> None:
        """What all of them rest on changed."""
        self._of.clear()
        self._least.clear()
        self._moved = None

    def take_moved(self) -> set[str] | None:
        """Return the queues that moved since this was asked; None: all."""
        moved, self._moved = self._moved, set()
        return moved
