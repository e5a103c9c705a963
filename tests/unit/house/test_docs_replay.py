"""docs/replay.md shows what `penstock replay` really prints, and names every option of both commands."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from controller.cli.main import root, run

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ penstock (replay [^\n]*)\n(.*?)```", TEXT, re.DOTALL)


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
        command = root.get_command(click.Context(root), name)
        assert command is not None
        options = [one for one in command.params if isinstance(one, click.Option)]
        assert len(options) > 1
        assert [one.name for one in options if not any(f"`{opt}" in TEXT for opt in one.opts)] == []
