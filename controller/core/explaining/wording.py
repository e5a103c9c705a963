"""What people read: a Wait in words (what is needed, what is free, in which flavor)."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf

from controller.core.calendar.civil import utc_text
from controller.core.explaining.arithmetic import Arithmetic, Held
from controller.core.kubernetes.amounts import format_amount
from controller.core.lists import first_few
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker, Booking, Wait


def describe(wait: Wait, since: float, figures: Arithmetic | None = None, *, uid: str = "") -> str:
    """One sentence for conditions and Events: what each flavor said in order, or the single fault; then the figures.

    `since`: from when on the workload waits, seconds since 1970. `figures`: those of the moment, where they are wanted.
    `uid`: the workload's; of each class just one may have a reservation.
    """
    said = _describe_all(wait, since, uid)
    return said if figures is None else "; ".join((said, *_tell(figures)))


def _tell(figures: Arithmetic) -> Iterator[str]:
    held, place = figures.held, figures.place
    if held is not None:
        used, quota = (format_amount(held.resource, amount) for amount in (held.used, held.quota))
        borrowed = [f"{name} {format_amount(held.resource, amount)}" for name, amount in held.borrowers]
        by_whom = f" (borrowed: {first_few(borrowed, 3)})" if borrowed else ""
        yield f"ClusterQueue {held.at} uses {used} of {quota} {held.resource}{_lent(held)}{by_whom}"
    if figures.is_alone:
        yield "preemption would not make room for it now"
    yield f"place {place.before + 1} of {place.waiting} in ClusterQueue {place.queue}"


def _lent(held: Held) -> str:
    """Say what a queue may borrow that uses more than its own: that, and not its quota, is at an end."""
    if held.may_borrow is None:
        return ""
    return f" and of the {format_amount(held.resource, held.may_borrow)} that it may borrow"


def _describe_all(wait: Wait, since: float, uid: str) -> str:
    if not wait.blockers:
        return wait.text
    clauses = [_describe_blocker(blocker) for blocker in wait.blockers]
    if wait.later is not None:
        clauses.append(f"flavor {wait.later.flavor}: tried from {utc_text(int(since) + wait.later.after)} on")
    if wait.is_put_off:
        clauses.append("whom it may preempt is not asked before some of the evictions under way are through")
    if wait.booking is not None and wait.booking.uid == uid:
        clauses.append(f"kept for it {_from(wait.booking)}")
    return "; ".join(clauses)


def _from(booking: Booking) -> str:
    """Say from when on something is reserved: a time is only as good as what is known of how long others run."""
    return f"from {utc_text(ceil(booking.at))} on" if booking.at < inf else "once others end, nobody knows when"


def _describe_blocker(blocker: Blocker) -> str:
    flavor = f"flavor {blocker.flavor}: " if blocker.flavor else ""
    if blocker.booking is not None:
        return f"{flavor}{_describe_booked(blocker, blocker.booking)}"
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


def _describe_booked(blocker: Blocker, booking: Booking) -> str:
    """Say what there is too little of beside a reservation; whose it is, its queue alone says to all."""
    whose = f"kept for the first of ClusterQueue {booking.queue} {_from(booking)}"
    if blocker.resource is None:
        return f"the room that is free now is {whose}; {blocker.detail}"
    need = format_amount(blocker.resource, blocker.need)
    free = format_amount(blocker.resource, max(0, blocker.free))
    return f"needs {need} {blocker.resource}, {free} is left beside what is {whose}; {blocker.detail}"
