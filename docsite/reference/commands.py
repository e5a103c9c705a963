"""The page of the command line: every command of `penstock`, with what its --help says."""

from __future__ import annotations

from collections.abc import Iterator

import click

from controller.cli.main import root
from docsite.reference.options import about, options, usage
from docsite.reference.tables import WRITTEN

_HEAD = f"""{WRITTEN}
# The command penstock

Every command and option, as `--help` prints them. `kubectl penstock` is the same command.
[Asking](../asking.md) shows what the commands for users print.
"""


def page() -> str:
    """The text of the page."""
    return _HEAD + "".join(_section(context) for context in contexts())


def contexts() -> Iterator[click.Context]:
    """The context of each command, groups before what is in them."""
    yield from _below(click.Context(root, info_name="penstock"))


def _below(parent: click.Context) -> Iterator[click.Context]:
    if not isinstance(parent.command, click.Group):
        return
    for name in parent.command.list_commands(parent):
        command = parent.command.get_command(parent, name)
        if command is None:
            raise LookupError(f"{parent.command_path} lists {name}, which it does not have")
        context = click.Context(command, info_name=name, parent=parent)
        yield context
        yield from _below(context)


def _section(context: click.Context) -> str:
    command = context.command
    level = "#" * (context.command_path.count(" ") + 1)
    text = f"\n{level} {context.command_path}\n\n{about(command)}\n\n```text\n{usage(command, context)}\n```\n"
    rows = options(command, context)
    return f"{text}\n{rows}" if rows.count("\n") > 2 else text
