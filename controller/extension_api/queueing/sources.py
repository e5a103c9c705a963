"""How old what is known may be, by kind: that of the replica that answers, on which all its other answers rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from controller.extension_api.resources import Column, Entry, Page, Query, Resource
from controller.telemetry.sources import Source

Sources = Callable[[], Iterable[Source]]
"""Returns what keeps up each kind, as far as it has begun."""


class SourceRow(Struct, frozen=True, rename="camel"):
    """How well what is known of a kind is kept up, as `penstock_source_up` and `penstock_source_stale_seconds` have it.

    `up`: by a watch that works. `staleSeconds`: for how long it may be out of date; 0 while the watch works.
    """

    up: bool
    stale_seconds: int


_COLUMNS: tuple[Column[SourceRow], ...] = (
    Column("Up", lambda row: str(row.up), "Whether a watch keeps it up."),
    Column("Stale", lambda row: row.stale_seconds, "For how many seconds it may be out of date.", "integer"),
)


def cache_sources(sources: Sources) -> Resource:
    """Return them as a resource: a dozen rows, each named as the plural of its kind."""

    def known() -> dict[str, SourceRow]:
        stale = {one.resource: one.stale_seconds for one in sources()}
        return {name: SourceRow(up=age is None, stale_seconds=int(age or 0)) for name, age in sorted(stale.items())}

    async def listed(query: Query) -> Page:
        found = [Entry(name, "", row) for name, row in known().items() if name > query.after]
        shown = found[: query.limit]
        left = len(found) - len(shown)
        return Page(shown, shown[-1].name if left else "", left)

    async def get(query: Query) -> Entry | None:
        row = known().get(query.name)
        return None if row is None else Entry(query.name, "", row)

    return Resource(
        plural="cachesources",
        singular="cachesource",
        kind="CacheSource",
        is_namespaced=False,
        item=SourceRow,
        columns=_COLUMNS,
        list=listed,
        get=get,
    )
