"""docs/simulator.md shows what the commands really print, and names every option and change."""

from __future__ import annotations

import re

import pytest
from msgspec import Meta, structs

from controller.cli.main import run
from controller.extension_api.queueing.simulations import SimulationSpec
from controller.simulator.changes import FORMS
from tests.support.documented import ROOT
from tests.support.shown import options_of, page, shown, unnamed

TEXT = page("simulator.md")
SHOWN = shown(TEXT)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command.split()[0] for command, _ in SHOWN])
def test_what_is_shown_is_what_is_printed(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    assert run(command.split()) == 0
    printed = capsys.readouterr().out.strip("\n ").splitlines()
    assert [line.strip() for line in printed] == [line.strip() for line in output.strip("\n ").splitlines()]


@pytest.mark.parametrize("name", ["eta", "simulate"])
def test_every_option_is_named(name: str) -> None:
    assert any(command.startswith(f"{name} ") for command, _ in SHOWN)
    assert unnamed(options_of(name), TEXT) == []


def test_every_change_is_named() -> None:
    kinds = re.findall(r"([a-z]+):", FORMS)
    assert len(kinds) == 6
    assert [kind for kind in kinds if f"`{kind}:" not in TEXT] == []


def test_every_field_of_a_simulation_has_its_bounds_told() -> None:
    text = (ROOT / "docs" / "visibility-api.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", text, re.MULTILINE))
    for one in structs.fields(SimulationSpec):
        assert one.encode_name in rows
        bounds = [meta for meta in one.type.__metadata__ if isinstance(meta, Meta) and one.encode_name != "seed"]
        told = [f"{bound:,g}" for meta in bounds for bound in (meta.ge, meta.le, meta.max_length) if bound is not None]
        assert [bound for bound in told if bound not in rows[one.encode_name]] == []
