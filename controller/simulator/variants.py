"""What people want to try, from what they wrote: changes as texts, and manifests of Jobs, as a variant of a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from controller.core.kubernetes.owners import Job
from controller.core.workloads.pods import Pod
from controller.simulator.changes import ChangeError, parse_change
from controller.simulator.comparing import Variant
from controller.simulator.new_job import MOST, new_job
from controller.simulator.world import World


class Part(StrEnum):
    """Of what there are several."""

    CHANGES = "changes"
    JOBS = "jobs"


class VariantError(ValueError):
    """One of the changes or Jobs cannot be tried: which, counted from 0; the text says why, and what can."""

    def __init__(self, part: Part, number: int, why: str) -> None:
        super().__init__(why)
        self.part = part
        self.number = number


def variant_of(
    world: World, changes: Sequence[str], jobs: Sequence[Mapping[str, Any]], *, most: int = MOST
) -> Variant | None:
    """Apply the changes in order and add the Jobs; None where there is neither. Raises VariantError.

    At most so many nodes come to the world, and as many pods are created at once.
    """
    changed, added = world, list[tuple[Job, list[Pod]]]()
    for number, text in enumerate(changes):
        try:
            changed = _applied(text, changed, len(world.nodes) + most)
        except ChangeError as error:
            raise VariantError(Part.CHANGES, number, str(error)) from None
    left = most
    for number, document in enumerate(jobs):
        try:
            added.append(new_job(document, world, [job for job, _ in added], most=left))
        except ChangeError as error:
            raise VariantError(Part.JOBS, number, str(error)) from None
        left -= added[-1][0].most
    return Variant(changed, added) if changes or jobs else None


def _applied(text: str, world: World, most: int) -> World:
    changed = parse_change(text).apply(world)
    if len(changed.nodes) > max(most, len(world.nodes)):
        raise ChangeError(f"{text}: there would be {len(changed.nodes)} nodes; {most} can be simulated")
    return changed
