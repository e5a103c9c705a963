"""`make bench-decide`: how long a decision takes in large worlds, beside what the design asks for.

`make bench-decide BENCH="--shapes 60 --scale 1"` measures a part. Each world has a process of its own, one at a time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf, log

import click

from controller.core.forecasts.forecast import USUAL_DEPTH
from tests.bench.measuring import Figures, measure_alone
from tests.bench.rules import RULES
from tests.bench.worlds import NUMBERS, Recipe

WORLDS = {
    "even": Recipe(quota=1.0, room=1.0),
    "quota": Recipe(quota=0.3, room=1.0),
    "room": Recipe(quota=5.0, room=0.3),
    "empty": Recipe(quota=5.0, room=inf),
}
"""By what is short: both a little, quota, room, or nothing on empty nodes."""

_FULL_SECONDS = ((60, 0.6), (6_000, 2.0))
"""Budget of a full pass at scale 1, by the number of shapes up to which it holds."""
_ENDED_P50, _ENDED_P99 = 0.005, 0.020
_RULED = 3
"""With rules that cost more all may take so many times as long."""
_MEMORY, _MEMORY_PODS = 300 * 2**20, 100_000
_COLUMNS = (
    *(("shapes", 6), ("scale", 5), ("world", 6), ("seed", 4), ("classes", 7), ("admits", 7), ("full s", 8)),
    *(("growth", 7), ("first s", 7), ("batches s", 9), ("ended p50", 10), ("p99 ms", 8), ("mean ms", 7)),
    *(("then p99", 9), ("then sum", 8), ("again ms", 8), ("anew ms", 8), ("MiB", 6), ("pace ms", 7)),
)


@click.command(context_settings={"show_default": True})
@click.option("--shapes", type=click.IntRange(5), multiple=True, default=(60, 600, 6_000), help="Makes of pods.")
@click.option("--scale", type=click.FloatRange(0.01), multiple=True, default=(1, 2, 4), help="Times everything.")
@click.option("--more", type=(click.Choice(NUMBERS), float), multiple=True, help="Times one of them beside: `pods 20`.")
@click.option("--world", type=click.Choice(list(WORLDS)), multiple=True, default=tuple(WORLDS), help="What is short.")
@click.option("--rules", type=click.Choice(list(RULES)), multiple=True, help="What all queues do besides; all at once.")
@click.option("--backfill-depth", type=click.IntRange(1, 64), default=USUAL_DEPTH, help="Reservations at a time.")
@click.option("--endings", type=click.IntRange(1), default=300, help="Pods that end one at a time.")
@click.option("--batches/--no-batches", default=True, help="Admit in batches of the executor's size, or at once.")
@click.option("--seed", type=int, multiple=True, default=(1,), help="What the worlds are drawn from; one says little.")
def main(
    shapes: Sequence[int],
    scale: Sequence[float],
    more: Sequence[tuple[str, float]],
    world: Sequence[str],
    rules: Sequence[str],
    backfill_depth: int,
    endings: int,
    *,
    batches: bool,
    seed: Sequence[int],
) -> None:
    """Measure the decision on this machine, in CPU time."""
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    click.echo(f"{os.cpu_count()} cores, load {load}; seconds of CPU time; ! is over budget, which is for scale 1:")
    ruled = "; three times as long with rules" if rules else ""
    click.echo(
        "full pass 0.6 s at 60 shapes and 2 s at 6,000, growing with n log n; after one pod of a world at rest ended "
        f"p50 5 ms, p99 20 ms; 300 MiB with 100,000 pods{ruled}; then: the decisions until it is at rest again, one, "
        "and all after one end; pace: a million rounds of a loop, twice as long on a core that is shared\n"
    )
    click.echo(" ".join(f"{title:>{width}}" for title, width in _COLUMNS))
    for count, name, number in product(shapes, world, seed):
        base: tuple[float, Figures] | None = None
        for times in sorted(scale):
            recipe = replace(WORLDS[name], shapes=count, scale=times, seed=number, more=dict(more))
            what = f"{recipe.shapes:,} shapes, {recipe.scale:g}x, {name}, seed {recipe.seed}"
            figures = measure_alone(
                recipe, what, rules=rules, depth=backfill_depth, endings=endings, is_batched=batches
            )
            click.echo(_row(recipe, name, figures, base, times=_RULED if rules else 1))
            base = base or (times, figures)


def _row(recipe: Recipe, name: str, figures: Figures, base: tuple[float, Figures] | None, *, times: float) -> str:
    is_bound = recipe.scale == 1 and not recipe.more
    full = times * next((seconds for shapes, seconds in _FULL_SECONDS if recipe.shapes <= shapes), inf)
    cells = (
        f"{recipe.shapes:,}",
        f"{recipe.scale:g}",
        name,
        f"{recipe.seed}",
        f"{figures.classes:,}",
        f"{figures.admitted:,}",
        _marked(f"{figures.full:.2f}", is_over=is_bound and figures.full > full),
        _growth(recipe, figures, base),
        f"{figures.first:.2f}",
        f"{figures.batches:.1f}",
        _marked(f"{figures.ended_p50 * 1000:.1f}", is_over=is_bound and figures.ended_p50 > times * _ENDED_P50),
        _marked(f"{figures.ended_p99 * 1000:.1f}", is_over=is_bound and figures.ended_p99 > times * _ENDED_P99),
        f"{figures.ended_mean * 1000:.1f}",
        f"{figures.then_p99 * 1000:.1f}",
        f"{figures.then_sum * 1000:.1f}",
        f"{figures.again * 1000:.1f}",
        f"{figures.anew * 1000:.1f}",
        _marked(f"{figures.memory / 2**20:.0f}", is_over=figures.pods <= _MEMORY_PODS and figures.memory > _MEMORY),
        f"{figures.pace * 1000:.0f}",
    )
    return " ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))


def _growth(recipe: Recipe, figures: Figures, base: tuple[float, Figures] | None) -> str:
    """How much longer the full pass takes than at the first scale; more than n log n is over budget."""
    if base is None:
        return "-"
    smaller = replace(recipe, scale=base[0]).queued
    allowed = recipe.queued * log(recipe.queued) / (smaller * log(smaller))
    growth = figures.full / base[1].full
    return _marked(f"{growth:.1f}x", is_over=growth > allowed)


def _marked(text: str, *, is_over: bool) -> str:
    return f"{text}!" if is_over else f"{text} "


if __name__ == "__main__":
    main()
