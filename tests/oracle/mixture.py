"""How many pods of a queue may be on spot (docs/flavors.md)."""

from __future__ import annotations

from collections.abc import Iterable

from tests.oracle.tree import Placed
from tests.oracle.worlds import Flavor, Queue, World


def faults(world: World, placed: Iterable[Placed], queue: Queue, flavor: Flavor, count: int) -> set[str]:
    """Why the mix does not give the flavor to so many more pods of the queue; empty: it does."""
    if not flavor.is_spot or not queue.is_mixed:
        return set()
    if queue.spot_percent == 0:
        return {"NeverFits"}
    standing = list(placed)
    return (
        set()
        if keeps(world, [*standing, *[Placed({}, queue.name, flavor.name, None)] * count], queue)
        else {"MixLimit"}
    )


def keeps(world: World, placed: Iterable[Placed], queue: Queue) -> bool:
    """Whether of the queue's pods on the flavors that it lists no more are on spot than may be."""
    spot = {one.name for one in world.flavors if one.is_spot}
    # all that it lists, though just one of them may be asked about
    listed = {name for one in world.queues if one.name == queue.name for name, _ in one.quotas}
    own = [one for one in placed if one.queue == queue.name and one.flavor in listed]
    percent = 100 if queue.spot_percent is None else queue.spot_percent
    most = percent * (len(own) - (queue.on_demand_base or 0)) // 100
    return sum(one.flavor in spot for one in own) <= max(0, most)
