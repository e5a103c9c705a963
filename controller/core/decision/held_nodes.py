"""On which nodes room is held for whom that has begun to preempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from controller.core.fitting.placement import Placements, places
from controller.core.workloads.decisions import FlavorNode


class HeldNodes:
    """As the last plan held it."""

    def __init__(self, preemptors: Mapping[str, int], held: Mapping[str, Counter[FlavorNode]]) -> None:
        """Both as a snapshot has them; of `preemptors` those count for whom others went."""
        self._held = held
        self._for: dict[FlavorNode, set[str]] = {}
        for uid in (uid for uid, preemptions in preemptors.items() if preemptions):
            for place in held.get(uid, ()):
                if place[1] is not None:
                    self._for.setdefault(place, set()).add(uid)

    def are_for_others(self, uid: str, placed: Placements) -> bool:
        """Say whether a workload would take a node that is held for others, and not so for it."""
        elsewhere = places(placed) - self._held.get(uid, Counter())
        return any(self._for.get(place, set()) - {uid} for place in elsewhere)
