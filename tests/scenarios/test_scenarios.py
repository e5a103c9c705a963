"""Every scenario is one test, named by its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.model import ScenarioError, load
from tests.scenarios.play import play, report

_HERE = Path(__file__).parent
FILES = sorted(_HERE.rglob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(_HERE).with_suffix("")))
def test_the_scenario_goes_as_it_says(file: Path) -> None:
    try:
        written = load(file)
        first = next((played for played in play(written) if played.faults), None)
    except ScenarioError as error:
        pytest.fail(str(error), pytrace=False)
    if first is not None:
        pytest.fail(report(written, first), pytrace=False)
