"""Tables of rows: what a pipe and a terminal get."""

from __future__ import annotations

import sys

import pytest

from controller.cli.row_output import Output, show_table

HEADINGS = ["NAME", "PLACE", "MESSAGE"]
ROWS = [["a", "10", "needs 1 cpu and 0 of its quota is free"], ["long-name", "-", ""]]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def shown(capsys: pytest.CaptureFixture[str], rows: list[list[str]], *, has_headings: bool = True) -> list[str]:
    show_table(HEADINGS, rows, Output("wide", has_headings))
    return capsys.readouterr().out.splitlines()


def test_a_pipe_gets_one_line_a_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    assert shown(capsys, ROWS) == [
        "NAME        PLACE   MESSAGE",
        "a           10      needs 1 cpu and 0 of its quota is free",
        "long-name   -",
    ]
    assert shown(capsys, ROWS[:1], has_headings=False) == ["a   10   needs 1 cpu and 0 of its quota is free"]


def test_a_terminal_folds_the_last_column_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 40)
    assert shown(capsys, ROWS) == [
        "\x1b[1mNAME        PLACE   MESSAGE\x1b[0m",
        "a           10      needs 1 cpu and 0 of",
        "                    its quota is free",
        "long-name   -",
    ]


def test_nothing_is_cut_off_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 10)
    lines = shown(capsys, ROWS, has_headings=False)
    assert lines == ["a           10   needs 1 cpu and 0 of", "                 its quota is free", "long-name   -"]


def test_wide_characters_take_two_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, [["模型", "1", "x"], ["abc", "2", "y"]], has_headings=False) == [
        "模型   1   x",
        "abc    2   y",
    ]
