"""`penstock chargeback`: usage as a dataset that cost tools read. Its columns are `history.focus`'s."""

from __future__ import annotations

import csv
import re
import sys
from typing import TYPE_CHECKING

import click

from controller.cli.history_options import history_option, span_options
from controller.core.budgets.periods import CalendarPeriod, CalendarUnit
from controller.history.usage_columns import Span, split
from controller.kube import clock

if TYPE_CHECKING:
    from controller.history.store import Store


def _currency(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not re.fullmatch("[A-Z]{3}", value):
        raise click.BadParameter(f"{value!r} is no currency of ISO 4217; write three capital letters", ctx, param)
    return value


@click.command()
@span_options(30)
@click.option("--currency", required=True, callback=_currency, help="Currency of the flavors' prices, such as EUR.")
@click.option("--issuer", default="Penstock", show_default=True, help="Who issues the bill.")
@history_option
def chargeback(span: Span, currency: str, issuer: str, store: Store) -> None:
    """Print what was used as a dataset of FOCUS 1.2 (FinOps Open Cost and Usage Specification), as CSV.

    A row is what one user of a LocalQueue has used of one resource of one flavor on one day, in UTC. The account is the
    ClusterQueue, the sub account the namespace.

    \b
    Example:
      penstock chargeback --from 2026-11-01 --to 2026-12-01 --currency EUR > november.csv
    """
    # what talks to databases takes long to import
    from controller.api.time_zones import load_zone
    from controller.history import focus
    from controller.history.usage import usage

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(focus.COLUMNS)
    day = CalendarPeriod(CalendarUnit.DAY, load_zone("UTC"), "UTC")
    for part in split(span, day):
        found = usage(store, part, focus.BY, {}, now=int(clock.now()))
        writer.writerows(focus.rows(focus.Bill(issuer, currency), part, found))
