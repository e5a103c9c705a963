"""Which options a shadow takes: none is accepted and ignored."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from controller import __main__ as program
from controller.runtime.settings import Settings


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Settings]]:
    """Which program was run, with which settings."""
    ran = list[tuple[str, Settings]]()
    monkeypatch.setattr(program, "run", lambda settings: ran.append(("leader", settings)))
    monkeypatch.setattr(program, "run_shadow", lambda settings: ran.append(("shadow", settings)))
    monkeypatch.setattr(program, "run_program", lambda *_, **__: None)
    return ran


def test_a_shadow_runs_only_if_it_is_asked_for(ran: list[tuple[str, Settings]]) -> None:
    runner = CliRunner()
    for arguments, env in (([], {}), (["--observe"], {}), ([], {"PENSTOCK_OBSERVE": "true"})):
        assert runner.invoke(program.main, arguments, env=env).exit_code == 0
    assert [one for one, _ in ran] == ["leader", "shadow", "shadow"]


def test_a_shadow_records_decisions(ran: list[tuple[str, Settings]]) -> None:
    done = CliRunner().invoke(program.main, ["--observe", "--record-decisions", "file", "--record-most", "3"])
    assert (done.exit_code, [(one.record, one.record_most) for _, one in ran]) == (0, [(Path("file"), 3)])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--identity", "a"),
        ("--lease-namespace", "penstock-system"),
        ("--lease-seconds", "15"),
        ("--visibility-address", ":8443"),
        ("--notifications", "file"),
    ],
)
def test_what_only_leaders_need_is_refused(ran: list[tuple[str, Settings]], option: str, value: str) -> None:
    variable = f"PENSTOCK_{option[2:].upper().replace('-', '_')}"
    for arguments, env in (([option, value], {}), ([], {variable: value})):
        done = CliRunner().invoke(program.main, ["--observe", *arguments], env=env)
        assert (done.exit_code, ran) == (2, [])
        assert f"Error: {option} (or {variable}) and --observe exclude each other" in done.stderr
