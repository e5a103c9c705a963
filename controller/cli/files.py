"""The option by which commands are given files and folders: as often as there are any, as `kubectl` takes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from controller.kube.errors import one_line
from controller.kube.manifests import SUFFIXES

_F = TypeVar("_F", bound=Callable[..., Any])


class _FileOrFolder(click.File):
    """A file, - for stdin, or a folder: the YAML and JSON files in it by name, and not those of folders in it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the files as a tuple of TextIO; those of a folder are opened when somebody reads them."""
        # not by pathlib, which raises for names that no file can have
        if not os.path.isdir(value):
            return (super().convert(value, param, ctx),)
        try:
            found = sorted(one for one in Path(value).iterdir() if one.suffix in SUFFIXES and one.is_file())
        except OSError as error:
            self.fail(f"{value}: cannot be read: {one_line(error)}", param, ctx)
        if not found:
            self.fail(f"{value}: holds no {', '.join(SUFFIXES)} file", param, ctx)
        each = click.File(encoding="utf-8", lazy=True)
        return tuple(each.convert(str(one), param, ctx) for one in found)


def files_option(help_text: str, *, required: bool = True) -> Callable[[_F], _F]:
    """Add -f/--file, where it is required at least once: `files`, open to be read."""
    return click.option(
        "-f",
        "--file",
        "files",
        type=_FileOrFolder(encoding="utf-8"),
        metavar="FILE|DIR",
        required=required,
        multiple=True,
        callback=_all_of,
        help=f"{help_text} - reads stdin; of a folder its YAML and JSON files by name; can be repeated.",
    )


def _all_of(ctx: click.Context, param: click.Parameter, given: Iterable[Iterable[TextIO]]) -> tuple[TextIO, ...]:
    return tuple(chain.from_iterable(given))
