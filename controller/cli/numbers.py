"""Options that take a number with a fraction: a finite one, of a range that makes sense."""

from __future__ import annotations

from math import isfinite
from typing import Any

import click


class NumberRange(click.ParamType[float]):
    """A finite number from `least` to `most`, both included: of nan a comparison says nothing."""

    name = "float"

    def __init__(self, least: float, most: float) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it. Raises BadParameter with the value and the range."""
        wanted = f"write a number from {self._least:g} to {self._most:g}"
        try:
            found = float(value)
        except ValueError:
            found = float("nan")
        if not isfinite(found):
            self.fail(f"{value!r} is not a finite number; {wanted}", param, ctx)
        if not self._least <= found <= self._most:
            self.fail(f"{value} is out of range; {wanted}", param, ctx)
        return found


HOURS = NumberRange(0.001, 24 * 366 * 2)
"""How far a simulation goes: two years at most."""
STEP_SECONDS = NumberRange(0.001, 3600)
