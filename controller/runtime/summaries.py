"""Text for the columns of `kubectl get`: amounts as people read them, rounded, the most telling resources first.

The exact amounts stand beside it in the status; nothing reads this text back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from controller.core.kubernetes.amounts import CPU

_FLAVORS: Final = 3
_RESOURCES: Final = 3
_BYTES: Final = ("memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
_UNITS: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")

Parts = Mapping[str, Sequence[int]]
"""By resource, amounts in its unit: one alone, or what is used and the most there is."""


def amount_text(resource: str, amount: int) -> str:
    """Write an amount with at most one decimal, rounded down: `12.5` of cpu, `3.5Gi` of memory, `8` of devices."""
    if resource == CPU:
        return _tenths(amount, 1000)
    if resource in _BYTES or resource.startswith(_HUGE_PAGES):
        for power, suffix in zip(range(6, 0, -1), _UNITS, strict=True):
            if amount >= 1024**power:
                return f"{_tenths(amount, 1024**power)}{suffix}"
    return str(amount)


def resources_text(parts: Parts) -> str:
    """Write the first resources: `cpu 12/40, nvidia.com/gpu 3/8 +2`, where two more are left out; `0`: there is none.

    First cpu, then devices, then memory.
    """
    chosen = sorted(parts, key=_rank)
    told = [f"{one} {'/'.join(amount_text(one, amount) for amount in parts[one])}" for one in chosen[:_RESOURCES]]
    return _first(told, ", ", len(chosen) - _RESOURCES) or "0"


def flavors_text(flavors: Mapping[str, Parts]) -> str:
    """Write the first flavors: `spot cpu 12/40; on-demand cpu 0/8`; a flavor that is the only one is not named."""
    told = {flavor: parts for flavor, parts in flavors.items() if parts}
    if len(flavors) == 1:
        return resources_text(next(iter(told.values()), {}))
    clauses = [f"{flavor} {resources_text(parts)}" for flavor, parts in list(told.items())[:_FLAVORS]]
    return _first(clauses, "; ", len(told) - _FLAVORS) or "0"


def _first(told: Sequence[str], separator: str, more: int) -> str:
    return separator.join(told) + (f" +{more}" if more > 0 else "")


def _tenths(amount: int, unit: int) -> str:
    whole, tenth = divmod(amount * 10 // unit, 10)
    return f"{whole}.{tenth}" if tenth else str(whole)


def _rank(resource: str) -> tuple[bool, bool, bool, str]:
    return resource != CPU, "/" not in resource, resource != "memory", resource
