"""Pages of what stays in its order as long as it is there, such as queues by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from controller.extension_api.queueing.world import World
from controller.extension_api.resources import Entry, Page, Query
from controller.extension_api.statuses import Refused

K = TypeVar("K")


async def key_page(
    world: World, query: Query, keys: Sequence[K], name: Callable[[K], str], entry: Callable[[K], Entry]
) -> Page:
    """Return a page of keys; the next goes on behind the one that it ended with. Raises Refused, 410: that is gone."""
    async with world.turns.one():
        begin = 0 if not query.after else next((at for at, one in enumerate(keys, 1) if name(one) == query.after), None)
    if begin is None:
        raise Refused(410, f"{query.after}, with which the page before ended, is gone: list from the start")
    chosen = keys[begin : begin + query.limit]
    remaining = len(keys) - begin - len(chosen)
    entries = await world.turns.through(map(entry, chosen))
    return Page(entries, name(chosen[-1]) if remaining else "", remaining)
