"""`cachesources`: how old what a replica knows may be, by kind, as its metrics say it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.registry import resources
from controller.extension_api.queueing.sources import SourceRow
from controller.extension_api.resources import Entry, Query, Resource
from controller.forking import Forks
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import a_cache


@dataclass
class KeptUp:
    """What keeps up a kind, or ceased to so many seconds ago."""

    resource: str
    stale_seconds: float | None = None


def served(*sources: KeptUp) -> Resource:
    registry = resources(a_cache(), StartForecasts(), Turns(), Forks(1), lambda: sources)
    found = registry.find("cachesources")
    assert found is not None
    return found


async def every(one: Resource, limit: int) -> list[Entry]:
    assert one.list is not None
    query, entries = Query(limit=limit), list[Entry]()
    while True:
        page = await one.list(query)
        assert page is not None
        entries += page.entries
        if not page.end:
            return entries
        query = replace(query, after=page.end)


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
async def test_each_kind_says_how_old_it_may_be(limit: int) -> None:
    of_sources = served(KeptUp("pods", 75.9), KeptUp("nodes"), KeptUp("jobs", 0.4))
    assert [(one.name, one.row) for one in await every(of_sources, limit)] == [
        ("jobs", SourceRow(up=False, stale_seconds=0)),
        ("nodes", SourceRow(up=True, stale_seconds=0)),
        ("pods", SourceRow(up=False, stale_seconds=75)),
    ]


async def test_what_is_told_is_of_the_moment() -> None:
    nodes = KeptUp("nodes")
    get = served(nodes).get
    assert get is not None
    nodes.stale_seconds = 12.0
    found = await get(Query(name="nodes"))
    assert found is not None
    assert found.row == SourceRow(up=False, stale_seconds=12)
    assert found.names == frozenset()
    assert await get(Query(name="pods")) is None


async def test_who_has_begun_nothing_knows_of_nothing() -> None:
    assert await every(served(), 9) == []
