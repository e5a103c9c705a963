"""What is asked of a database. No database is imported here: who keeps no history needs none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from controller.history.recorder import Change
from controller.history.usage_rows import UsageRow
from controller.history.wanted import FoundRun, Position, Wanted, WantedUsage


class HistoryError(Exception):
    """The database cannot be reached, or does not take or give what it should; the text says which one and why."""


class RunStore(Protocol):
    """Runs in a database. Every call blocks, and raises HistoryError."""

    @property
    def name(self) -> str:
        """Which database it is, without a password."""

    def prepare(self) -> bool:
        """Bring the tables up to date; return whether there is no run in them."""

    def check(self) -> None:
        """See that the tables are there, as this version has them."""

    def write(self, changes: Sequence[Change]) -> None:
        """Take in changes, at any time once more."""

    def last_write(self) -> int:
        """Return the latest time that any run has; 0: there is none."""

    def not_ended(self) -> list[str]:
        """Return the pods of the runs that have not ended, by uid."""

    def end(self, uids: Sequence[str], at: int) -> None:
        """End the runs of these pods, which are gone without that anybody saw it; `at`, or when they began."""

    def expire(self, before: int) -> int:
        """Delete the runs that ended before this; return how many these were."""


class RunReader(Protocol):
    """What was written by whoever leads. Every call blocks, and raises HistoryError."""

    def namespaces(self) -> frozenset[str]:
        """Return the namespaces of which there are runs."""

    def find(self, wanted: Wanted, *, most: int, after: Position | None = None) -> list[FoundRun]:
        """Return so many runs, those that were created last first; `after`: behind this place."""

    def usage(self, wanted: WantedUsage, *, now: int) -> list[UsageRow]:
        """Return what was used; what goes on has run until `now`."""
