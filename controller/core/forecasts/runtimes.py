"""How long a pod is expected to run, and until when: what it says itself, else what its like took before.

It says so by annotation; a deadline of its own or of its Job bounds that, and stands for it where nothing is said.
"""

from __future__ import annotations

from math import floor, inf

from controller.core.calendar.durations import DurationError, parse_duration
from controller.core.keys import EXPECTED_RUNTIME
from controller.core.kubernetes.owners import Job
from controller.core.workloads.pods import Pod

GOING_SECONDS = 60.0
"""A pod that is being deleted, and one that has outrun its expectation, is expected to be gone so much later."""
_OVERRUN_PART = 4
_TO_A_NODE = 600.0


class RuntimeFault(ValueError):
    """An expectation that cannot be read; the text says what to write."""


def stated(annotation: str | None, deadline: int | None) -> int:
    """Return the seconds that a pod says it runs at most: its annotation, within its deadline; 0: it does not say.

    What cannot be read says nothing: whoever creates such a pod is warned (`RuntimeFault`).
    """
    try:
        said = 0 if annotation is None else read_runtime(annotation)
    except RuntimeFault:
        said = 0
    return least(said, deadline or 0)


def read_runtime(annotation: str) -> int:
    """Return the seconds of the annotation. Raises RuntimeFault."""
    try:
        seconds = parse_duration(annotation)
    except DurationError:
        seconds = 0
    if seconds:
        return seconds
    raise RuntimeFault(
        f"the annotation {EXPECTED_RUNTIME} is {annotation[:40]!r}, so it says nothing of how long the pod runs; write "
        "hours, minutes and seconds, such as 8h, 90m or 1h30m"
    )


def declared(pod: Pod, job: Job | None) -> int:
    """Return the seconds for which a pod runs at most as it or its Job says; 0: neither does."""
    return least(pod.expected_runtime, job.deadline if job is not None else 0)


def claimed(pod: Pod, job: Job | None) -> int:
    """Return the seconds that are only said: nothing surely ends the pod by then. 0: it does not say.

    Its own deadline ends it, since that can only be made shorter; its Job's may be put off.
    """
    said = declared(pod, job)
    return 0 if said == pod.deadline else said


def outruns_at(pod: Pod, said: int) -> float | None:
    """Return from when on a pod that said so many seconds runs longer, epoch seconds; None: it was not admitted.

    It may run on for a quarter of that, and a minute at least. One that is on no node yet has ten minutes to get there.
    """
    began = pod.started or (pod.admitted_at and pod.admitted_at + _TO_A_NODE)
    return began + said + max(GOING_SECONDS, said / _OVERRUN_PART) if began else None


def expected_end(pod: Pod, job: Job | None, runtime: int, now: float) -> float:
    """Return when a pod ends that runs so many seconds (0: nobody knows) from its start, epoch seconds.

    Until its node says that it started it runs since its admission.
    """
    end = (pod.started or pod.admitted_at or now) + runtime if runtime else inf
    if job is not None and job.deadline and job.started:
        end = min(end, job.started + job.deadline)
    end = put_off(end, step_after(pod, runtime), now)
    return min(end, now + GOING_SECONDS) if pod.is_terminating else end


def step_after(pod: Pod, runtime: int) -> float:
    """Return by how many seconds a pod is expected to run on each time that it outruns what was expected.

    A quarter of its runtime: the longer it ran, the less a minute says.
    """
    return GOING_SECONDS if pod.is_terminating else max(GOING_SECONDS, runtime / _OVERRUN_PART)


def put_off(end: float, step: float, now: float) -> float:
    """Return the end of a pod that has outrun `end`: the first of the steps after it that is still to come."""
    return end if end > now else end + (floor((now - end) / step) + 1) * step


def least(one: int, other: int) -> int:
    """Return the tighter one of two bounds; 0 is none."""
    return min(one, other) if one and other else one or other
