"""Which classes of workloads a decision looks at: all that is not settled, and what room that came free may let in."""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.ledger import Ledger
from controller.core.snapshot import Snapshot
from controller.core.workloads import WorkloadClass


def looked_at(snapshot: Snapshot, ledger: Ledger) -> Mapping[WorkloadClass, object]:
    """Return the classes to look at, as keys in an order that equal worlds share."""
    settled, nodes, freed = snapshot.settled, snapshot.nodes, snapshot.freed
    if settled is None:
        return snapshot.runs
    found = dict(settled.pending)
    for name in sorted({nodes.flavor_of.get(node, "") for node in freed} - {""}):
        flavor = snapshot.flavors[name]
        for of in (name, ""):
            for shape, kinds in settled.of_any_room(of).items():
                if not freed.isdisjoint(nodes.allowed(flavor, shape.constraints)):
                    found.update(dict.fromkeys(kinds))
        for shape, kinds in settled.short_of_room(name).items():
            if ledger.has_freed_room(flavor, shape):
                found.update(dict.fromkeys(kinds))
    return found
