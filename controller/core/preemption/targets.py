"""Whom the queues of a tree have to give up by shares, as far as they are asked, and which parts have nobody left."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controller.core.candidates.candidate import Candidate
from controller.core.quota.fair_sharing import Ranked


class Targets:
    """Candidates by queue, as far as they are asked for, and the parts of the tree that have nobody to give up."""

    def __init__(
        self,
        line_of: Callable[[str], Iterator[Candidate]],
        comes_before: Callable[[Candidate, Candidate], bool],
        *,
        spares_owner: bool,
    ) -> None:
        """`spares_owner`: shares are asked also where the preemptor stays within what is its own."""
        self.spares_owner = spares_owner
        self._line_of = line_of
        self._comes_before = comes_before
        self._lines: dict[str, Iterator[Candidate]] = {}
        self._first: dict[str, Candidate | None] = {}
        self.pruned: set[str] = set()
        self.refused: set[str] = set()
        """Parts of which whoever is left may not go, by shares."""
        self.ranked: dict[str, tuple[list[Ranked], list[Ranked]]] = {}
        """By queue those right below it that may have somebody to give up: those that take pods, and inner ones."""
        self.stale: set[str] = set()
        """Queues whose share is less by now than it is there."""

    def refuse(self, part: str) -> None:
        """Let nobody more of a part of the tree go."""
        self.pruned.add(part)
        self.refused.add(part)

    def first(self, queue: str) -> Candidate | None:
        """Return the queue's first candidate, if it has any left."""
        if queue not in self._first:
            self._lines[queue] = self._line_of(queue)
            self._set(queue, next(self._lines[queue], None))
        return self._first[queue]

    def is_before(self, queue: str, other: str) -> bool:
        """Say whether the first of a queue comes before the first of another."""
        one, another = self.first(queue), self.first(other)
        return one is not None and (another is None or self._comes_before(one, another))

    def pop(self, queue: str) -> Candidate:
        """Take the queue's first candidate, which there is."""
        for one in self.rest(queue):
            return one
        raise LookupError(queue)

    def close(self, queue: str) -> None:
        """Ask nobody more of a queue."""
        self._set(queue, None)

    def rest(self, queue: str) -> Iterator[Candidate]:
        """Yield those that were not taken, each for good."""
        one = self.first(queue)
        while one is not None:
            self._set(queue, next(self._lines[queue], None))
            yield one
            one = self._first[queue]

    def _set(self, queue: str, first: Candidate | None) -> None:
        self._first[queue] = first
        if first is None:
            self.pruned.add(queue)
