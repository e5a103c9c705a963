"""Flavors and nodes, as `penstock flavors` and `nodes` show them: what there is, who takes it, and what is free.

Both come from one count, made anew once a second at most while somebody asks. They name no pods.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from controller.extension_api.queueing.shared import Shared
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import Column, Entry, Page, Query, Resource
from controller.visibility.node_counts import NodeCounts
from controller.visibility.node_rows import FlavorRow, NodeRow, amounts_text, taken_text
from controller.visibility.nodes import NodeRows

_FLAVORS: tuple[Column[FlavorRow], ...] = (
    Column("Nodes", lambda row: row.nodes, "Nodes of the flavor.", "integer"),
    Column("Ready", lambda row: row.ready, "Those of them that are Ready.", "integer"),
    Column("Schedulable", lambda row: row.schedulable, "Those of these that are not cordoned.", "integer"),
    Column("Pods", lambda row: row.pods, "Admitted pods of queues that are charged to it.", "integer"),
    Column(
        "Used+Others/Capacity",
        lambda row: taken_text(row.resources),
        "What pods of queues and other pods take of what pods may use.",
    ),
    Column("Mode", lambda row: row.mode, "How its room is known.", is_wide=True),
    Column("OtherPods", lambda row: row.other_pods, "Pods of no queue on its nodes.", "integer", is_wide=True),
    Column("Free", lambda row: amounts_text(row.resources, "free"), "What is left, node by node.", is_wide=True),
    Column(
        "Unavailable",
        lambda row: amounts_text(row.resources, "unavailable"),
        "What nodes have that take no pods now.",
        is_wide=True,
    ),
    Column("Quota", lambda row: amounts_text(row.resources, "quota"), "What ClusterQueues give of it.", is_wide=True),
    Column("Message", lambda row: row.message, "What is to be said of its nodes.", is_wide=True),
)
_NODES: tuple[Column[NodeRow], ...] = (
    Column("Flavor", lambda row: row.flavor, "The flavor that it belongs to."),
    Column("State", lambda row: row.state, "Ready, Cordoned or NotReady."),
    Column("Pods", lambda row: row.pods, "Pods of queues, there or planned for it.", "integer"),
    Column(
        "Used+Others/Allocatable",
        lambda row: taken_text(row.resources),
        "What pods of queues and other pods take of what it has.",
    ),
    Column("OtherPods", lambda row: row.other_pods, "Pods of no queue.", "integer", is_wide=True),
    Column("Free", lambda row: amounts_text(row.resources, "free"), "What is left.", is_wide=True),
    Column("OtherFlavors", lambda row: ",".join(row.other_flavors), "Flavors that select it, too.", is_wide=True),
    Column("NotReadySince", lambda row: row.not_ready_since, "When it ceased to be Ready.", is_wide=True),
)


def flavors_and_nodes(world: World) -> tuple[Resource, Resource]:
    """Return both resources."""
    counted = _Counted(world)

    def flavor(rows: NodeRows, name: str) -> Entry:
        return Entry(name, "", rows.flavor(name))

    def node(rows: NodeRows, name: str) -> Entry:
        return Entry(name, "", rows.node(name))

    of_flavors = _Named(world, counted, lambda rows: rows.flavor_names, flavor)
    of_nodes = _Named(world, counted, lambda rows: rows.names, node)
    return (
        Resource(
            plural="flavorcapacities",
            singular="flavorcapacity",
            kind="FlavorCapacity",
            is_namespaced=False,
            item=FlavorRow,
            columns=_FLAVORS,
            list=of_flavors.list,
            get=of_flavors.get,
        ),
        Resource(
            plural="flavornodes",
            singular="flavornode",
            kind="FlavorNode",
            is_namespaced=False,
            item=NodeRow,
            columns=_NODES,
            list=of_nodes.list,
            get=of_nodes.get,
        ),
    )


class _Counted:
    """The rows of all flavors and nodes, counted in slices."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rows: Shared[NodeRows] = Shared(self._count)

    async def rows(self) -> NodeRows:
        """Return rows of all flavors that there are: who has just made one looks for it."""
        known = await self._rows.get()
        if known.snapshot.queues.flavors.keys() == self._world.cache.flavors.keys():
            return known
        self._rows.forget()
        return await self._rows.get()

    async def _count(self, key: str) -> NodeRows:
        del key
        snapshot, counts = await self._world.snapshot(), NodeCounts()
        await self._world.turns.through(counts.count(snapshot))
        async with self._world.turns.one():
            return NodeRows(snapshot, counts)


class _Named:
    """Answers of a resource whose objects stand by name; a page goes on behind a name, whether that is gone or not."""

    def __init__(
        self,
        world: World,
        counted: _Counted,
        names: Callable[[NodeRows], Sequence[str]],
        entry: Callable[[NodeRows, str], Entry],
    ) -> None:
        self._world = world
        self._counted = counted
        self._names = names
        self._entry = entry

    async def list(self, query: Query) -> Page:
        """Return a page of rows."""
        rows = await self._counted.rows()
        names = self._names(rows)
        begin = bisect_right(names, query.after)
        chosen = names[begin : begin + query.limit]
        remaining = len(names) - begin - len(chosen)
        entries = await self._world.turns.through(self._entry(rows, one) for one in chosen)
        return Page(entries, chosen[-1] if remaining else "", remaining)

    async def get(self, query: Query) -> Entry | None:
        """Return the row of one; None where there is none of the name."""
        rows = await self._counted.rows()
        names = self._names(rows)
        at = bisect_right(names, query.name) - 1
        if at < 0 or names[at] != query.name:
            return None
        async with self._world.turns.one():
            return self._entry(rows, query.name)
