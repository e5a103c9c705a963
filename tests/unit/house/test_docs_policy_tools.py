"""docs/policy-tools.md shows what its commands really print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.cli.main import run

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "policy-tools.md").read_text(encoding="utf-8")
FILES = re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", TEXT, re.DOTALL)
SHOWN = re.findall(r"```console\n\$ penstock (policy [^\n]*)\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_what_is_shown_is_what_is_printed(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, body in FILES:
        (tmp_path / name).write_text(body, encoding="utf-8")
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    run(command.split())
    lines = [line.rstrip() for line in "".join(capsys.readouterr()).strip("\n ").splitlines()]
    assert [line.strip() for line in lines] == [line.strip() for line in output.strip("\n ").splitlines()]


def test_every_command_is_shown() -> None:
    assert [command.split()[1] for command, _ in SHOWN] == ["test", "test", "explain", "report"]
