"""What commands print: documents for programs, tables for people, and what may have been meant by a name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import click
import orjson
import yaml
from rich import box
from rich.table import Table
from rich.text import Text


def show_document(document: Any, output: str) -> None:
    """Print a document as json or yaml."""
    if output == "json":
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120), nl=False)


def plain_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table without markup: names and labels may hold what rich takes for it.

    Words of headings stay whole. Print it with `crop=False`: what is wider than the terminal is not cut off then.
    """
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading, overflow="fold", min_width=max(map(len, heading.split()), default=0))
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def instead_of(pod: str, named: Collection[str]) -> str:
    """Propose which NAMESPACE/NAME may have been meant: the same name elsewhere, else something like it."""
    namesakes = [one for one in named if one.endswith(f"/{pod.rpartition('/')[-1]}")]
    similar = namesakes or difflib.get_close_matches(pod, named, n=1)
    return f"; did you mean {similar[0]}?" if similar else "; pods are named NAMESPACE/NAME"
