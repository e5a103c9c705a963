"""Whose ends would let a workload in: of those who hold what it waits for, the least that is enough."""

from __future__ import annotations

from collections.abc import Sequence

from controller.core.workloads.decisions import Blocker, Wait
from controller.visibility.changes.waiting import Ends
from controller.visibility.editing import Case
from controller.visibility.holders import Holder
from controller.visibility.trials import Remedy, Trials

_MOST_TRIES = 8


def first_that_end(trials: Trials, case: Case, blocker: Blocker, found: Sequence[Holder]) -> Remedy | None:
    """Return the end of the first of these, in their order, that is enough for a workload; None: none of them is.

    Those before it in the queue take what comes free: after the first try in vain, what all of them ask for has to come
    free too, and after each other one what a decision says is still lacking. No Job gets more pods for its own end.
    """
    job = case.snapshot.running.pods[case.workload.pods[0]].of
    if job:
        found = [one for one in found if one.pod.owner is None or one.pod.owner.uid != job]
    count, lacking = 0, _lacking(blocker)
    for step in range(_MOST_TRIES):
        count = _enough(found, count, lacking)
        if count > len(found):
            return None
        change = _ends(found, count)
        verdict = trials.verdict(change.apply(case))
        if verdict.wait is None:
            return Remedy((change,), verdict)
        lacking = _still_lacking(blocker, verdict.wait)
        if step == 0 and lacking:
            lacking += trials.before[blocker.resource or ""]
    return None


def first_that_goes(trials: Trials, case: Case, going: Sequence[Ends]) -> Remedy | None:
    """Return the first of these, each of which has what the one before it has, that is enough for a workload."""
    for change in (*going[: _MOST_TRIES - 1], *going[-1:]):
        verdict = trials.verdict(change.apply(case))
        if verdict.wait is None:
            return Remedy((change,), verdict)
    return None


def _enough(found: Sequence[Holder], count: int, lacking: int) -> int:
    """Return how many have to end so that this much more comes free than when so many do; one more at least.

    More than there are: all of them are too few.
    """
    freed = 0
    for number in range(count, len(found)):
        freed += found[number].amount
        if freed >= lacking:
            return number + 1
    return len(found) + 1


def _ends(found: Sequence[Holder], count: int) -> Ends:
    ending = found[:count]
    return Ends(tuple(one.pod.uid for one in ending), tuple(one.pod.key for one in reversed(ending)), ending[-1].at)


def _lacking(blocker: Blocker) -> int:
    return max(1, blocker.need - blocker.free) if blocker.resource else 0


def _still_lacking(blocker: Blocker, wait: Wait) -> int:
    """Return what of the same is short still; 0: something else is, of which nobody knows who holds how much."""
    same = (one for one in wait.blockers if (one.flavor, one.resource) == (blocker.flavor, blocker.resource))
    return max(map(_lacking, same), default=0)
