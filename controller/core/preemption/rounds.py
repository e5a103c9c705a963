"""How often in a row a place may change hands by preemption: what makes rounds of preemptors end.

Policies may contradict each other: the share of one queue, the quota of a second and the priority of a third may each
take back what the one before took. So who is admitted in place of preempted pods carries how many preemptions in a row
led there, and from some number on it is left in peace for a while. No state of the controller is needed, and no order
of queues.

Why this ends: a preemption among queues puts a pod with a higher number in the place of pods with lower ones, and
nothing else takes these away; so of the pods, counted by their number from the highest down, the counts only go up.
Preemption within a queue raises the number likewise, and goes on at the highest: it follows priority and age, which
have an end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.core.workloads.pods import Pod

BORROWERS: Final = 3
"""After so many a pod is not preempted by queues that would borrow, for as long as it has not run for `LONG`."""
OWNERS: Final = 6
"""After so many not by queues that take back their own quota either, for as long."""
LONG: Final = 3600.0
"""Seconds. Who has been admitted for so long may be preempted again, and does not pass on its number: in weeks a place
changes hands for good reasons, and services, which never end, would be left in peace for ever."""


def led_to(victims: Iterable[Pod], now: float) -> int:
    """Return the number of who is admitted in place of these, at most `OWNERS`."""
    return min(OWNERS, 1 + max((pod.preemptions for pod in victims if now - pod.admitted_at < LONG), default=0))


def quiet_until(pod: Pod, *, borrows: bool) -> float:
    """Return until when, epoch seconds, no other queue may preempt a pod, or none that would borrow; 0: any may."""
    return pod.admitted_at + LONG if pod.preemptions >= (BORROWERS if borrows else OWNERS) else 0.0
