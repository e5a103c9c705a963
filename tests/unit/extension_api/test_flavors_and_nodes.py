"""`flavorcapacities` and `flavornodes`: rows of the command line, in pages, counted in slices, naming no pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

import pytest
from msgspec import json

from controller.cache.cluster import ClusterCache
from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.nodes import flavors_and_nodes
from controller.extension_api.queueing.registry import resources
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import Entry, Query, Resource
from controller.forking import Forks
from controller.visibility.node_rows import FlavorRow
from controller.visibility.nodes import flavors, nodes
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import a_cache, a_flavor, a_foreign_pod, a_node, a_released_pod

T = TypeVar("T")


def a_world() -> ClusterCache:
    """Five nodes of two flavors, one pod of a queue and one of none."""
    labels = ("spot", "spot", "other", "none", "spot")
    return a_cache(
        a_released_pod("secret-run", node="n0"),
        a_foreign_pod("secret-other", node="n1"),
        nodes=[a_node(f"n{number}", labels={"pool": pool}) for number, pool in enumerate(labels)],
        flavors=[a_flavor(), a_flavor("other")],
    )


def resource(cache: ClusterCache, plural: str) -> Resource:
    found = resources(cache, StartForecasts(), Turns(), Forks(1)).find(plural)
    assert found is not None
    return found


async def every(one: Resource, limit: int) -> list[Entry]:
    assert one.list is not None
    query, entries, remaining = Query(limit=limit), list[Entry](), None
    while True:
        page = await one.list(query)
        assert page is not None
        assert remaining in (None, len(page.entries) + page.remaining)
        entries += page.entries
        if not page.end:
            return entries
        query, remaining = replace(query, after=page.end), page.remaining


@pytest.mark.parametrize("limit", [1, 2, 5, 9])
async def test_they_are_those_of_the_command_line(limit: int) -> None:
    cache = a_world()
    of_flavors = await every(resource(cache, "flavorcapacities"), limit)
    of_nodes = await every(resource(cache, "flavornodes"), limit)
    assert [one.row for one in of_flavors] == flavors(cache.snapshot())
    assert [one.row for one in of_nodes] == nodes(cache.snapshot())
    assert [(one.name, one.namespace) for one in of_flavors] == [("other", ""), ("spot", "")]


async def test_one_is_got_by_its_name() -> None:
    cache = a_world()
    for plural, name in (("flavorcapacities", "spot"), ("flavornodes", "n3")):
        get = resource(cache, plural).get
        assert get is not None
        found = await get(Query(name=name))
        assert found is not None
        assert found.name == name
        assert [await get(Query(name=one)) for one in ("", "a", "n", "zz")] == [None] * 4


async def test_they_name_no_pods_and_hide_nothing() -> None:
    cache = a_world()
    entries = [*await every(resource(cache, "flavorcapacities"), 9), *await every(resource(cache, "flavornodes"), 9)]
    assert not [one for one in entries if one.names]
    assert b"secret" not in json.encode([one.row for one in entries])


async def test_a_flavor_that_is_new_is_found_at_once() -> None:
    cache = a_world()
    get = resource(cache, "flavorcapacities").get
    assert get is not None
    assert await get(Query(name="new")) is None
    cache.set_flavor("new", a_flavor("new", labels={"pool": "none"}))
    found = await get(Query(name="new"))
    assert found is not None
    assert isinstance(found.row, FlavorRow)
    assert found.row.nodes == 1


async def test_a_page_goes_on_behind_a_node_that_is_gone() -> None:
    cache = a_world()
    of_nodes = resource(cache, "flavornodes")
    assert of_nodes.list is not None
    first = await of_nodes.list(Query(limit=2))
    assert first is not None
    cache.drop_node("n1")
    fresh = resource(cache, "flavornodes")
    assert fresh.list is not None
    rest = await fresh.list(Query(limit=9, after=first.end))
    assert rest is not None
    assert [one.name for one in rest.entries] == ["n2", "n3", "n4"]


class CountedTurns(Turns):
    """Counts what is gone through slice by slice."""

    def __init__(self) -> None:
        super().__init__()
        self.items = 0

    async def through(self, items: Iterable[T]) -> list[T]:
        def each() -> Iterator[T]:
            for one in items:
                self.items += 1
                yield one

        return await super().through(each())


async def test_both_are_counted_once_and_in_slices() -> None:
    turns = CountedTurns()
    of_flavors, of_nodes = flavors_and_nodes(World(a_world(), StartForecasts(), turns))
    await every(of_flavors, 9)
    counted = turns.items
    assert counted >= 2 + 5 + 1 + 5 + 2, "pods, nodes, queues, names in order, then rows"
    await every(of_nodes, 9)
    assert turns.items == counted + 5, "the rows alone"
