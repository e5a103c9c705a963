"""In which order candidates of other queues are reclaimed for a claim, each only while its queue still borrows.

All preemptors at one place of a tree meet the same order. It is worked out for the first of them, and used by the
others until something changes in the tree.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from controller.core.candidates.candidate import Candidate
from controller.core.candidates.reclaimable import Line, ReclaimableCandidates, held
from controller.core.preemption.attempts import Attempt, Need, Yield
from controller.core.preemption.eligibility import Claim
from controller.core.preemption.reclaimable_index import is_over
from controller.core.queueing.preemption_policy import Reclaim
from controller.core.quota.falling_usage import FallingUsage
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage


def in_reclaim_order(
    need: Need, attempt: Attempt, *, tree: QuotaTree, above: tuple[str, ...], usage: TreeUsage, removed: Container[str]
) -> Iterator[Candidate]:
    """Yield the next candidate of another queue to remove, given that those before it are removed.

    Candidates of the claim's own queue make no difference to these. `above` are the queues to which that one is near.
    `usage` is what is used without those that are `removed` already, and must be so while these are asked for.
    """
    if need.reclaimable is None:
        return
    line, at = line_of(need, attempt, need.reclaimable, tree, above, usage, removed), 0
    while at < len(line.known) or _extend(line):
        one = line.known[at]
        if one.queue != need.claim.queue.name:
            yield one
        at += 1


def line_of(
    need: Need,
    attempt: Attempt,
    reclaimable: ReclaimableCandidates,
    tree: QuotaTree,
    above: tuple[str, ...],
    usage: TreeUsage,
    removed: Container[str],
) -> Line[Candidate]:
    """Return them as they are known by now, some of the claim's own queue among them."""
    claim = need.claim
    if reclaimable.usage is not None:
        usage, removed = reclaimable.usage, frozenset()  # nothing in this tree moved
    key = (id(usage), above, attempt, *_claim_key(claim, attempt))
    line = reclaimable.lines.get(key)
    if line is None:
        left = FallingUsage(tree, reclaimable.columns, usage, reclaimable.rows.setdefault(id(usage), {}))
        line = reclaimable.lines[key] = Line([], _in_order(reclaimable, claim, attempt, tree, above, left, removed))
    return line


def _may_be_reclaimed(claim: Claim, attempt: Attempt, one: Candidate, now: float) -> bool:
    """Say whether a candidate of another queue may be reclaimed in an attempt, if its queue borrows."""
    if attempt.spares_refused and one.was_refused:
        return False
    if one.is_going or one.queue in attempt.first:
        return True
    if attempt.yields is not Yield.MILD:
        return attempt.yields is Yield.ALL
    policy = claim.queue.preemption
    is_lower = one.priority < claim.priority and (policy.threshold is None or one.priority <= policy.threshold)
    return policy.borrows and is_lower and now >= one.quiet_for_borrowers


def _extend(line: Line[Candidate]) -> bool:
    one = next(line.rest, None)
    if one is not None:
        line.known.append(one)
    return one is not None


def _in_order(
    reclaimable: ReclaimableCandidates,
    claim: Claim,
    attempt: Attempt,
    tree: QuotaTree,
    above: tuple[str, ...],
    left: FallingUsage,
    removed: Container[str],
) -> Iterator[Candidate]:
    """Yield them; what goes on when a later decision asks for more does not keep an earlier one's ledger."""
    closed = set[str]()
    for one in _candidates_for(reclaimable, claim, attempt):
        # who goes anyway loses nothing by it, whatever its queue owns, and those come first; what a queue uses only
        # falls while others are removed, so one that does not borrow now will not again
        if one.queue in closed:
            continue
        if one.is_going or is_over(tree.path(one.queue), above, left.borrows):
            yield one
            left.take(one.queue, held(one, reclaimable.columns, removed))
        else:
            closed.add(one.queue)


def _candidates_for(reclaimable: ReclaimableCandidates, claim: Claim, attempt: Attempt) -> Iterator[Candidate]:
    is_going_alone = attempt.takes_going or attempt.yields is Yield.GOING
    for is_going in (True,) if is_going_alone else (True, False):
        for is_first in (True, False) if attempt.first else (False,):
            for one in (one for _, one in reclaimable.going) if is_going else reclaimable.staying():
                if (one.queue in attempt.first) is is_first:
                    reclaimable.compared += 1
                    if claim.reclaims(one) and _may_be_reclaimed(claim, attempt, one, reclaimable.now):
                        yield one


def _claim_key(claim: Claim, attempt: Attempt) -> tuple[object, ...]:
    """Return what `_may_be_reclaimed` and `Claim.reclaims` read of a claim."""
    policy = claim.queue.preemption
    is_mild = policy.borrows and attempt.yields is Yield.MILD
    is_ranked = is_mild or policy.reclaim is Reclaim.LOWER_PRIORITY
    return policy, claim.priority if is_ranked else None
