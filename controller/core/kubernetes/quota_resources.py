"""What a pod is charged to quota beside, and instead of, the resources that it requests (docs/resources.md).

A pod keeps one list of amounts, for quota and for nodes. Outputs of a transformation are added to it, and nodes get as
much of them as what a pod there could request comes to, so that they never limit a pod more than its requests do. What
quota leaves out stays in the list, for nodes: a queue needs no quota for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Final

from controller.core.kubernetes.amounts import (
    MAX_VALUE,
    PODS,
    UNLIMITED,
    QuantityError,
    Requests,
    as_requests,
    parse_quantity,
    units_per_whole,
)


@dataclass(frozen=True, slots=True)
class Transformation:
    """What pods that request `input` are charged. `outputs`: by name, in its own unit, for one unit of the input.

    `multiplied_by`: outputs are multiplied with what the pod requests of this resource too, in whole units.
    """

    input: str
    outputs: tuple[tuple[str, Fraction], ...] = ()
    is_replaced: bool = False
    """Whether quota leaves out the input."""
    multiplied_by: str = ""


@dataclass(frozen=True, slots=True)
class QuotaResources:
    """Of one installation. `excluded`: prefixes of resources that quota leaves out."""

    excluded: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    device_resources: Mapping[str, str] = field(default_factory=dict)
    """By DeviceClass the resource that its devices are charged as, where that is not its own name."""

    def needs_no_quota(self, resource: str) -> bool:
        """Say whether a resource is counted only where a quota or a static capacity names it."""
        return (
            resource == PODS
            or resource.startswith(self.excluded)
            or any(one.is_replaced and one.input == resource for one in self.transformations)
        )

    def charged(self, demand: Requests) -> Requests:
        """Return what a pod asks for with all that it is charged beside. Raises QuantityError where that overflows."""
        amounts, more = dict(demand), dict[str, Fraction]()
        for one in self.transformations:
            need = Fraction(amounts.get(one.input, 0))
            if one.multiplied_by in amounts:
                need *= Fraction(amounts[one.multiplied_by], units_per_whole(one.multiplied_by))
            for name, factor in one.outputs if need else ():
                more[name] = more.get(name, Fraction(0)) + need * factor
        for name, amount in more.items():
            amounts[name] = amounts.get(name, 0) + ceil(amount)
            if amounts[name] > MAX_VALUE:
                raise QuantityError(f"{name}: what the pod is charged is too large; the most is {MAX_VALUE} (2^63-1)")
        return as_requests(amounts) if more else demand

    def on_node(self, allocatable: Mapping[str, int]) -> Mapping[str, int]:
        """Return what a node has with what its resources come to.

        Where amounts of pods may be rounded up, or multiplied, no sum of them is known: nodes do not limit these.
        """
        found = dict(allocatable)
        for one in self.transformations:
            for name, factor in one.outputs:
                is_known = not one.multiplied_by and factor.denominator == 1
                amount = factor.numerator * allocatable.get(one.input, 0) if is_known else UNLIMITED
                found[name] = min(UNLIMITED, found.get(name, 0) + amount)
        return found if self.transformations else allocatable


AS_REQUESTED: Final = QuotaResources()


def output_factor(resource: str, quantity: str | int, of: str) -> Fraction:
    """Return what a quantity of a resource for one of another comes to in their units. Raises QuantityError."""
    return parse_quantity(quantity) * units_per_whole(resource) / units_per_whole(of)
