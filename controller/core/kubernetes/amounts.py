"""Kubernetes quantities as exact integers. No float touches a quota.

An amount is an int in the unit of its resource: cpu in thousandths of a core, everything else in whole units (bytes,
devices, pods), as kube-scheduler counts (`framework.Resource.Add`). Demand rounds up and quota rounds down, so that
rounding never admits too much.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
MAX_VALUE: Final = 2**63 - 1
UNLIMITED: Final = 2**60
"""What nodes have of a resource of which nobody knows how much they have."""

Requests = tuple[tuple[str, int], ...]
"""(resource, amount) pairs, sorted by resource, without zeros: hashable, so that equal demands are one object."""

_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]{1,3}))?"
)
_SCALE: Final[dict[str, Fraction]] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Fraction(1024 ** (power + 1)) for power, suffix in enumerate("KMGTPE")},
}
_BINARY: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_LONGEST: Final = 64


class QuantityError(ValueError):
    """A quantity that cannot be used; the text quotes it and says what is wrong."""


@lru_cache(maxsize=8192)
def parse_quantity(text: str | int) -> Fraction:
    """Read a quantity such as `500m`, `1Gi`, `1e3` or `2`, exactly.

    Raises QuantityError when it is malformed, negative or above 2^63-1, the largest that Kubernetes keeps.
    Mirrors `resource.ParseQuantity` of k8s.io/apimachinery.
    """
    raw = str(text)
    match = _GRAMMAR.fullmatch(raw) if len(raw) <= _LONGEST else None
    if match is None:
        raise QuantityError(f"{raw[:_LONGEST]!r} is not a quantity; write a number such as 2, 500m, 1.5 or 4Gi")
    value = Fraction(match["digits"].strip(".") if match["digits"].endswith(".") else match["digits"])
    if match["suffix"]:
        value *= _SCALE[match["suffix"]]
    elif match["exponent"]:
        value *= Fraction(10) ** int(match["exponent"])
    if match["sign"] == "-" and value:
        raise QuantityError(f"{raw!r} is negative; the least is 0")
    if value > MAX_VALUE:
        raise QuantityError(f"{raw!r} is too large; the most is {MAX_VALUE} (2^63-1)")
    return value


def demand_amount(resource: str, text: str | int) -> int:
    """Amount that a request takes, rounded up to the resource's unit."""
    scaled = parse_quantity(text) * units_per_whole(resource)
    return -(-scaled.numerator // scaled.denominator)


def supply_amount(resource: str, text: str | int) -> int:
    """Amount that a quota, a node or a static capacity gives, rounded down to the resource's unit."""
    scaled = parse_quantity(text) * units_per_whole(resource)
    return scaled.numerator // scaled.denominator


def supply_amounts(quantities: Mapping[str, str | int]) -> dict[str, int]:
    """`supply_amount` of each entry; the error of a bad one names its resource."""
    amounts = {}
    for resource, text in quantities.items():
        try:
            amounts[resource] = supply_amount(resource, text)
        except QuantityError as error:
            raise QuantityError(f"{resource}: {error}") from None
    return amounts


def format_amount(resource: str, amount: int) -> str:
    """Write an amount as a quantity that reads back as the same amount, in the largest unit that is exact."""
    if resource == CPU:
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    magnitude = abs(amount)
    for power, suffix in zip(range(6, 0, -1), _BINARY, strict=True):
        if magnitude >= 1024**power and magnitude % 1024**power == 0:
            return f"{amount // 1024**power}{suffix}"
    return str(amount)


def as_requests(amounts: Mapping[str, int]) -> Requests:
    """Freeze amounts into `Requests`."""
    return tuple(sorted((resource, amount) for resource, amount in amounts.items() if amount))


def times(requests: Requests, count: int) -> Requests:
    """Return what `count` of these ask for together."""
    return tuple((resource, amount * count) for resource, amount in requests)


def plus(several: Iterable[Requests]) -> Requests:
    """Return what all of these ask for together."""
    total: Counter[str] = Counter()
    for requests in several:
        total.update(dict(requests))
    return as_requests(total)


def units_per_whole(resource: str) -> int:
    """Return how many units of a resource are one of it as people write it."""
    return 1000 if resource == CPU else 1
