"""What a simulation of two setups comes to, as the document that programs read: waits, use, preemptions and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct

from controller.kube.clock import rfc3339
from controller.simulator.comparing import Variant
from controller.simulator.measurements import Outcome, Waits

_PARTS: Final = (0.5, 0.9)


class WaitsRow(Struct, frozen=True, rename="camel", kw_only=True):
    """Pods that start and that still wait at the end, in one simulation in the mean; and quantiles of their waits.

    Waits are seconds from creation to start; who still waits counts with the wait so far. None: there is nobody.
    """

    started: float
    waiting: float
    median: float | None
    p90: float | None


class QueueOutcomeRow(WaitsRow, frozen=True, rename="camel", kw_only=True):
    """What becomes of the pods of a ClusterQueue, in one simulation in the mean.

    `preempted` counts evictions for others, `evicted` all other ones; `cost` is by the prices of flavors.
    """

    ended: float
    preempted: float
    evicted: float
    cost: float


class UtilisationRow(Struct, frozen=True, rename="camel"):
    """Which part of a flavor's resource is used in the mean; None: there is none of it."""

    flavor: str
    resource: str
    part: float | None


class OutcomeRow(Struct, frozen=True, rename="camel"):
    """What the simulations of one setup come to.

    `starts` are of the first pods of Jobs that were added, as namespace/name: seconds from the beginning to the start,
    one of each simulation in which it starts. `unknownRuntimes` are pods of which nobody knows how long they run.
    """

    simulations: Annotated[int, Meta(description="How many simulations were made to their end.")]
    cluster_queues: dict[str, QueueOutcomeRow]
    users: dict[str, WaitsRow]
    utilisation: tuple[UtilisationRow, ...]
    starts: dict[str, tuple[float, ...]]
    unknown_runtimes: tuple[str, ...]


class AddedJobRow(Struct, frozen=True, rename="camel"):
    """A Job that was added, as namespace/name, and how many pods it creates first."""

    name: str
    pods: int


class SimulationRow(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The queues played forward from `time`, RFC 3339: as they are, and where anything was changed with the changes."""

    time: str
    before: OutcomeRow
    after: OutcomeRow | None = None
    jobs: tuple[AddedJobRow, ...] = ()

    @property
    def outcomes(self) -> tuple[OutcomeRow, ...]:
        """What there is of both."""
        return (self.before,) if self.after is None else (self.before, self.after)


def simulation_row(outcomes: Sequence[Outcome], now: float, variant: Variant | None) -> SimulationRow:
    """Return outcomes before and after, or alone, of simulations of a variant that began at `now`, epoch seconds."""
    before, *after = (_outcome(one, now) for one in outcomes)
    added = () if variant is None else tuple(AddedJobRow(job.key, job.most) for job, _ in variant.jobs)
    return SimulationRow(rfc3339(now), before, after[0] if after else None, added)


def _outcome(outcome: Outcome, now: float) -> OutcomeRow:
    runs = max(1, outcome.runs)
    return OutcomeRow(
        simulations=outcome.runs,
        cluster_queues={name: _queue(outcome, name, waits, runs) for name, waits in sorted(outcome.by_queue.items())},
        users={name: _waits(waits, runs) for name, waits in sorted(outcome.by_user.items())},
        utilisation=tuple(UtilisationRow(*column, _part(outcome, column)) for column in sorted(outcome.capacity)),
        starts={name: tuple(at - now for at in sorted(starts)) for name, starts in sorted(outcome.starts.items())},
        unknown_runtimes=tuple(sorted(outcome.unknown)),
    )


def _queue(outcome: Outcome, name: str, waits: Waits, runs: int) -> QueueOutcomeRow:
    median, p90 = map(waits.quantile, _PARTS)
    return QueueOutcomeRow(
        started=len(waits.started) / runs,
        waiting=len(waits.waiting) / runs,
        median=median,
        p90=p90,
        ended=outcome.ended.get(name, 0) / runs,
        preempted=outcome.preempted.get(name, 0) / runs,
        evicted=outcome.evicted.get(name, 0) / runs,
        cost=round(outcome.cost.get(name, 0.0) / runs, 3),
    )


def _waits(waits: Waits, runs: int) -> WaitsRow:
    median, p90 = map(waits.quantile, _PARTS)
    started, waiting = len(waits.started) / runs, len(waits.waiting) / runs
    return WaitsRow(started=started, waiting=waiting, median=median, p90=p90)


def _part(outcome: Outcome, column: tuple[str, str]) -> float | None:
    part = outcome.utilisation(column)
    return None if part is None else round(part, 4)
