"""Tables of Markdown, and texts as their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

WRITTEN = "<!-- Written by `make generate`. Change the code that this page describes, not this file. -->\n"


def line(text: str) -> str:
    """One text on one line, with nothing in it that Markdown takes for a tag or for emphasis."""
    return " ".join(text.split()).replace("<", "&lt;").replace("*", "\\*")


def cell(text: str) -> str:
    """One text as a cell of a table."""
    return line(text).replace("|", "\\|")


def code(text: str) -> str:
    """One text as code in a cell; nothing where there is none."""
    return f"`{' '.join(text.split())}`".replace("|", "\\|") if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are as they stand in it."""
    lines = [" | ".join(row) for row in (head, ["---"] * len(head), *rows)]
    return "".join(f"| {line} |\n" for line in lines)
