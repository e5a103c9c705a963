"""Pages of rows of those who wait, line by line in their order; each goes on behind the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import Workload
from controller.extension_api.queueing.world import Line, World
from controller.extension_api.resources import Entry, Page, Query
from controller.visibility.lines import Place, cluster_queue_of

Wanted = Callable[[Workload], bool]


def in_namespace(query: Query) -> Wanted:
    """Return which workloads are in the namespace that is asked for, or in any."""
    return lambda one: query.namespace in ("", one.kind.queue[0])


class Waiting(NamedTuple):
    """A workload that waits for a ClusterQueue, and which of its rows is asked for, 0 the first."""

    cluster_queue: str
    workload: Workload
    place: Place
    row: int


class _Spot(NamedTuple):
    """Where a row comes from: which workload of the line, and which of its rows."""

    at: int
    row: int


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Where a page ended: in which line, with that row of the workload that was at `at` then."""

    line: str
    at: int
    row: int
    uid: str

    @classmethod
    def read(cls, text: str) -> _Cursor | None:
        if not text:
            return None
        line, at, row, uid = text.split("|", 3)
        return cls(line, int(at), int(row), uid)

    def __str__(self) -> str:
        return f"{self.line}|{self.at}|{self.row}|{self.uid}"

    def begin(self, line: Line) -> _Spot:
        """Return where the next page begins, in a line that may have moved since."""
        at = line.index.get(self.uid)
        return _Spot(self.at, 0) if at is None else _Spot(at, self.row + 1)


class LinePages:
    """`entry` makes an object of a row; `rows` says how many a workload has."""

    def __init__(
        self, world: World, entry: Callable[[Snapshot, Waiting], Entry], rows: Callable[[Workload], int] = lambda one: 1
    ) -> None:
        self._world = world
        self._entry = entry
        self._rows = rows

    async def page(self, query: Query, names: Sequence[str], wanted: Wanted) -> Page:
        """Return a page of these lines, which are in order."""
        cursor = _Cursor.read(query.after)
        entries: list[Entry] = []
        for name in names if cursor is None else [one for one in names if one >= cursor.line]:
            line = await self._world.lines.get(name)
            begin = cursor.begin(line) if cursor is not None and cursor.line == name else _Spot(0, 0)
            room = query.limit - len(entries)
            found = await self._world.turns.through(self._first(line, begin, room, wanted))
            chosen = [spot for spot in found if spot is not None]
            entries += await self._entries(name, line, chosen)
            if len(entries) >= query.limit or len(chosen) < len(found):
                last = chosen[-1]
                return Page(entries, str(_Cursor(name, *last, line.workloads[last.at].uid)))
        return Page(entries)

    async def only(self, name: str, uid: str) -> Entry | None:
        """Return the first row of a workload in a line."""
        line = await self._world.lines.get(name)
        at = line.index.get(uid)
        entries = [] if at is None else await self._entries(name, line, [_Spot(at, 0)])
        return next(iter(entries), None)

    def _first(self, line: Line, begin: _Spot, most: int, wanted: Wanted) -> Iterator[_Spot | None]:
        """Yield where the first rows that are wanted are, at most so many; at the end None where there are more."""
        left = most
        for at in range(begin.at, len(line.workloads)):
            one = line.workloads[at]
            for row in range(begin.row if at == begin.at else 0, self._rows(one) if wanted(one) else 0):
                if not left:
                    yield None
                    return
                left -= 1
                yield _Spot(at, row)

    async def _entries(self, name: str, line: Line, chosen: Sequence[_Spot]) -> list[Entry]:
        snapshot = await self._world.snapshot()
        rows = (Waiting(cluster_queue_of(name), line.workloads[at], line.places[at], row) for at, row in chosen)
        return await self._world.turns.through(self._entry(snapshot, one) for one in rows if self._waits(one))

    def _waits(self, one: Waiting) -> bool:
        return self._world.waits(one.workload) and one.workload.pods[one.row] in self._world.cache.pods
