"""Budgets: so many hours of a resource, or so much money, in a period, and what a pod uses of that in a second.

That is its rate, an integer in the budget's unit; sums over time are `budgets.tally`, what follows once nothing is left
is `quota.used_up`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from controller.core.budgets.periods import Period
from controller.core.kubernetes.amounts import CPU, Requests, parse_quantity, supply_amount

_HOUR: Final = 3600
_MILLI: Final = 1000
_GIBI: Final = 2**30
_NANO: Final = 10**9
_WHOLE: Final = 125 * _GIBI
"""The least number that thousandths of a core and bytes of a GiB both divide: no rate has a fraction."""
_OF_BYTES: Final = ("memory", "ephemeral-storage")


class AtEnd(StrEnum):
    """What becomes of the queue's workloads once the budget is used up."""

    HOLD = "Hold"
    LOWER_PRIORITY = "LowerPriority"
    WARN = "Warn"


def price_unit(resource: str) -> int:
    """Return how much of a resource has its price: a core, a GiB of what is counted in bytes, one of anything else."""
    if resource == CPU:
        return _MILLI
    return _GIBI if resource in _OF_BYTES or resource.startswith("hugepages-") else 1


def read_price(text: str | int) -> int:
    """Read a price in billionths, rounded up as Kubernetes rounds quantities. Raises QuantityError."""
    billionths: Fraction = parse_quantity(text) * _NANO
    return -(-billionths.numerator // billionths.denominator)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """An amount for a period. `resource` empty: money, by the price of the flavor; else hours of that resource.

    `amount` is in the unit of `rate` times seconds.
    """

    name: str
    resource: str
    amount: int
    period: Period
    at_end: AtEnd

    @property
    def key(self) -> str:
        """What sums rest on: those of another key are of no use."""
        return f"{self.resource or 'cost'}/{self.period.key}"

    def rate(self, requests: Requests, price: Mapping[str, int]) -> int:
        """Return what a pod uses in a second. `price` is its flavor's, in billionths an hour of each `price_unit`."""
        if self.resource:
            return next((amount for resource, amount in requests if resource == self.resource), 0)
        return rate_of_cost(requests, price)

    def text(self, amount: int) -> str:
        """Write an amount, as `amount_text` does."""
        return amount_text(self.resource, amount)

    @property
    def words(self) -> str:
        """How much there is, and for what time: `1000 hours of cpu a month`."""
        amount = self.text(self.amount)
        return f"{f'{amount} hours of {self.resource}' if self.resource else f'a cost of {amount}'} {self.period.words}"


def amount_text(resource: str, amount: int) -> str:
    """Write an amount in hours of a resource, or of none in money, to three decimals, rounded down; of bytes as GiB."""
    unit = price_unit(resource) if resource else _NANO * _WHOLE
    whole, rest = divmod(max(0, amount) * _MILLI // (unit * _HOUR), _MILLI)
    decimals = f".{rest:03}".rstrip("0").rstrip(".")
    return f"{whole}{decimals}{'Gi' if unit == _GIBI else ''}"


def rate_of_cost(requests: Requests, price: Mapping[str, int]) -> int:
    """Return what requests cost in a second, in the unit of a budget of money, by a flavor's price."""
    return sum(amount * price.get(resource, 0) * (_WHOLE // price_unit(resource)) for resource, amount in requests)


def hours_of(resource: str, text: str | int) -> int:
    """Return the amount of a budget of so many hours of a resource. Raises QuantityError."""
    return supply_amount(resource, text) * _HOUR


def money(text: str | int) -> int:
    """Return the amount of a budget of so much money. Raises QuantityError."""
    return read_price(text) * _WHOLE * _HOUR
