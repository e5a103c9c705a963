"""What people read: a Wait in words (what is needed, what is free, in which flavor)."""

from __future__ import annotations

from math import ceil, inf

from controller.core.calendar.civil import utc_text
from controller.core.kubernetes.amounts import format_amount
from controller.core.kubernetes.owners import Job
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker, Booking, Wait
from controller.core.workloads.pods import Pod


def describe(wait: Wait, since: float, *, uid: str = "", may_preempt: bool = False, figures: bool = True) -> str:
    """One sentence: what each flavor said in order, or the single fault.

    It rests on what the decision found and nothing else, so that it costs the same however many wait.
    `since`: from when on the workload waits, seconds since 1970. `uid`: the workload's; of each class just one may have
    a reservation. `may_preempt`: its queue lets some go. Those who wait all the same found nobody who would help.
    `figures`: with what is free at the moment, and until or from when, for who asks now. A condition or Event stays as
    it was written: it says what is needed and of what there is too little, and no figure that would grow old there.
    """
    said = _describe_all(wait, since, uid, figures=figures)
    is_asked = bool(wait.contested) and not wait.is_put_off and wait.reason is not Reason.USER_LIMIT
    if not may_preempt or not is_asked or wait.reason is Reason.NEVER_FITS:
        return said
    return f"{said}; preemption would not make room for it now"


def deadline_note(job: Job | None) -> str:
    """Say until when a pod may wait whose Job has a deadline: it counts from the Job's start, which no gate stops."""
    if job is None or not job.deadline or not job.started:
        return ""
    fails = utc_text(int(job.started) + job.deadline)
    return f"; its Job's activeDeadlineSeconds ({job.deadline}) counts while it waits: the Job fails at {fails}"


def size_note(pod: Pod, job: Pod | None) -> str:
    """Say of a Job for how many of its pods quota and room are looked for; `job`: whose further pods these are."""
    if job is not None:
        return f"; that is for the first of {pod.count} more pods, and {job.name} has {job.count}"
    if 0 < pod.least < pod.count:
        return f"; that is for {pod.least} of its {pod.count} pods, with which it may begin"
    return ""


def _describe_all(wait: Wait, since: float, uid: str, *, figures: bool) -> str:
    if not wait.blockers:
        return wait.text
    describe_blocker = _describe_blocker if figures else _outline_blocker
    clauses = [describe_blocker(blocker) for blocker in wait.blockers]
    if wait.later is not None:
        clauses.append(f"flavor {wait.later.flavor}: tried from {utc_text(int(since) + wait.later.after)} on")
    if wait.is_put_off:
        clauses.append("which pods it may preempt is decided when some of the evictions under way have ended")
    if figures and wait.booking is not None and wait.booking.uid == uid:
        clauses.append(f"kept for it {_from(wait.booking)}")
    return "; ".join(clauses)


def _from(booking: Booking) -> str:
    """Say from when on something is reserved: a time is only as good as what is known of how long others run."""
    return (
        f"from {utc_text(ceil(booking.at))} on" if booking.at < inf else "once others end, at a time that is not known"
    )


def _flavor(blocker: Blocker) -> str:
    return f"flavor {blocker.flavor}: " if blocker.flavor else ""


def _needs(blocker: Blocker, resource: str) -> str:
    return f"{_flavor(blocker)}needs {format_amount(resource, blocker.need)} {resource}"


def _user(blocker: Blocker) -> str:
    return f"user {blocker.user}" if blocker.user else "all whose user is not known"


# -- with figures, for who asks ------------------------------------------------------------------------------------


def _describe_blocker(blocker: Blocker) -> str:
    if blocker.kept is None or blocker.resource is None:
        return _describe_shortage(blocker)
    amount, until = blocker.kept
    kept = f"{format_amount(blocker.resource, amount)} is kept until {utc_text(ceil(until))}"
    return f"{_describe_shortage(blocker)}; {kept} for recreated pods of gangs"


def _describe_shortage(blocker: Blocker) -> str:
    if blocker.booking is not None:
        return f"{_flavor(blocker)}{_describe_booked(blocker, blocker.booking)}"
    if blocker.resource is None:
        return f"{_flavor(blocker)}{blocker.now or blocker.detail}"
    subject, free = _needs(blocker, blocker.resource), format_amount(blocker.resource, max(0, blocker.free))
    match blocker.reason:
        case Reason.QUOTA_EXCEEDED:
            return f"{subject}, {free} of its quota is free"
        case Reason.PARENT_QUEUE_LIMIT:
            return f"{subject}, {free} is free of its quota and what it may borrow (limited at {blocker.at})"
        case Reason.QUEUE_LIMIT:
            return f"{subject}, {free} of the limit of {blocker.at} is free"
        case Reason.USER_LIMIT:
            return f"{subject}, {free} of what {blocker.at} gives each user is free for {_user(blocker)}"
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
    return f"needs {need} {blocker.resource}, {free} is left without what is {whose}; {blocker.detail}"


# -- without, for what stays ---------------------------------------------------------------------------------------


def _outline_blocker(blocker: Blocker) -> str:
    kept = "" if blocker.kept is None else "; some of it is kept for recreated pods of gangs"
    return f"{_outline_shortage(blocker)}{kept}"


def _outline_shortage(blocker: Blocker) -> str:
    if blocker.booking is not None:
        whose = f"kept for the first of ClusterQueue {blocker.booking.queue}; {blocker.detail}"
        if blocker.resource is None:
            return f"{_flavor(blocker)}the room that is free is {whose}"
        return f"{_needs(blocker, blocker.resource)}, more than is left without what is {whose}"
    if blocker.resource is None:
        return f"{_flavor(blocker)}{blocker.detail}"
    subject = _needs(blocker, blocker.resource)
    match blocker.reason:
        case Reason.QUOTA_EXCEEDED:
            return f"{subject}, more than is free of its quota"
        case Reason.PARENT_QUEUE_LIMIT:
            return f"{subject}, more than is free of its quota and what it may borrow (limited at {blocker.at})"
        case Reason.QUEUE_LIMIT:
            return f"{subject}, more than is free of the limit of {blocker.at}"
        case Reason.USER_LIMIT:
            return f"{subject}, more than is free for {_user(blocker)} of what {blocker.at} gives each user"
        case Reason.NO_CAPACITY:
            return f"{subject}, more than is {blocker.detail or 'free of its capacity'}"
        case _:
            # of what the specs give in all, which changes with these alone
            return f"{subject}, {blocker.detail} ({format_amount(blocker.resource, max(0, blocker.free))})"
