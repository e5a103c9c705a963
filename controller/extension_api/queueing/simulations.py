"""What another setup would do: who creates a Simulation gets what the queues come to, as they are and with changes.

A copy of the process plays both forward (`simulator.comparing`), one at a time, so that another copy is there for those
who only ask why something waits. It ends early where CPU or time run short, and says how many simulations it has made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Set
from dataclasses import replace
from functools import partial
from time import process_time
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, json, structs

from controller.cache.cluster import ClusterCache
from controller.extension_api.queueing.copies import CPU_SECONDS, SECONDS, Copies
from controller.extension_api.resources import EVERYWHERE, HIDDEN, Creation, Entry, Question, Resource
from controller.extension_api.statuses import Fault, Refused, invalid
from controller.kube import clock
from controller.replay.as_written import as_written
from controller.replay.snapshot_file import Saved
from controller.simulator.changes import namespace_of
from controller.simulator.comparing import Comparison
from controller.simulator.runtimes import seeds_of
from controller.simulator.variants import VariantError, variant_of
from controller.simulator.world import world_of
from controller.visibility.simulation_rows import OutcomeRow, SimulationRow, simulation_row

KIND: Final = "Simulation"
PLURAL: Final = "simulations"
MOST_ADDED: Final = 10_000
"""Nodes that changes add, and pods that Jobs create at once: each takes memory of the controller's container."""
_HOUR: Final = 3600.0
_ENOUGH: Final = 0.8
"""After this part of its CPU time a copy goes no further: one step may take seconds."""
_IN_TIME: Final = 0.85
"""After this part of the time that is left for an answer as well: what was found has to be written."""
_RETRY_SECONDS: Final = 5
_LONGEST: Final = 1000


class SimulationSpec(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is tried, and how it is simulated. With neither changes nor jobs there is only what is."""

    changes: Annotated[
        tuple[Annotated[str, Meta(max_length=_LONGEST)], ...],
        Meta(max_length=100, description="At most 100 changes in order, each as `penstock simulate --change` has it."),
    ] = ()
    jobs: Annotated[
        tuple[dict[str, Any], ...],
        Meta(max_length=100, description="At most 100 Jobs of batch/v1, each created at the beginning."),
    ] = ()
    hours: Annotated[
        float,
        Meta(ge=0.01, le=744.0, description="How many hours each simulation lasts, from 0.01 to 744 (31 days); 24."),
    ] = 24.0
    runs: Annotated[
        int, Meta(ge=1, le=100, description="How many simulations of each setup, from 1 to 100, if time allows; 5.")
    ] = 5
    seed: Annotated[
        int, Meta(ge=-(2**63), le=2**63 - 1, description="A whole number; the same one draws the same future; 0.")
    ] = 0
    resolution: Annotated[
        float, Meta(ge=0.1, le=3600.0, description="Seconds of a step, from 0.1 to 3600; coarser is quicker; 1.")
    ] = 1.0


class _Worked(Struct, frozen=True):
    """What a copy has found: a row, or what is wrong with which field."""

    row: SimulationRow | None = None
    field: str = ""
    why: str = ""


def simulations(cache: ClusterCache, copies: Copies) -> Resource:
    """Return the resource, which can only be created."""
    creation = Creation(spec=SimulationSpec, names=_names, answer=_Simulating(cache, copies).answer)
    return Resource(
        plural=PLURAL,
        singular="simulation",
        kind=KIND,
        is_namespaced=False,
        item=SimulationRow,
        create=creation,
        redact=_redact,
    )


def _names(spec: SimulationSpec) -> frozenset[str]:
    """Return the namespaces of Jobs and LocalQueues: whether there is one of a name is not for everybody."""
    metadata = [job.get("metadata") for job in spec.jobs]
    named = [str(one.get("namespace") or "default") for one in metadata if isinstance(one, dict)]
    return frozenset((*named, *map(namespace_of, spec.changes))) - {""}


def _redact(entry: Entry, seen: Set[str]) -> Entry:
    """Leave out users, and names of pods of which the viewer has not named the Job."""
    row = entry.row
    if not isinstance(row, SimulationRow):
        raise TypeError(f"no simulation: {row!r}")
    if seen >= EVERYWHERE:
        return entry

    def shown(one: OutcomeRow) -> OutcomeRow:
        return structs.replace(one, users={}, unknown_runtimes=(HIDDEN,) * len(one.unknown_runtimes))

    after = None if row.after is None else shown(row.after)
    return replace(entry, row=structs.replace(row, before=shown(row.before), after=after))


class _Simulating:
    def __init__(self, cache: ClusterCache, copies: Copies) -> None:
        self._cache = cache
        self._copies = copies
        self._turn = asyncio.Semaphore(1)

    async def answer(self, question: Question) -> Entry:
        """Raises Refused: 422 for what cannot be tried or takes too long, 429 where others took most of the time."""
        asked = clock.monotonic()
        async with self._turn:
            began = clock.monotonic()
            if began - asked > question.until - began:
                told = f"the {PLURAL} of others came first for {began - asked:.0f} s; try again later"
                raise Refused(429, told, retry_seconds=_RETRY_SECONDS)
            end = began + _IN_TIME * min(question.until - began, SECONDS)
            found = await self._copies.worked_out(_Worked, partial(_worked, self._cache, question.spec, end))
        if found.row is None:
            raise invalid(KIND, question.name, [Fault(found.field, found.why)])
        return Entry("", "", found.row, EVERYWHERE)


def _worked(cache: ClusterCache, spec: SimulationSpec, end: float) -> bytes:
    """Simulate what is in a cache until `end` at the latest, in a copy. It brings the cache up to now."""
    cache.advance(clock.now())
    world = world_of(Saved(cache.snapshot(), as_written(cache)))
    try:
        after = variant_of(world, spec.changes, spec.jobs, most=MOST_ADDED)
    except VariantError as error:
        return json.encode(_Worked(field=f"spec.{error.part}[{error.number}]", why=str(error)))
    comparison = Comparison(world, after, seconds=spec.hours * _HOUR, resolution=spec.resolution)
    if not _played(comparison, spec, end):
        told = f"Invalid value: {spec.hours:g}: not one simulation so long was made in the time that an answer may take"
        return json.encode(_Worked(field="spec.hours", why=f"{told}; write less, or a coarser spec.resolution"))
    return json.encode(_Worked(row=simulation_row(comparison.outcomes, world.now, after)))


def _played(comparison: Comparison, spec: SimulationSpec, end: float) -> int:
    """Simulate as often as asked, or as time allows; return how often to the end."""
    done = 0
    for seed in seeds_of(spec.seed, spec.runs):
        for _ in comparison.steps(seed):
            # the CPU time of a copy begins at 0
            if process_time() > _ENOUGH * CPU_SECONDS or clock.monotonic() > end:
                return done
        done += 1
    return done
