"""docs/faults.md names every fault that the seeds draw, and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.faults.seeds.script import Deed, Fault

_TESTS = Path(__file__).parents[2]
_PAGE = (_TESTS.parent / "docs" / "faults.md").read_text()
_ROWS = [line for line in _PAGE.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("name", [*Fault, *Deed])
def test_each_fault_has_a_row(name: Fault | Deed) -> None:
    assert any(f"`{name}`" in row.split("|")[1] for row in _ROWS)


def test_each_test_that_is_named_exists() -> None:
    named = {one for row in _ROWS for one in re.findall(r"`([a-z_]+/[^`]+)`", row.split("|")[3])}
    missing = [one for one in named if not ((_TESTS / one).exists() or (_TESTS / f"{one}.py").exists())]
    assert (len(named) > 10, missing) == (True, [])
