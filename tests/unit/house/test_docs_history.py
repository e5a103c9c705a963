"""docs/history.md shows what the commands really print, and names every option of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.cli.main import run
from controller.core.budgets.budget import read_price
from controller.history.recorder import Change
from controller.history.runs import ChargedTo, Outcome
from controller.history.used import Used
from controller.kube.clock import epoch
from tests.support.histories import a_run, a_store
from tests.support.shown import options_of, page, shown, unnamed

TEXT = page("history.md")
SHOWN = shown(TEXT)
BEGIN = int(epoch("2026-11-27T14:05:00Z"))
PRICE = (("cpu", read_price("0.012")), ("memory", read_price("0.0016")))
WAITED = {"QuotaExceeded": 600, "NoCapacity": 120}
USED = Used(62, {"cpu": 62 * 1200, "memory": 62 * 3 * 2**30}, {"cpu": 2100, "memory": 5 * 2**30})
LEADER = "penstock-controller-0_5f0c"


def charged(user: str, flavor: str = "spot") -> ChargedTo:
    requests = (("cpu", 4000), ("memory", 8 * 2**30), ("pods", 1))
    labels = (("example.com/project", "maps"),) if user == "ann" else ()
    return ChargedTo("team-a", "main", "team-a", flavor, user, requests, PRICE, labels)


def a_history(folder: Path) -> str:
    """What stands on the page; return its URL."""
    ann: dict[str, Any] = {"owner_kind": "Job", "owner": "train", "created": BEGIN, "admitted_by": LEADER}
    a_store(folder).write(
        [
            Change(
                a_run(
                    "train-0",
                    charged("ann"),
                    **ann,
                    admitted=BEGIN + 600,
                    bound=BEGIN + 601,
                    node="spot-1",
                    started=BEGIN + 602,
                    ended=BEGIN + 902,
                    outcome=Outcome.EVICTED,
                    reason="Preempted",
                    message="team-b/urgent needs 4 cpu of flavor spot",
                ),
                {"QuotaExceeded": 600},
            ),
            Change(
                a_run(
                    "train-1",
                    charged("ann"),
                    **ann,
                    admitted=BEGIN + 720,
                    bound=BEGIN + 721,
                    node="spot-3",
                    started=BEGIN + 722,
                    ended=BEGIN + 4442,
                    outcome=Outcome.SUCCEEDED,
                ),
                WAITED,
                USED,
            ),
            Change(a_run("tests", charged("bob"), created=BEGIN, started=BEGIN, ended=BEGIN + 5400), {}),
        ]
    )
    return f"sqlite:///{folder / 'history.db'}"


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_what_is_shown_is_what_is_printed(
    command: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PENSTOCK_HISTORY", a_history(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    from_then = ["--from", "2026-11-27"] if command.startswith(("history", "eff")) else []
    assert run([*command.split(), *from_then]) == 0
    assert capsys.readouterr().out == output


@pytest.mark.parametrize("name", ["usage", "chargeback", "history", "audit", "eff"])
def test_every_option_is_named(name: str) -> None:
    assert f"penstock {name}" in TEXT
    assert unnamed(options_of(name), TEXT) == []
