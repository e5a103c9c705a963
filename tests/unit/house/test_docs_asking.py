"""docs/asking.md shows what the commands really print, and names every option of them."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from controller.cli.main import root, run

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "asking.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ penstock ([^\n]*)\n(.*?)```", TEXT, re.DOTALL)


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
        command = root.get_command(click.Context(root), name)
        assert command is not None
        assert f"penstock {name}" in TEXT.replace("\n", " "), name
        options = [one for one in command.params if isinstance(one, click.Option)]
        assert [one.name for one in options if not any(f"`{opt}" in TEXT for opt in one.opts)] == []
