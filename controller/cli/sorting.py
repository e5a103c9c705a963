"""--sort-by: rows in the order of one of their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

_R = TypeVar("_R", bound=msgspec.Struct)
_C = TypeVar("_C", bound=Callable[..., Any])


def sort_option(default: str) -> Callable[[_C], _C]:
    """Add --sort-by, of which the help says what is the order without it; the command gets it as `sort_by`."""
    return click.option("--sort-by", metavar="FIELD", help=f"A field of -o json; default: {default}.")


def in_order_of(rows: list[_R], field: str | None) -> list[_R]:
    """Return the rows in the order of a field; None: as they are. Raises UsageError."""
    if field is None or not rows:
        return rows
    names = {one.encode_name: one.name for one in msgspec.structs.fields(rows[0])}
    if field not in names:
        raise click.UsageError(f"--sort-by: {field!r} is no field; there are {', '.join(names)}")
    found = [(getattr(row, names[field]), row) for row in rows]
    if not isinstance(found[0][0], str | int | bool):
        raise click.UsageError(f"--sort-by: {field} has no order")
    return [row for _, row in sorted(found, key=lambda one: one[0])]
