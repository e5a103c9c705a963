"""docs/replay.md shows what `penstock replay` really prints, and names every option of both commands."""

from __future__ import annotations

import pytest

from controller.cli.main import run
from tests.support.documented import ROOT
from tests.support.shown import options_of, page, shown, unnamed

TEXT = page("replay.md")
SHOWN = shown(TEXT, "replay ")


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_what_is_shown_is_what_is_printed(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    assert run(command.split()) == 0
    printed = capsys.readouterr().out.strip("\n ").splitlines()
    assert [line.strip() for line in printed] == [line.strip() for line in output.strip("\n ").splitlines()]


def test_both_commands_are_shown_with_every_option() -> None:
    assert len(SHOWN) == 3
    assert "$ penstock snapshot " in TEXT
    for name in ("replay", "snapshot"):
        options = options_of(name)
        assert len(options) > 1
        assert unnamed(options, TEXT) == []
