"""What people read: a Wait in words (what is needed, what is free, in which flavor), and lists cut short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.core.amounts import format_amount
from controller.core.arithmetic import Arithmetic
from controller.core.civil import utc_text
from controller.core.decisions import Blocker, Wait
from controller.core.reasons import Reason


def first_few(names: Sequence[str], most: int = 5) -> str:
    """Write the first of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def describe(wait: Wait, since: float, figures: Arithmetic | None = None) -> str:
    """One sentence for conditions and Events: what each flavor said in order, or the single fault; then the figures.

    `since`: from when on the workload waits, seconds since 1970. `figures`: those of the moment, where they are wanted.
    """
    said = _describe_all(wait, since)
    return said if figures is None else "; ".join((said, *_tell(figures)))


def _tell(figures: Arithmetic) -> Iterator[str]:
    held, place = figures.held, figures.place
    if held is not None:
        used, quota = (format_amount(held.resource, amount) for amount in (held.used, held.quota))
        borrowed = [f"{name} {format_amount(held.resource, amount)}" for name, amount in held.borrowers]
        by_whom = f" (borrowed: {first_few(borrowed, 3)})" if borrowed else ""
        yield f"ClusterQueue {held.at} uses {used} of {quota} {held.resource}{by_whom}"
    yield f"place {place.before + 1} of {place.waiting} in ClusterQueue {place.queue}"


def _describe_all(wait: Wait, since: float) -> str:
    if not wait.blockers:
        return wait.text
    clauses = [_describe_blocker(blocker) for blocker in wait.blockers]
    if wait.later is not None:
        clauses.append(f"flavor {wait.later.flavor}: tried from {utc_text(int(since) + wait.later.after)} on")
    return "; ".join(clauses)


def _describe_blocker(blocker: Blocker) -> str:
    flavor = f"flavor {blocker.flavor}: " if blocker.flavor else ""
    if blocker.resource is None:
        return f"{flavor}{blocker.detail}"
    need = format_amount(blocker.resource, blocker.need)
    free = format_amount(blocker.resource, max(0, blocker.free))
    subject = f"{flavor}needs {need} {blocker.resource}"
    match blocker.reason:
        case Reason.QUOTA_EXCEEDED:
            return f"{subject}, {free} of its quota is free"
        case Reason.PARENT_QUEUE_LIMIT:
            return f"{subject}, {free} is free of its quota and what it may borrow (limited at {blocker.at})"
        case Reason.QUEUE_LIMIT:
            return f"{subject}, {free} of the limit of {blocker.at} is free"
        case Reason.USER_LIMIT:
            who = f"user {blocker.user}" if blocker.user else "all whose user is not known"
            return f"{subject}, {free} of what {blocker.at} gives each user is free for {who}"
        case Reason.NO_CAPACITY:
            return f"{subject}, {free} {blocker.detail or 'of its capacity is free'}"
        case _:
            return f"{subject}, {blocker.detail} ({free})"
