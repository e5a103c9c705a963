"""`python -m tests.corpus [plans|scenarios|record|decisions]`: README.md says what each does. Prints what changed."""

from __future__ import annotations

import asyncio
import sys

import click

from tests.corpus.decisions import record_decisions
from tests.corpus.from_scenarios import write_snapshots
from tests.corpus.plans import write_plans
from tests.corpus.recording import record_all


def main(arguments: list[str]) -> int:
    """Do what is asked; return the code to end with."""
    match arguments or ["plans"]:
        case ["plans"]:
            pass
        case ["scenarios"]:
            for name in write_snapshots():
                click.echo(f"{name}: the snapshot is written")
        case ["decisions"]:
            asyncio.run(record_decisions())
        case ["record"]:
            asyncio.run(record_all())
        case _:
            click.echo("usage: python -m tests.corpus [plans|scenarios|record|decisions]", err=True)
            return 2
    for name in write_plans():
        click.echo(f"{name}: another plan")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
