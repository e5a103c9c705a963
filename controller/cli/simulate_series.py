"""What of the outcomes of `penstock simulate` is drawn, as numbers: which queues and columns, which curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from controller.core.kubernetes.amounts import CPU, PODS
from controller.simulator.measurements import Outcome, Waits

MOST_QUEUES: Final = 8
_MOST_COLUMNS: Final = 12
_MOST_POINTS: Final = 400
"""A curve of more is not finer on paper, but its file is larger."""
_BYTES: Final = ("memory", "ephemeral-storage", "storage", "hugepages-")
_TICKS: Final = {
    0: "0", 1: "1s", 10: "10s", 60: "1m", 600: "10m", 3600: "1h", 21_600: "6h", 86_400: "1d", 604_800: "7d",
    2_592_000: "30d",
}  # fmt: skip
_FINE_TICKS: Final = {
    0: "0", 1: "1s", 2: "2s", 5: "5s", 10: "10s", 20: "20s", 30: "30s", 60: "1m", 120: "2m", 300: "5m", 600: "10m",
    1200: "20m", 1800: "30m", 3600: "1h", 7200: "2h", 10_800: "3h", 14_400: "4h", 21_600: "6h", 28_800: "8h",
    43_200: "12h", 86_400: "1d", 172_800: "2d", 345_600: "4d", 604_800: "7d", 1_209_600: "14d", 2_592_000: "30d",
}  # fmt: skip
_MOST_TICKS: Final = 9
_BINARY: Final = ("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)


def shown_columns(outcomes: Sequence[Outcome]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the flavors and resources to draw, and those left out: all that are used but the number of pods.

    Of very many, those are drawn of which the largest part is used.
    """
    used = {column for one in outcomes for column, amount in one.used.items() if amount and column[1] != PODS}
    parts = {column: max(one.utilisation(column) or 0.0 for one in outcomes) for column in used}
    ranked = sorted(used, key=lambda column: (-parts[column], column))
    return sorted(ranked[:_MOST_COLUMNS]), sorted(ranked[_MOST_COLUMNS:])


def shown_queues(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the ClusterQueues with the most starts, before and after together; by name."""
    return sorted(_ranked(outcomes)[:MOST_QUEUES])


def left_out(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the other ClusterQueues, those with more starts first."""
    return [name or "(none)" for name in _ranked(outcomes)[MOST_QUEUES:]]


def _ranked(outcomes: Sequence[Outcome]) -> list[str]:
    started: Counter[str] = Counter()
    for outcome in outcomes:
        for name, waits in outcome.by_queue.items():
            started[name] += len(waits.started)
    return sorted(started, key=lambda name: (-started[name], name))


def some_wait(outcomes: Sequence[Outcome]) -> bool:
    """Say whether pods of a ClusterQueue that is drawn still wait at the end."""
    names = shown_queues(outcomes)
    return any(one.by_queue[name].waiting for one in outcomes for name in names if name in one.by_queue)


def wait_range(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """Return from which wait to which one to draw, seconds: 0 is the first where somebody waited less than 2 s."""
    names = shown_queues(outcomes)
    found = [wait for one in outcomes for name in names if name in one.by_queue for wait in one.by_queue[name].started]
    shortest = min(found, default=0.0)
    first = max((tick for tick in _FINE_TICKS if tick < 0.9 * shortest), default=0)
    return float(first), 1.05 * max([1.0, *found])


def wait_ticks(shortest: float, longest: float) -> dict[int, str]:
    """Return waits in seconds to be named on an axis between two waits, with their names."""
    fine, coarse = (
        {at: text for at, text in ticks.items() if shortest <= at <= longest} for ticks in (_FINE_TICKS, _TICKS)
    )
    return fine if len(fine) <= _MOST_TICKS else coarse


def wait_curve(waits: Waits | None, until: float) -> tuple[list[float], list[float]]:
    """Return waits in seconds, and which percentage of the pods had started by then, to be drawn as steps to `until`.

    Who still waits at the end counts as a pod that has not started.
    """
    if waits is None or not waits.started:
        return [], []
    started, count = sorted(waits.started), len(waits.started) + len(waits.waiting)
    points = min(_MOST_POINTS, len(started))
    ranks = sorted({round((len(started) - 1) * point / max(1, points - 1)) for point in range(points)})
    percent = [100 * (rank + 1) / count for rank in ranks]
    return [started[0], *(started[rank] for rank in ranks), until], [0.0, *percent, percent[-1]]


def scale_of(resource: str, most: float) -> tuple[float, str]:
    """Return by what amounts of a resource are divided to be shown, and the unit that they are in then."""
    if resource == CPU:
        return 1000.0, "cores"
    if resource.startswith(_BYTES):
        return next(((float(size), unit) for unit, size in _BINARY if most >= size), (1.0, "bytes"))
    return 1.0, ""
