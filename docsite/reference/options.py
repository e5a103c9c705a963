"""What click says of a command: its usage, its text, and its options as rows of a table."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator

import click

from docsite.reference.tables import cell, code, line, table


def about(command: click.Command) -> str:
    """The text of a command as Markdown; what click leaves as it is, such as examples, as code."""
    parts = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(_example(part) if part.startswith("\b") else line(part) for part in parts)


def _example(part: str) -> str:
    head, _, lines = part.removeprefix("\b").strip("\n").partition("\n")
    return f"{head}\n\n```text\n{textwrap.dedent(lines)}\n```" if lines else line(head)


def options(command: click.Command, context: click.Context, *, has_variables: bool = False) -> str:
    """The table of the options; with the variable of the environment that each can be given by, where that is so."""
    head = ("option", *(("variable",) if has_variables else ()), "meaning")
    return table(head, _rows(command, context, has_variables=has_variables))


def _rows(command: click.Command, context: click.Context, *, has_variables: bool) -> Iterator[tuple[str, ...]]:
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is None or not isinstance(param, click.Option) or "--help" in param.opts:
            continue
        variable = (code(f"{context.auto_envvar_prefix}_{(param.name or '').upper()}"),) if has_variables else ()
        yield code(record[0]), *variable, cell(record[1])


def usage(command: click.Command, context: click.Context) -> str:
    """The line that says how a command is called."""
    return " ".join(command.get_usage(context).removeprefix("Usage: ").split())
