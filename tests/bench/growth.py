"""`python -m tests.bench.growth`: with which power of pods, queues and nodes the time of a decision grows.

Worlds of the decision's benchmark, each in a process of its own. One number is doubled at a time, then all three; the
exponent is the slope through the logarithms of the times, each divided by the pace of the machine meanwhile. An
exponent of 1 means twice the time for twice as many, 0 that the number does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from statistics import linear_regression

import click

from controller.core.forecasts.forecast import USUAL_DEPTH
from tests.bench.figures import Figure, tell
from tests.bench.measuring import Figures, measure_alone
from tests.bench.worlds import NUMBERS, Recipe

_ENDINGS = 100


@click.command(context_settings={"show_default": True})
@click.option("--scale", type=click.FloatRange(0.01), default=0.25, help="Of the smallest world; 1 has 50,000 pods.")
@click.option("--doublings", type=click.IntRange(1, 6), default=3, help="How often a number is doubled.")
@click.option("--check", is_flag=True, help="Fail where an exponent exceeds its budget.")
def main(scale: float, doublings: int, check: bool) -> None:
    """Measure how the time of a decision grows on this machine."""
    factors = [2.0**number for number in range(doublings + 1)]
    base = Recipe(shapes=600, scale=scale, quota=0.3)
    smallest = _measured(base, "the smallest world")
    figures = list[Figure]()
    for name in (*NUMBERS, "all"):
        grown = [smallest]
        for factor in factors[1:]:
            more = dict.fromkeys(NUMBERS if name == "all" else (name,), factor)
            recipe = Recipe(shapes=base.shapes, scale=scale, quota=base.quota, more=more)
            grown.append(_measured(recipe, f"{name} times {factor:g}"))
        figures += [
            _exponent(f"growth/{name}/all-that-wait", factors, [one.full / one.pace for one in grown]),
            _exponent(f"growth/{name}/one-pod-ended", factors, [one.ended_p50 / one.pace for one in grown]),
            _exponent(f"growth/{name}/memory", factors, [float(one.memory) for one in grown]),
        ]
    tell(figures, check)


def _measured(recipe: Recipe, what: str) -> Figures:
    return measure_alone(recipe, what, depth=USUAL_DEPTH, endings=_ENDINGS, is_batched=False)


def _exponent(name: str, factors: Sequence[float], times: Sequence[float]) -> Figure:
    """The slope beside that of what grows with the number itself, which is 1."""
    slope, _ = linear_regression([log(factor) for factor in factors], [log(time) for time in times])
    return Figure(name, [slope], [1.0], "power")


if __name__ == "__main__":
    main()
