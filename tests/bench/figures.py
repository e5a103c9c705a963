"""Figures of `make bench`: what they are, the file that keeps them, and the budgets that they are held to.

Each is a ratio to what the same machine did in the same run: the median of some rounds. A line of the file is one
figure, with the machine, its load, and the commit.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median

import click
import orjson
import psutil

from controller.kube import clock

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "bench.jsonl"

BUDGETS: Mapping[str, tuple[float, float]] = {
    "burst/policies/pace": (0.75, inf),
    "burst/webhook/pace": (0.6, inf),
    "burst/policies/wait-p50": (-inf, 1.3),
    "burst/policies/wait-p99": (-inf, 1.3),
    "burst/webhook/wait-p50": (-inf, 1.3),
    "burst/webhook/wait-p99": (-inf, 1.3),
    "flood/wait-p50": (-inf, 1.1),
    "start/first-decision": (-inf, 1.5),
    "growth/all/all-that-wait": (-inf, 1.2),
    "growth/all/one-pod-ended": (-inf, 1.0),
}
"""The least and the most that a ratio may be."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A ratio by round, of values to baselines, both in this unit."""

    name: str
    values: Sequence[float]
    baselines: Sequence[float]
    unit: str

    @property
    def ratio(self) -> float:
        """The median over the rounds: of each value to the baseline of the same round."""
        return median(value / base for value, base in zip(self.values, self.baselines, strict=True))

    @property
    def is_within(self) -> bool:
        """Whether it keeps its budget; what has none does."""
        least, most = BUDGETS.get(self.name, (-inf, inf))
        return least <= self.ratio <= most


def tell(figures: Sequence[Figure], check: bool) -> None:
    """Print figures, keep them in the file, and with `check` end with an error where one exceeds its budget."""
    for one in figures:
        least, most = BUDGETS.get(one.name, (-inf, inf))
        budget = f"at least {least:g}" if least > 0 else f"at most {most:g}" if most < inf else ""
        spoken = "" if one.is_within else "  MISSED"
        click.echo(
            f"{one.name:<28} {median(one.values):>9.3g} {one.unit:<7} of {median(one.baselines):>9.3g} {one.unit:<7} "
            f"= {one.ratio:>6.2f}  {budget}{spoken}"
        )
    _keep(figures)
    missed = [one.name for one in figures if not one.is_within]
    if check and missed:
        raise click.ClickException(f"budgets are missed: {', '.join(missed)}")


def _keep(figures: Sequence[Figure]) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    about = {
        "at": clock.rfc3339(clock.now()),
        "commit": _commit(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {psutil.virtual_memory().total >> 30} GiB",
        "load": round(os.getloadavg()[0], 1),
    }
    with KEPT.open("ab") as file:
        for one in figures:
            ratios = [round(value / base, 3) for value, base in zip(one.values, one.baselines, strict=True)]
            line = {"figure": one.name, "ratio": round(one.ratio, 3), "ratios": ratios, "unit": one.unit}
            file.write(orjson.dumps({**about, **line, "values": one.values, "baselines": one.baselines}) + b"\n")


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, check=False)
    return found.stdout.decode().strip() or "unknown"
