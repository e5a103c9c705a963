"""What pods used of what they asked for, in groups, and which request would be enough: by the samples of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from controller.core.kubernetes.amounts import CPU, MEMORY, demand_amount, format_amount
from controller.history.run_rows import RunRow

_MARGIN: Final = 115
"""Percent of the largest sample that are enough: what vertical pod autoscalers add."""
_STEP: Final = {CPU: 10, MEMORY: 16 * 2**20}
"""A hint is a multiple of this, in the resource's unit."""
_LEAST: Final = 10
"""Samples of a group for a hint."""

Group = tuple[str, str]
"""A namespace (empty: of all), and a name."""
GROUPS: Final[Mapping[str, Callable[[RunRow], Group]]] = {
    "owner": lambda row: (row.namespace, row.owner or f"Pod/{row.name}"),
    "localQueue": lambda row: (row.namespace, row.local_queue),
    "clusterQueue": lambda row: ("", row.cluster_queue),
    "namespace": lambda row: (row.namespace, ""),
    "user": lambda row: ("", row.user),
}
"""What pods can be put together by."""


class EfficiencyRow(Struct, frozen=True, rename="camel"):
    """What the pods of a group used of one resource, as quantities of one pod.

    `requested` is what each asked for; empty: not all of them the same. `mean` and `peak` are of all samples.
    `percent` is what they used of what they asked for; None: they asked for none. `hint` is the request that would be
    enough; empty: there are too few samples, or the pods ask for different amounts.
    """

    namespace: str
    group: str
    resource: str
    pods: int
    samples: int
    requested: str
    mean: str
    peak: str
    percent: int | None
    hint: str


@dataclass(slots=True)
class _Sums:
    """`used` and `asked` are amounts times samples."""

    pods: int = 0
    samples: int = 0
    used: int = 0
    asked: int = 0
    peak: int = 0
    requests: set[int] = field(default_factory=set)


def efficiency(rows: Iterable[RunRow], by: str) -> list[EfficiencyRow]:
    """Return what pods used, by one of `GROUPS` and resource. Runs without samples are left out."""
    found: dict[tuple[Group, str], _Sums] = {}
    for row in rows:
        for resource, one in row.used.items():
            sums = found.setdefault((GROUPS[by](row), resource), _Sums())
            request = demand_amount(resource, row.requests.get(resource, "0"))
            sums.pods += 1
            sums.samples += row.samples
            sums.used += demand_amount(resource, one.mean) * row.samples
            sums.asked += request * row.samples
            sums.peak = max(sums.peak, demand_amount(resource, one.peak))
            sums.requests.add(request)
    return [_row(group, resource, sums) for (group, resource), sums in sorted(found.items(), key=lambda one: one[0])]


def _row(group: Group, resource: str, sums: _Sums) -> EfficiencyRow:
    is_alike = len(sums.requests) == 1
    return EfficiencyRow(
        namespace=group[0],
        group=group[1],
        resource=resource,
        pods=sums.pods,
        samples=sums.samples,
        requested=format_amount(resource, min(sums.requests)) if is_alike else "",
        mean=_rounded(resource, -(-sums.used // sums.samples)),
        peak=_rounded(resource, sums.peak),
        percent=round(100 * sums.used / sums.asked) if sums.asked else None,
        hint=_hint(resource, sums.peak) if is_alike and sums.samples >= _LEAST else "",
    )


def _hint(resource: str, peak: int) -> str:
    step = _STEP[resource]
    enough = -(-peak * _MARGIN // 100)
    return format_amount(resource, max(step, -(-enough // step) * step))


def _rounded(resource: str, amount: int) -> str:
    """Write an amount as people read it: bytes to the next Mi."""
    return format_amount(resource, -(-amount // 2**20) * 2**20 if resource == MEMORY else amount)
