"""What was used in a time, by whom: hours of each resource and money, exact to the second.

A run uses what it asks for from its start to its end, as budgets count it. Databases only add up seconds, of all runs
that are charged alike; what these ask for and cost is multiplied here, once for each of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import json
from sqlalchemy import ColumnElement, RowMapping, and_, case, func, or_, select

from controller.core.budgets.budget import money, rate_of_cost
from controller.history.finding import CHARGED
from controller.history.schema import charged_to, runs
from controller.history.store import Store
from controller.history.usage_columns import Span, UsageColumn, label_of


@dataclass(slots=True)
class Usage:
    """Of one group, by resource: `amounts` in its unit times seconds, and `costs` in `cost_unit`."""

    runs: int = 0
    seconds: int = 0
    amounts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    costs: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def cost(self) -> int:
        """Of all resources together."""
        return sum(self.costs.values())


def cost_unit() -> int:
    """Return how much of a cost is one of the currency: as budgets of money count it."""
    return money(1)


def usage(
    store: Store,
    span: Span,
    by: Sequence[str],
    where: Mapping[UsageColumn, Collection[str]],
    *,
    now: int,
) -> dict[tuple[str, ...], Usage]:
    """Return what was used in a time, by the values of these (`usage_columns.read_by`); a label that a pod did not have
    is empty. What goes on has run until `now`.

    Raises HistoryError.
    """
    found: dict[tuple[str, ...], Usage] = defaultdict(Usage)
    end = min(span.end, now)
    if end <= span.begin:
        return {}
    sums = _sums(span.begin, end).where(*_conditions(where)).subquery()
    joined = select(charged_to, sums.c.runs, sums.c.seconds).join(sums, sums.c.charged_to == charged_to.c.id)
    with store.connection() as connection:
        for row in connection.execute(joined).mappings():
            _add(found[tuple(_value(row, one) for one in by)], row)
    return dict(sorted(found.items()))


def _value(row: RowMapping, by: str) -> str:
    key = label_of(by)
    if key:
        return json.decode(row["labels"], type=dict[str, str]).get(key, "")
    return str(row[CHARGED[UsageColumn(by)].name])


def _sums(begin: int, end: int) -> Any:
    """Select the seconds of all runs in a time, by what they are charged to: the index alone answers that."""
    last = case((or_(runs.c.ended == 0, runs.c.ended > end), end), else_=runs.c.ended)
    first = case((runs.c.started < begin, begin), else_=runs.c.started)
    is_in = and_(runs.c.started > 0, runs.c.started < end, or_(runs.c.ended == 0, runs.c.ended > begin))
    seconds = func.sum(last - first).label("seconds")
    return select(runs.c.charged_to, func.count().label("runs"), seconds).where(is_in).group_by(runs.c.charged_to)


def _conditions(where: Mapping[UsageColumn, Collection[str]]) -> Iterator[ColumnElement[bool]]:
    if where:
        wanted = [CHARGED[one].in_(list(values)) for one, values in where.items()]
        yield runs.c.charged_to.in_(select(charged_to.c.id).where(*wanted))


def _add(usage: Usage, row: RowMapping) -> None:
    seconds = int(row["seconds"])
    requests = json.decode(row["requests"], type=dict[str, int])
    price = json.decode(row["price"], type=dict[str, int])
    usage.runs += row["runs"]
    usage.seconds += seconds
    for resource, amount in requests.items():
        usage.amounts[resource] += amount * seconds
        usage.costs[resource] += rate_of_cost(((resource, amount),), price) * seconds
