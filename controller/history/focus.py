"""Usage as a dataset of FOCUS 1.2, the FinOps Open Cost and Usage Specification: what cost tools read.

A row is what was used of one resource in a time by one group. All mandatory columns are there, in the order of the
alphabet, and what FOCUS has no column for in columns whose names begin with `x_`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from controller.api.time_zones import load_zone
from controller.core.budgets.budget import price_unit
from controller.core.budgets.periods import CalendarPeriod, CalendarUnit
from controller.core.kubernetes.amounts import CPU, PODS
from controller.history.usage import Usage, cost_unit
from controller.history.usage_columns import Span, UsageColumn
from controller.kube.clock import rfc3339

BY: Final = tuple(UsageColumn)
"""A dataset has a row for each group of these, in this order."""
_HOUR: Final = 3600
_EXACT: Final = Decimal("0.000000001")
_MONTH: Final = CalendarPeriod(CalendarUnit.MONTH, load_zone("UTC"), "UTC")
COLUMNS: Final = (
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ServiceCategory",
    "ServiceName",
    "SubAccountId",
    "SubAccountName",
    "x_Flavor",
    "x_LocalQueue",
    "x_Resource",
    "x_Runs",
    "x_User",
)


@dataclass(frozen=True, slots=True)
class Bill:
    """Who issues it, and in which currency (ISO 4217) flavors have their prices."""

    issuer: str
    currency: str


def rows(bill: Bill, span: Span, found: Mapping[tuple[str, ...], Usage]) -> Iterator[Sequence[str]]:
    """Yield the rows of a time, which lies in one month; `found` is by `BY`."""
    for key, used in found.items():
        group = dict(zip(BY, key, strict=True))
        for resource in sorted(one for one in used.amounts if one != PODS):
            values = _values(bill, span, group, used, resource)
            yield [values[column] for column in COLUMNS]


def _values(bill: Bill, span: Span, group: Mapping[UsageColumn, str], used: Usage, resource: str) -> dict[str, str]:
    queue, namespace, flavor = (
        group[one] for one in (UsageColumn.CLUSTER_QUEUE, UsageColumn.NAMESPACE, UsageColumn.FLAVOR)
    )
    month = _MONTH.slice_of(span.begin)
    cost = _decimal(used.costs.get(resource, 0), cost_unit())
    unit = _unit(resource)
    return {
        **dict.fromkeys(("BilledCost", "ContractedCost", "EffectiveCost", "ListCost"), cost),
        **dict.fromkeys(("BillingAccountId", "BillingAccountName"), queue),
        "BillingCurrency": bill.currency,
        "BillingPeriodEnd": rfc3339(month[1]),
        "BillingPeriodStart": rfc3339(month[0]),
        "ChargeCategory": "Usage",
        "ChargeClass": "",
        "ChargeDescription": f"{unit} of flavor {flavor} by namespace {namespace}",
        "ChargePeriodEnd": rfc3339(span.end),
        "ChargePeriodStart": rfc3339(span.begin),
        **dict.fromkeys(("InvoiceIssuerName", "ProviderName", "PublisherName"), bill.issuer),
        "PricingQuantity": _decimal(used.amounts[resource], price_unit(resource) * _HOUR),
        "PricingUnit": unit,
        "ServiceCategory": "Compute",
        "ServiceName": flavor,
        **dict.fromkeys(("SubAccountId", "SubAccountName"), namespace),
        "x_Flavor": flavor,
        "x_LocalQueue": group[UsageColumn.LOCAL_QUEUE],
        "x_Resource": resource,
        "x_Runs": str(used.runs),
        "x_User": group[UsageColumn.USER],
    }


def _unit(resource: str) -> str:
    if resource == CPU:
        return "Core-Hours"
    return "GiB-Hours" if price_unit(resource) > 1 else f"{resource}-Hours"


def _decimal(amount: int, unit: int) -> str:
    """Write an amount to nine decimals, the nearest, without those that are nothing at the end."""
    text = f"{(Decimal(amount) / Decimal(unit)).quantize(_EXACT, rounding=ROUND_HALF_EVEN):f}"
    return text.rstrip("0").rstrip(".") or "0"
