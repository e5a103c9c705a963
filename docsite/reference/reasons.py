"""The page of the closed enums that conditions, Events, metrics and commands use: why pods wait, and why they go."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise

from controller.core.reasons import NEEDS_A_CHANGE, Reason
from controller.core.workloads.decisions import EvictionCause
from docsite.reference.tables import WRITTEN, cell, code, table

_HEAD = f"""{WRITTEN}
# Reasons

The words that Penstock uses in conditions, Events, metrics, logs and commands.

## Why a pod waits

[Why a pod waits](../reasons.md#the-reasons) says what to do about each. The Events of a reason that lasts until
somebody changes something have the type `Warning`.

"""
_EVICTED = """
## Why a pod is evicted

The label `cause` of `penstock_evictions_total`. [Evictions](../evictions.md) has the rules.

"""


def page() -> str:
    """The text of the page."""
    types = {True: "Warning", False: "Normal"}
    waits = ((code(one), text, types[Reason(one) in NEEDS_A_CHANGE]) for one, text in _described(Reason))
    causes = ((code(one), text) for one, text in _described(EvictionCause))
    return (
        f"{_HEAD}{table(('reason', 'meaning', 'type of its Event'), sorted(waits))}"
        f"{_EVICTED}{table(('cause', 'meaning'), sorted(causes))}"
    )


def _described(words: type[StrEnum]) -> Iterator[tuple[str, str]]:
    """Each word of an enum with the text below it in the source."""
    (definition,) = ast.parse(inspect.getsource(words)).body
    if not isinstance(definition, ast.ClassDef):
        raise TypeError(f"{words.__name__} is no class")
    texts = dict(_texts(definition.body))
    for word in words:
        yield word.value, cell(texts[word.name])


def _texts(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, after in pairwise(body):
        match statement, after:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, text
            case _:
                pass
