"""A dataset for cost tools: all of what was used, each day once, in the columns that FOCUS asks for."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from pathlib import Path

import pytest

from controller.cli.main import run
from controller.core.budgets.budget import read_price
from controller.history.focus import COLUMNS
from controller.history.runs import ChargedTo
from controller.kube.clock import epoch
from tests.support.histories import a_change, a_store

BEGIN = int(epoch("2026-10-31T23:00:00Z"))
PRICE = (("cpu", read_price("0.3")), ("memory", read_price("0.1")))


def printed(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, str]]:
    command = ["chargeback", "--history", f"sqlite:///{folder / 'history.db'}", "--currency", "EUR", *arguments]
    assert run(command) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One pod of 3 cores and half a GiB that runs for an hour of October and two of November."""
    made = ChargedTo("team", "main", "queue", "spot", "ann", (("cpu", 3000), ("memory", 2**29), ("pods", 1)), PRICE)
    a_store(tmp_path).write([a_change(charged_to=made, started=BEGIN, ended=BEGIN + 3 * 3600)])
    return tmp_path


def test_each_day_and_resource_is_a_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(folder, capsys, "--from", "2026-10-01", "--to", "2026-11-15")
    assert [tuple(row) for row in found] == [COLUMNS] * 4
    assert list(COLUMNS[:23]) == sorted(COLUMNS[:23])
    shown = ("PricingUnit", "PricingQuantity", "BilledCost")
    assert [(row["ChargePeriodStart"][:10], *(row[name] for name in shown)) for row in found] == [
        ("2026-10-31", "Core-Hours", "3", "0.9"),
        ("2026-10-31", "GiB-Hours", "0.5", "0.05"),
        ("2026-11-01", "Core-Hours", "6", "1.8"),
        ("2026-11-01", "GiB-Hours", "1", "0.1"),
    ]
    assert {row["BillingPeriodStart"][:7] for row in found} == {"2026-10", "2026-11"}
    first = found[0]
    assert (first["BillingAccountId"], first["SubAccountId"], first["ServiceName"]) == ("queue", "team", "spot")
    assert (first["BillingCurrency"], first["x_User"], first["x_Runs"]) == ("EUR", "ann", "1")


def test_the_days_come_to_the_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = printed(folder, capsys, "--from", "2026-10-31T23:30:00Z", "--to", "2026-11-01T00:10:00Z")
    assert sum(Decimal(row["PricingQuantity"]) for row in days if row["x_Resource"] == "cpu") == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--currency", "euro"], "ISO 4217"), (["--currency", "EUR", "--from", "1d", "--to", "2d"], "is not after")],
)
def test_what_cannot_be_meant_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert run(["chargeback", "--history", f"sqlite:///{folder / 'history.db'}", *arguments]) == 2
    assert told in capsys.readouterr().err
