"""The controller's option for notifications, and which forecasts follow from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from controller import __main__ as program
from controller.runtime.settings import Settings


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Settings of what would have run."""
    taken = list[Settings]()
    monkeypatch.setattr(program, "run", taken.append)
    monkeypatch.setattr(program, "run_program", lambda *_, **__: None)
    return taken


@pytest.mark.parametrize(
    ("arguments", "share", "notifications"),
    [
        ([], 0.0, None),
        (["--visibility-address", ":8443"], 0.1, None),
        (["--notifications", "file"], 0.1, Path("file")),
        (["--notifications", "file", "--forecast-percent", "0"], 0.0, Path("file")),
    ],
)
def test_starts_are_forecast_for_who_reads_that(
    ran: list[Settings], arguments: list[str], share: float, notifications: Path | None
) -> None:
    assert CliRunner().invoke(program.main, arguments).exit_code == 0
    assert [(one.forecast_share, one.notifications) for one in ran] == [(share, notifications)]


def test_forecasts_that_nobody_reads_are_refused(ran: list[Settings]) -> None:
    done = CliRunner().invoke(program.main, ["--forecast-percent", "5"])
    assert (done.exit_code, ran) == (2, [])
    assert "needs --visibility-address, whose API shows forecasts, or --notifications" in done.stderr
