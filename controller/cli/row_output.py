"""How rows are printed: as a table for people, or as JSON, YAML, names or CSV for programs."""

from __future__ import annotations

import csv
import io
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import click
import msgspec
from rich.cells import cell_len

from controller.cli.output import show_document

_T = TypeVar("_T")
_C = TypeVar("_C", bound=Callable[..., Any])
FORMATS = ("table", "wide", "json", "yaml", "name", "csv")
_GAP = "   "
_NARROWEST = 20
"""So wide is the last column at least, however narrow the terminal."""


@dataclass(frozen=True, slots=True)
class Column(Generic[_T]):
    """One column: its heading, what stands in it, and whether it is only for -o wide and CSV."""

    heading: str
    value: Callable[[_T], str]
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """What was asked for: one of FORMATS, with or without headings."""

    form: str
    has_headings: bool


def output_options(command: _C) -> _C:
    """Add -o and --no-headers; the command gets them as `form` and `no_headers`."""
    command = click.option("--no-headers", is_flag=True, help="Tables and CSV without headings.")(command)
    return click.option(
        "-o", "--output", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print."
    )(command)


def show_rows(
    rows: Sequence[_T], columns: Sequence[Column[_T]], output: Output, *, name: Callable[[_T], str], empty: str
) -> None:
    """Print rows; `name` is what -o name prints of each, `empty` what people read where there are none."""
    match output.form:
        case "json" | "yaml":
            show_document(msgspec.to_builtins(rows), output.form)
        case "name":
            for row in rows:
                click.echo(name(row))
        case "csv":
            _show_csv(rows, columns, output)
        case _ if not rows:
            click.echo(empty, err=True)
        case _:
            shown = [one for one in columns if output.form == "wide" or not one.is_wide]
            show_table([one.heading for one in shown], [[one.value(row) for one in shown] for row in rows], output)


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]], output: Output) -> None:
    """Print a table as kubectl does: no lines, and the last column folds on a terminal, between words, alone."""
    shown = [headings, *rows] if output.has_headings else rows
    widths = [max(map(_cells, column)) for column in zip(*shown, strict=True)]
    lines = list(_lines(shown, widths, _room(widths)))
    if output.has_headings:
        lines[0] = click.style(lines[0], bold=True)
    click.echo("\n".join(lines))


def _room(widths: Sequence[int]) -> int:
    """Return how wide the last column may be: on a terminal what is left of it, elsewhere all that it takes."""
    if not sys.stdout.isatty():
        return widths[-1]
    left = shutil.get_terminal_size().columns - sum(one + len(_GAP) for one in widths[:-1])
    return max(left, _NARROWEST)


def _lines(rows: Iterable[Sequence[str]], widths: Sequence[int], room: int) -> Iterator[str]:
    """Yield each row as a line, and what its last cell has more than there is room for below that."""
    indent = " " * sum(one + len(_GAP) for one in widths[:-1])
    for row in rows:
        *others, last = row
        first, *more = [last] if _cells(last) <= room else textwrap.wrap(last, room, break_on_hyphens=False)
        cells = (cell + " " * (width - _cells(cell)) for cell, width in zip(others, widths, strict=False))
        yield _GAP.join((*cells, first)).rstrip()
        yield from (indent + one for one in more)


def _cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: of most scripts one a character."""
    return len(text) if text.isascii() else cell_len(text)


def _show_csv(rows: Sequence[_T], columns: Sequence[Column[_T]], output: Output) -> None:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    if output.has_headings:
        writer.writerow([one.heading for one in columns])
    writer.writerows([[one.value(row) for one in columns] for row in rows])
    click.echo(written.getvalue(), nl=False)
