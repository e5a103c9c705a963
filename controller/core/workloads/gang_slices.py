"""What is left of a gang that stands in slices: who lacks from a slice goes to its domain, the others slice by slice.

In which domain a slice is, its pods say: they are held there. Which slice a pod belongs to, its completion index says;
where there is none any slice that lacks a pod will do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Slices, domain_of


@dataclass(frozen=True, slots=True)
class Portion:
    """Pods that go together, by their places among those that wait: one where the others of its slice are, or a slice.

    `lacks` says how many pods of the slice are still to come.
    """

    places: tuple[int, ...]
    domain: str = ""
    lacks: int = 0


def portions(waiting: Sequence[Pod], placed: Sequence[Pod], slices: Slices, *, to_come: int) -> list[Portion]:
    """Divide the members of a gang that wait, beside those that have their place; `to_come` are not there yet."""
    gaps, beside = _gaps(placed, slices)
    found: list[Portion] = []
    left = list(range(len(waiting)))
    for is_own in (True, False):
        rest: list[int] = []
        for place in left:
            own = beside.get(waiting[place].completion_index // slices.size, set()) if is_own else gaps
            domain = min((one for one in own if gaps[one]), default="")
            if domain:
                gaps[domain] -= 1
                found.append(Portion((place,), domain))
            else:
                rest.append(place)
        left = rest
    for start in range(0, len(left), slices.size):
        places = tuple(left[start : start + slices.size])
        found.append(Portion(places, lacks=min(to_come, slices.size - len(places))))
    return found


def _gaps(placed: Sequence[Pod], slices: Slices) -> tuple[Counter[str], dict[int, set[str]]]:
    """How many pods slices lack in each domain; and where those of each slice are, by their index."""
    beside: dict[int, set[str]] = {}
    counts = Counter[str]()
    for pod in placed:
        domain = domain_of(pod.shape.constraints, slices.key)
        if domain:
            counts[domain] += 1
            beside.setdefault(pod.completion_index // slices.size, set()).add(domain)
    return Counter({domain: -count % slices.size for domain, count in counts.items()}), beside
