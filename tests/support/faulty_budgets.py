"""Budgets, prices and limits of users with one fault, for the table in `faulty_objects`."""

from __future__ import annotations

from typing import Any

from tests.support.api_objects import Json, a_budget, cluster_queue, resource_flavor
from tests.support.faulty import Faulty

_HOURS_OF = "must be given with resource, and only with it"
_ONE_OF_TWO = "must be given, with resource, or cost without them"
_WINDOW = "must be given when period is Sliding, and only then"
_ZONE = "must be left out when period is Sliding: its window is time that passes, whatever clocks show"


def _queue(**budget: Any) -> Json:
    return cluster_queue(budgets=[a_budget(**budget)])


def _fault(name: str, field: str, value: str, told: str, **budget: Any) -> Faulty:
    """`value` as it is told by us; the apiserver tells the message alone, since it is a rule of the whole budget."""
    where = f"spec.budgets[0].{field}"
    return Faulty(name, _queue(**budget), f"{where}: {value}: {told}", f"{where}: Invalid value: {field} {told}")


BUDGETS = (
    _fault("a budget of a resource without hours", "hours", "null", _HOURS_OF, hours=None, cost=3),
    _fault("a budget of hours of nothing", "hours", "2", _HOURS_OF, resource=None),
    _fault("a budget of hours and of money", "hours", "2", _ONE_OF_TWO, cost=3),
    _fault("a budget of nothing", "hours", "null", _ONE_OF_TWO, resource=None, hours=None),
    _fault("a sliding budget without a window", "window", "null", _WINDOW, period="Sliding"),
    _fault("a budget of a day with a window", "window", '"24h"', _WINDOW, window="24h"),
    _fault(
        "a sliding budget in a time zone", "timeZone", '"UTC"', _ZONE, period="Sliding", window="24h", timeZone="UTC"
    ),
    Faulty(
        "a budget of negative money",
        _queue(resource=None, hours=None, cost="-1"),
        'spec.budgets[0].cost: "-1": must not be negative',
        'spec.budgets[0].cost: Invalid value: "-1": must not be negative',
    ),
    Faulty(
        "a budget without a period",
        _queue(period=None),
        "spec.budgets[0].period: is required",
        "spec.budgets[0].period: Required value",
    ),
    Faulty(
        "an end of a budget that does not exist",
        _queue(atEnd="Evict"),
        "spec.budgets[0].atEnd: \"Evict\": must be 'Hold', 'LowerPriority' or 'Warn'",
        'spec.budgets[0].atEnd: Unsupported value: "Evict": supported values: "Hold", "LowerPriority", "Warn"',
    ),
    Faulty(
        "two budgets of one name",
        cluster_queue(budgets=[a_budget(), a_budget()]),
        'spec.budgets[1].name: "daily": names a budget a second time; name each once',
        'spec.budgets[1]: Duplicate value: {"name":"daily"}',
    ),
    Faulty(
        "a negative share of each user",
        cluster_queue(limits=[{"name": "pods", "max": 9, "perUser": "-1"}]),
        'spec.limits[0].perUser: "-1": must not be negative',
        'spec.limits[0].perUser: Invalid value: "-1": must not be negative',
    ),
    Faulty(
        "a negative price",
        resource_flavor(price={"cpu": "-0.01"}),
        'spec.price[cpu]: "-0.01": must not be negative',
        'spec.price[cpu]: Invalid value: "-0.01": must not be negative',
    ),
    Faulty(
        "prices of nothing",
        resource_flavor(price={}),
        "spec.price: {}: must not be empty",
        "spec.price: Invalid value: 0: spec.price in body should have at least 1 properties",
    ),
)
