"""The rows of pods that somebody looks at: searched, filtered, sorted or grouped, and a window of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from controller.extension_api.resources import HIDDEN
from controller.visibility.rows import PodRow

MOST_ROWS: Final = 200
"""Of one window: some screens full."""

COLUMNS: Final[Mapping[str, Callable[[PodRow], str | int]]] = {
    "namespace": lambda row: row.namespace,
    "name": lambda row: row.name,
    "state": lambda row: row.state,
    "localQueue": lambda row: row.local_queue,
    "clusterQueue": lambda row: row.cluster_queue,
    "owner": lambda row: row.owner,
    "group": lambda row: row.group,
    "user": lambda row: row.user,
    "priority": lambda row: row.priority,
    "created": lambda row: row.created,
    "since": lambda row: row.since,
    "flavor": lambda row: row.flavor,
    "node": lambda row: row.node,
    "place": lambda row: row.place,
    "reason": lambda row: row.reason,
    "start": lambda row: "" if row.start is None else row.start.p50,
}
_SEARCHED: Final = ("namespace", "name", "localQueue", "clusterQueue", "owner", "user", "flavor", "node", "reason")


class WrongTable(ValueError):
    """What was asked for is no table; the text says which parameter, and what it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows. `filters` are columns and the text that they must have; `sort` empty: the order of the queues.

    `group` empty: rows; else how many pods have which value of that column, and no rows.
    """

    search: str = ""
    filters: tuple[tuple[str, str], ...] = ()
    sort: str = ""
    is_descending: bool = False
    group: str = ""
    offset: int = 0
    limit: int = MOST_ROWS

    @classmethod
    def read(cls, query: Mapping[str, str], filters: Sequence[str]) -> Wanted:
        """Read search, sort, group and offset of an address, and filters as COLUMN:VALUE. Raises WrongTable."""
        sort = query.get("sort", "")
        return cls(
            search=query.get("search", ""),
            filters=tuple(_filter(one) for one in filters),
            sort=_column("sort", sort.removeprefix("-")),
            is_descending=sort.startswith("-"),
            group=_column("group", query.get("group", "")),
            offset=_offset(query.get("offset", "0")),
        )


def _filter(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    if not name:
        raise WrongTable(f"filter={text}: write COLUMN:VALUE, such as state:Pending")
    return _column("filter", name), value


def _column(parameter: str, name: str) -> str:
    if name and name not in COLUMNS:
        raise WrongTable(f"{parameter}={name}: there is no such column; there are {', '.join(COLUMNS)}")
    return name


def _offset(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise WrongTable(f"offset={text}: write how many rows come before, such as 200")
    return int(text)


class Group(Struct, frozen=True, rename="camel"):
    """Pods that have the same value in the column that is grouped by."""

    value: str
    pods: int
    pending: int
    reserved: int
    running: int


class Window(Struct, frozen=True, rename="camel"):
    """A part of a table of `total` rows, of which `matched` are left by search and filters.

    `order` are the keys of those from `offset` on, `rows` what they are; `states` counts all that are matched.
    """

    total: int
    matched: int
    offset: int
    states: dict[str, int]
    order: tuple[str, ...]
    rows: dict[str, PodRow]
    groups: tuple[Group, ...] = ()


def window(rows: Sequence[PodRow], wanted: Wanted) -> Window:
    """Return what is wanted of rows in the order of their queues."""
    text = wanted.search.casefold()
    matched = [row for row in rows if _passes(row, wanted.filters) and (not text or _has(row, text))]
    states = dict(Counter(row.state for row in matched))
    if wanted.group:
        return Window(len(rows), len(matched), 0, states, (), {}, _groups(matched, COLUMNS[wanted.group]))
    if wanted.sort:
        matched = _sorted(matched, COLUMNS[wanted.sort], is_descending=wanted.is_descending)
    # a window beyond the end, of a table that has become shorter, is the last one
    offset = min(wanted.offset, max(0, len(matched) - 1))
    chosen = matched[offset : offset + wanted.limit]
    keyed: dict[str, PodRow] = {}
    for number, row in enumerate(chosen):
        key = _key(row, number)
        # an admitted Job of which more pods wait has a row for these, and one for those that are to come
        keyed[f"{key}#{number}" if key in keyed else key] = row
    return Window(len(rows), len(matched), offset, states, tuple(keyed), keyed)


def _passes(row: PodRow, filters: Sequence[tuple[str, str]]) -> bool:
    return all(str(COLUMNS[name](row)) == value for name, value in filters)


def _has(row: PodRow, text: str) -> bool:
    return any(text in str(COLUMNS[name](row)).casefold() for name in _SEARCHED)


def _sorted(rows: Sequence[PodRow], value: Callable[[PodRow], str | int], *, is_descending: bool) -> list[PodRow]:
    """Sort, and put rows without a value last in both directions; equal ones stay in the order of their queues."""
    known = [row for row in rows if value(row) not in ("", 0)]
    unknown = [row for row in rows if value(row) in ("", 0)]
    return [*sorted(known, key=value, reverse=is_descending), *unknown]


def _groups(rows: Sequence[PodRow], value: Callable[[PodRow], str | int]) -> tuple[Group, ...]:
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(str(value(row)), Counter())[row.state] += 1
    found = (Group(key, one.total(), *(one[state] for state in _STATES)) for key, one in counts.items())
    return tuple(sorted(found, key=lambda group: (-group.pods, group.value)))


_STATES: Final = ("Pending", "Reserved", "Running")


def _key(row: PodRow, number: int) -> str:
    """Return what a row is called; those whose names are hidden by their place in the window."""
    return f"{HIDDEN}{number}" if row.name == HIDDEN else f"{row.namespace}/{row.name}"
