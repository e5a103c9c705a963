"""Who of other queues gives way to a claim in an attempt: in order, each as far as its queue still borrows then.

All who preempt from one place of a tree meet the same. So it is worked out for the first of them, and for those after
it until something moves in the tree.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from controller.core.preemption.attempts import Attempt, Need, Yield
from controller.core.preemption.eligibility import Claim
from controller.core.preemption.offers import is_over
from controller.core.queueing.preemption_policy import Reclaim
from controller.core.quota.falling_usage import FallingUsage
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.world.candidates import Candidate
from controller.core.world.offer import Line, Offer, held


def giving_way(
    need: Need, attempt: Attempt, *, tree: QuotaTree, above: tuple[str, ...], usage: TreeUsage, away: Container[str]
) -> Iterator[Candidate]:
    """Yield whom of others to take away next, each as if those before were away.

    It does not matter to these who of the claim's own queue is away. `above` are the queues to which that one is near.
    `usage` is what is used without those who are `away` already, and must be so while these are asked for.
    """
    if need.offer is None:
        return
    line, at = line_of(need, attempt, need.offer, tree, above, usage, away), 0
    while at < len(line.known) or _goes_on(line):
        one = line.known[at]
        if one.queue != need.claim.queue.name:
            yield one
        at += 1


def line_of(
    need: Need,
    attempt: Attempt,
    offer: Offer,
    tree: QuotaTree,
    above: tuple[str, ...],
    usage: TreeUsage,
    away: Container[str],
) -> Line[Candidate]:
    """Return them as they are known by now, some of the claim's own queue among them."""
    claim = need.claim
    if offer.usage is not None:
        usage, away = offer.usage, frozenset()  # nothing in this tree moved
    key = (id(usage), above, attempt, *_asked_by(claim, attempt))
    line = offer.lines.get(key)
    if line is None:
        left = FallingUsage(tree, offer.columns, usage, offer.rows.setdefault(id(usage), {}))
        line = offer.lines[key] = Line([], _in_turn(offer, claim, attempt, tree, above, left, away))
    return line


def _gives_way(claim: Claim, attempt: Attempt, one: Candidate, now: float) -> bool:
    """Say whether one of another queue goes for a claim in an attempt, if its queue borrows."""
    if attempt.spares_refused and one.was_refused:
        return False
    if one.is_going or one.queue in attempt.first:
        return True
    if attempt.yields is not Yield.MILD:
        return attempt.yields is Yield.ALL
    policy = claim.queue.preemption
    is_lower = one.priority < claim.priority and (policy.threshold is None or one.priority <= policy.threshold)
    return policy.borrows and is_lower and now >= one.quiet_for_borrowers


def _goes_on(line: Line[Candidate]) -> bool:
    one = next(line.rest, None)
    if one is not None:
        line.known.append(one)
    return one is not None


def _in_turn(
    offer: Offer,
    claim: Claim,
    attempt: Attempt,
    tree: QuotaTree,
    above: tuple[str, ...],
    left: FallingUsage,
    away: Container[str],
) -> Iterator[Candidate]:
    """Yield them; what goes on when a later decision asks for more does not keep an earlier one's ledger."""
    closed = set[str]()
    for one in _asked_for(offer, claim, attempt):
        # who goes anyway loses nothing by it, whatever its queue owns, and those come first; what a queue uses only
        # falls while others are taken away, so one that does not borrow now will not again
        if one.queue in closed:
            continue
        if one.is_going or is_over(tree.path(one.queue), above, left.borrows):
            yield one
            left.take(one.queue, held(one, offer.columns, away))
        else:
            closed.add(one.queue)


def _asked_for(offer: Offer, claim: Claim, attempt: Attempt) -> Iterator[Candidate]:
    is_going_alone = attempt.takes_going or attempt.yields is Yield.GOING
    for is_going in (True,) if is_going_alone else (True, False):
        for is_first in (True, False) if attempt.first else (False,):
            for one in (one for _, one in offer.going) if is_going else offer.staying():
                if (one.queue in attempt.first) is is_first:
                    offer.compared += 1
                    if claim.reclaims(one) and _gives_way(claim, attempt, one, offer.now):
                        yield one


def _asked_by(claim: Claim, attempt: Attempt) -> tuple[object, ...]:
    """Return all of a claim that `_gives_way` and `Claim.reclaims` ask for."""
    policy = claim.queue.preemption
    is_mild = policy.borrows and attempt.yields is Yield.MILD
    is_ranked = is_mild or policy.reclaim is Reclaim.LOWER_PRIORITY
    return policy, claim.priority if is_ranked else None
