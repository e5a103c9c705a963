"""How near the forecasts of starts came to what happened, by ClusterQueue."""

from __future__ import annotations

from controller.extension_api.resources import Column, Entry, Page, Query, Resource
from controller.visibility.start_forecasts import StartForecasts
from controller.visibility.start_rows import AccuracyRow


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.0f}%"


_COLUMNS: tuple[Column[AccuracyRow], ...] = (
    Column("Starts", lambda row: row.starts, "Starts that were forecast, the latest 500 at most.", "integer"),
    Column("Unknown", lambda row: row.unknown, "Those without a forecast time.", "integer"),
    Column("Within", lambda row: _percent(row.within), "How many of the others lay in their range; 70% is right."),
    Column("Error", lambda row: _percent(row.median_error_part), "The median error, as a part of the time left."),
)


def forecast_accuracy(forecasts: StartForecasts) -> Resource:
    """Return it as a resource; a ClusterQueue of which nothing is known yet is not there."""

    async def listed(query: Query) -> Page:
        found = [Entry(name, "", row) for name, row in forecasts.accuracy().items() if name > query.after]
        shown = found[: query.limit]
        left = len(found) - len(shown)
        return Page(shown, shown[-1].name if left else "", left)

    async def get(query: Query) -> Entry | None:
        row = forecasts.accuracy().get(query.name)
        return None if row is None else Entry(query.name, "", row)

    return Resource(
        plural="forecastaccuracies",
        singular="forecastaccuracy",
        kind="ForecastAccuracy",
        is_namespaced=False,
        item=AccuracyRow,
        columns=_COLUMNS,
        list=listed,
        get=get,
    )
