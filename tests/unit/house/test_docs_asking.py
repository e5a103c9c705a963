"""docs/asking.md shows what the commands really print, and names every option of them."""

from __future__ import annotations

import pytest

from controller.cli.main import run
from tests.support.documented import ROOT
from tests.support.shown import options_of, page, shown, unnamed

TEXT = page("asking.md")
SHOWN = shown(TEXT)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_what_is_shown_is_what_is_printed(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    assert run(command.split()) == 0
    assert capsys.readouterr().out == output


def test_every_command_and_option_is_named() -> None:
    assert [command.split()[0] for command, _ in SHOWN] == ["queues", "flavors", "pods", "explain"]
    for name in ("queues", "pods", "jobs", "prio", "share", "flavors", "nodes", "explain", "completion"):
        assert f"penstock {name}" in TEXT.replace("\n", " "), name
        assert unnamed(options_of(name), TEXT) == [], name
