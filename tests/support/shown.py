"""What a page of the documents shows of commands, and which options of a command it leaves out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from controller.cli.main import root
from tests.support.documented import ROOT


def page(name: str) -> str:
    """The text of a page below docs."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def shown(text: str, command: str = "") -> list[tuple[str, str]]:
    """The calls of `penstock` on a page that begin so, as what follows `penstock`, and what they print."""
    return re.findall(rf"```console\n\$ penstock ({command}[^\n]*)\n(.*?)```", text, re.DOTALL)


def options_of(command: str) -> list[click.Option]:
    """The options of a command."""
    found = root.get_command(click.Context(root), command)
    assert found is not None, command
    return [one for one in found.params if isinstance(one, click.Option)]


def unnamed(options: Sequence[click.Option], text: str) -> list[str | None]:
    """Which of these a page does not name."""
    return [one.name for one in options if not any(f"`{opt}" in text for opt in one.opts)]
