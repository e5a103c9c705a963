"""The option by which commands are given files: as often as there are files, as `kubectl` takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


def files_option(help_text: str) -> Callable[[_F], _F]:
    """Add -f/--file, at least once: `files`, open to be read."""
    return click.option(
        "-f",
        "--file",
        "files",
        type=click.File(encoding="utf-8"),
        required=True,
        multiple=True,
        help=f"{help_text} - reads stdin; can be repeated.",
    )
