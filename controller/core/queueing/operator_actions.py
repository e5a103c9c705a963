"""What people do to the queue by hand: hold back, put on top. Each leaves a note on the object that says who, and why.

A note is for people to read: nothing is decided by what stands in it, and whoever may edit the object may write it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from controller.core.keys import HELD, ON_TOP
from controller.core.kubernetes.owners import Job
from controller.core.queueing.queues import StopPolicy
from controller.core.reasons import Reason
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import Hold

NOTE_MOST: Final = 200
"""Characters of a note that are told; anybody can write longer ones."""


def note(who: str, why: str) -> str:
    """Write a note."""
    return f"{who}: {why}" if why else who


def told(text: str) -> str:
    """Return a note as it is told, which may be another's: one line, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= NOTE_MOST else f"{line[:NOTE_MOST]}…"


def aside(text: str) -> str:
    """Return a note in brackets behind what it explains; nothing where there is none."""
    return f" ({told(text)})" if text else ""


def held(pod: Pod, job: Job | None) -> Hold | None:
    """Return the hold that somebody put on the pod, or on the Job that made it."""
    for what, text in (("", pod.held), ("its Job is ", None if job is None else job.held)):
        if text is not None:
            return Hold(Reason.HELD, f"{what}held by hand{aside(text)}; penstock release undoes it")
    return None


def is_on_top(pod: Pod, job: Job | None) -> bool:
    """Whether somebody put the pod, or the Job that made it, before the others of its local queue."""
    return pod.is_on_top or (job is not None and job.is_on_top)


class Verb(StrEnum):
    """What can be done by hand. Each is undone by the one after it."""

    HOLD = "hold"
    RELEASE = "release"
    TOP = "top"
    UNTOP = "untop"
    DRAIN = "drain"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ActionMarks:
    """The annotations of operator actions on an object, and its stopPolicy; None where it is no queue."""

    held: str | None = None
    on_top: str | None = None
    stop: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Annotations to write (None: to take away), and the stopPolicy to set (None: none)."""

    annotations: Mapping[str, str | None]
    stop: str | None = None


@dataclass(frozen=True, slots=True)
class Spared:
    """There is nothing to change: `text` says why, as in `is held already`."""

    text: str


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Another verb undoes what was done to the object: `text` says which."""

    text: str


def change(verb: Verb, standing: ActionMarks, noted: str) -> Change | Spared | Misplaced:
    """Return what the verb, with this note, changes of an object. Queues have no place, and pods are not drained."""
    if standing.stop is not None:
        return _change_queue(verb, standing, standing.stop, noted)
    key, before = (HELD, standing.held) if verb in (Verb.HOLD, Verb.RELEASE) else (ON_TOP, standing.on_top)
    is_doing = verb in (Verb.HOLD, Verb.TOP)
    if is_doing is (before is not None):
        state = "held" if key == HELD else "on top"
        return Spared(f"is {state} already{aside(before or '')}" if is_doing else f"is not {state}")
    return Change({key: noted if is_doing else None})


def _change_queue(verb: Verb, standing: ActionMarks, stop: str, noted: str) -> Change | Spared | Misplaced:
    by = aside(standing.held or "")
    match verb, stop:
        case (Verb.HOLD, StopPolicy.NONE):
            return Change({HELD: noted}, StopPolicy.HOLD)
        case (Verb.DRAIN, StopPolicy.NONE | StopPolicy.HOLD):
            return Change({HELD: noted}, StopPolicy.HOLD_AND_DRAIN)
        case (Verb.HOLD | Verb.DRAIN, _):
            return Spared(f"has stopPolicy {stop} already{by}")
        case (_, StopPolicy.NONE):
            return Spared("is open")
        case (Verb.RELEASE, StopPolicy.HOLD_AND_DRAIN):
            return Misplaced(f"is drained{by}: penstock open undoes that")
        case (Verb.OPEN, StopPolicy.HOLD):
            return Misplaced(f"is held{by}: penstock release undoes that")
        case _:
            return Change({HELD: None}, StopPolicy.NONE)
