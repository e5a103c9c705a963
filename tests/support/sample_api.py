"""A small API to serve in tests: queues of the cluster, and tickets that wait in them, in namespaces."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

import msgspec

from controller.extension_api.resources import HIDDEN, Column, Entry, Page, Query, Registry, Resource


class Ticket(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Somebody who waits."""

    place: int
    ahead_of: str | None = None


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """How many wait in a queue."""

    waiting_count: int


def ticket(namespace: str, name: str, place: int = 1) -> Entry:
    return Entry(name, namespace, Ticket(place=place), frozenset((namespace,)))


class SampleApi:
    """Tickets in order, all in the queue `main`; counts how often it was asked for a page."""

    def __init__(self, *tickets: Entry) -> None:
        self.tickets: Sequence[Entry] = tickets
        self.pages = 0

    def registry(self) -> Registry:
        lines = Resource(
            plural="lines",
            singular="line",
            kind="Line",
            is_namespaced=False,
            item=Line,
            columns=(_WAITING,),
            list=self._lines,
            get=self._line,
        )
        tickets = Resource(
            plural="tickets",
            singular="ticket",
            kind="Ticket",
            short_names=("tk",),
            is_namespaced=True,
            item=Ticket,
            columns=(_PLACE,),
            list=self._list,
            get=self._get,
            redact=_redact,
        )
        of_line = replace(
            tickets, plural="lines", subresource="tickets", short_names=(), is_namespaced=False, list=self._of_line
        )
        return Registry((lines, replace(of_line, get=None), tickets))

    async def _lines(self, query: Query) -> Page:
        entry = await self._line(replace(query, name="main"))
        return Page([entry] if entry is not None else [])

    async def _line(self, query: Query) -> Entry | None:
        return Entry("main", "", Line(len(self.tickets))) if query.name == "main" else None

    async def _of_line(self, query: Query) -> Page | None:
        return await self._list(replace(query, name="")) if query.name == "main" else None

    async def _list(self, query: Query) -> Page:
        self.pages += 1
        those = [one for one in self.tickets if query.namespace in ("", one.namespace)]
        begin = int(query.after or 0)
        end = begin + query.limit
        return Page(those[begin:end], str(end) if end < len(those) else "", max(0, len(those) - end))

    async def _get(self, query: Query) -> Entry | None:
        found = (one for one in self.tickets if (one.namespace, one.name) == (query.namespace, query.name))
        return next(found, None)


_WAITING: Column[Line] = Column("Waiting", lambda row: row.waiting_count, "How many wait.", "integer")
_PLACE: Column[Ticket] = Column("Place", lambda row: row.place, "Where it stands.", "integer")


def _redact(entry: Entry, seen: Set[str]) -> Entry:
    return entry if entry.namespace in seen else replace(entry, name=HIDDEN)
