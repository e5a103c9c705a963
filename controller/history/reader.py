"""Reads a history that another process may write; where there is none, or one of another version, it says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller.core.budgets.budget import amount_text
from controller.core.kubernetes.amounts import PODS
from controller.history import finding
from controller.history.run_store import HistoryError
from controller.history.store import Store
from controller.history.usage import usage
from controller.history.usage_columns import Span, split
from controller.history.usage_rows import UsageRow
from controller.history.wanted import FoundRun, Position, Wanted, WantedUsage
from controller.kube.clock import rfc3339


class Reader:
    """One database, for who only reads. Every call raises HistoryError."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_checked = False

    def check(self) -> None:
        """See that there is a history of this version."""
        if not self._is_checked:
            self._store.check()
        self._is_checked = True

    def namespaces(self) -> frozenset[str]:
        """Return the namespaces of which there are runs."""
        with self._checked():
            return finding.namespaces(self._store)

    def find(self, wanted: Wanted, *, most: int, after: Position | None = None) -> list[FoundRun]:
        """Return so many runs, those that were created last first; `after`: behind this place."""
        with self._checked():
            return finding.find_runs(self._store, wanted, most=most, after=after)

    def usage(self, wanted: WantedUsage, *, now: int) -> list[UsageRow]:
        """Return what was used; what goes on has run until `now`."""
        with self._checked():
            return [row for part in split(wanted.span, wanted.period) for row in self._rows(part, wanted, now)]

    def _rows(self, span: Span, wanted: WantedUsage, now: int) -> Iterator[UsageRow]:
        for key, one in usage(self._store, span, wanted.by, wanted.where, now=now).items():
            yield UsageRow(
                begin=rfc3339(span.begin),
                end=rfc3339(span.end),
                by=dict(zip(wanted.by, key, strict=True)),
                runs=one.runs,
                hours={name: amount_text(name, amount) for name, amount in sorted(one.amounts.items()) if name != PODS},
                cost=amount_text("", one.cost),
            )

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Look at the tables again after a fault: the file may be another one."""
        self.check()
        try:
            yield
        except HistoryError:
            self._is_checked = False
            raise
