"""How many of a line have to go, and whom of these one could do without: with few looks at whether it is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from controller.core.candidates.candidate import Candidate

_STEP = 8
"""Most searches are in vain, or end with the first: so many times more are removed before the next look."""


@dataclass(slots=True)
class Removals:
    """Candidates that are removed, one after the other; `suffice` says whether it is enough.

    `is_steady` says of one whether what is enough stays so when it is removed too. As long as it does, not every number
    of them is tried.
    """

    remove: Callable[[Candidate], None]
    put_back: Callable[[Candidate], None]
    suffice: Callable[[], bool]
    is_steady: Callable[[Candidate], bool]
    _removed: list[Candidate] = field(init=False)
    _is_steady: bool = field(init=False)

    def find(self, victims: Iterable[Candidate]) -> list[Candidate] | None:
        """Remove as many as are enough, the first ones; return those of them that are needed; None: all are too few.

        All are back afterwards, and others may be looked for.
        """
        self._removed, self._is_steady = [], True
        found = self._spare() if self._take(victims) else None
        for one in reversed(self._removed if found is None else found):
            self.put_back(one)
        return found

    def _take(self, victims: Iterable[Candidate]) -> bool:
        """Remove just as many as are enough; say whether any number is."""
        removed, too_few = self._removed, 0
        for one in victims:
            if self._is_steady and not self.is_steady(one):
                if len(removed) > too_few and self.suffice():
                    break
                self._is_steady, too_few = False, len(removed)
            self.remove(one)
            removed.append(one)
            if self._is_steady and len(removed) < _STEP * too_few:
                continue
            if self.suffice():
                break
            too_few = len(removed)
        else:
            if len(removed) == too_few or not self.suffice():
                return False
        at = enough = len(removed)
        while enough - too_few > 1:
            at = self._go_to(at, (too_few + enough) // 2)
            too_few, enough = (too_few, at) if self.suffice() else (at, enough)
        self._go_to(at, enough)
        del removed[enough:]
        return True

    def _go_to(self, at: int, count: int) -> int:
        """Let just the first `count` be removed, where `at` are."""
        for one in self._removed[at:count]:
            self.remove(one)
        for one in reversed(self._removed[count:at]):
            self.put_back(one)
        return count

    def _spare(self) -> list[Candidate]:
        """Put back whom it does without, the last first; return the others, which stay removed.

        Without the last one it would not have been enough.
        """
        rest, needed = self._removed[:-1], self._removed[-1:]
        step = 1
        while rest:
            tried = rest[-step:]
            for one in reversed(tried):
                self.put_back(one)
            if self.suffice():
                del rest[-step:]
                step = 2 * step if self._is_steady else 1
                continue
            for one in tried:
                self.remove(one)
            if step == 1:
                needed.append(rest.pop())
            step = max(1, step // 2)
        return needed[::-1]
