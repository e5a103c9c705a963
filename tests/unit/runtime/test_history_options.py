"""What the controller is told of its history: a database, for how long, and which labels; faults by their option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from controller.runtime.history_lane import History
from controller.runtime.history_options import history_options


def told(*arguments: str, **environment: str) -> tuple[int, str, History | None]:
    """Exit code, output, and what the command got."""
    given: list[Any] = []

    @click.command(context_settings={"auto_envvar_prefix": "PENSTOCK"})
    @history_options
    def command(history: History | None) -> None:
        given.append(history)

    done = CliRunner().invoke(command, arguments, env=environment)
    return done.exit_code, done.output, given[0] if given else None


def test_without_a_database_there_is_no_history() -> None:
    assert told(PENSTOCK_HISTORY_LABELS="") == (0, "", None)


def test_a_history_has_its_days_and_labels(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/history.db"
    code, _, history = told("--history", url, "--history-labels", "team, example.com/App,team")
    assert (code, history and (history.days, history.labels)) == (0, (400, ("team", "example.com/App")))
    variables = {"PENSTOCK_HISTORY": url, "PENSTOCK_HISTORY_DAYS": "7", "PENSTOCK_HISTORY_LABELS": ""}
    code, _, history = told(**variables)
    assert (code, history and (history.days, history.labels)) == (0, (7, ()))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--history-days", "3"], "--history-days (or PENSTOCK_HISTORY_DAYS) needs --history"),
        (["--history-labels", "team"], "--history-labels (or PENSTOCK_HISTORY_LABELS) needs --history"),
        (["--history", "mysql://x/y"], "--history: mysql: is not supported; use sqlite:////FILE or postgresql://"),
        (["--history", "sqlite://", "--history-labels", "a b"], "'a b' is no key of a label; write such as "),
        (
            ["--history", "sqlite://", "--history-labels", ",".join("abcdefghijk")],
            "11 labels are more than 10",
        ),
    ],
)
def test_what_cannot_be_meant_is_told(arguments: list[str], text: str) -> None:
    code, output, history = told(*arguments)
    assert (code != 0, text in output, history) == (True, True, None), output
