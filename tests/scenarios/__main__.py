"""`python -m tests.scenarios FILE…` prints what happens in a scenario step by step. Ends with 1 where it goes otherwise
than it says, with 2 where it cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tests.scenarios.expectations import sentence, where
from tests.scenarios.model import ScenarioError, load
from tests.scenarios.play import Played, play


def main(files: list[str]) -> int:
    """Play each file; return the code to end with."""
    if not files:
        click.echo("usage: python -m tests.scenarios FILE…", err=True)
        return 2
    code = 0
    for file in files:
        try:
            written = load(Path(file))
            click.echo(f"# {written.scenario.title}\n  {written.scenario.rule}")
            for played in play(written):
                click.echo(_shown(played))
                code = code or int(bool(played.faults))
        except ScenarioError as error:
            click.echo(str(error), err=True)
            code = 2
    return code


def _shown(played: Played) -> str:
    why = f": {played.step.why}" if played.step.why else ""
    return "\n".join(
        [
            f"step {played.number} ({', '.join(played.events) or 'nothing happens'}){why}",
            *(f"  {name} is admitted onto {where(admit)}" for name, admit in played.outcome.admitted),
            *(f"  {name} is evicted: {why}" for name, why in played.outcome.evicted.items()),
            *(f"  {name} waits: {sentence(wait)}" for name, wait in played.outcome.waits.items()),
            *(f"  NOT AS EXPECTED: {fault}" for fault in played.faults),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
