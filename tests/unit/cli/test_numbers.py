"""Options that take a number refuse what is none, or far too large, before anything is simulated."""

from __future__ import annotations

import pytest

from controller.cli.main import run

HOURS = "from 0.001 to 17568"
STEPS = "from 0.001 to 3600"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["simulate", "none.json", "--hours", "nan"], f"'nan' is not a finite number; write a number {HOURS}"),
        (["simulate", "none.json", "--hours", "inf"], f"'inf' is not a finite number; write a number {HOURS}"),
        (["simulate", "none.json", "--hours", "1e308"], f"1e308 is out of range; write a number {HOURS}"),
        (["simulate", "none.json", "--hours", "0"], f"0 is out of range; write a number {HOURS}"),
        (["simulate", "none.json", "--resolution", "nan"], f"'nan' is not a finite number; write a number {STEPS}"),
        (["simulate", "none.json", "--resolution", "inf"], f"'inf' is not a finite number; write a number {STEPS}"),
        (["simulate", "none.json", "--resolution", "1e-300"], f"1e-300 is out of range; write a number {STEPS}"),
        (["eta", "--hours", "inf"], f"'inf' is not a finite number; write a number {HOURS}"),
        (["eta", "--hours", "nan"], f"'nan' is not a finite number; write a number {HOURS}"),
        (["eta", "--hours", "1e308"], f"1e308 is out of range; write a number {HOURS}"),
        (["eta", "--hours", "long"], f"'long' is not a finite number; write a number {HOURS}"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_a_number_out_of_range_is_refused(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert f"Invalid value for '{arguments[-2]}': {told}" in capsys.readouterr().err
