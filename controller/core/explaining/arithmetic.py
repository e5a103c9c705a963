"""The figures behind a Wait as they are now: whose quota is short, who holds it, and who is before a workload.

Worked out when somebody asks, not by the decision: they change with every pod, and few are ever read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller.core.queueing.past_usage import PastUsage, Share
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.workloads.decisions import Blocker, Wait
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass
from controller.core.world.settled import contested


@dataclass(frozen=True, slots=True)
class Held:
    """What cluster queue `at` has of a resource, and uses; amounts in the resource's unit.

    `flavor` empty: of all flavors, by its limit. `borrowers` are the queues of its tree that use more than their own
    quota, and by how much, the largest first. `may_borrow`: where it borrows, how much it may at most; None: no limit.
    """

    at: str
    flavor: str
    resource: str
    quota: int
    used: int
    borrowers: tuple[tuple[str, int], ...] = ()
    may_borrow: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """How many wait in the cluster queue, and how many of them before the workload."""

    queue: str
    before: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The shortage whose end helps first, and the workload's place.

    `is_alone`: its queue may preempt, and that would not make room for it.
    """

    held: Held | None
    place: Place
    is_alone: bool = False


def arithmetic(
    wait: Wait, tree: QuotaTree, usage: TreeUsage, place: Place, *, may_preempt: bool = False
) -> Arithmetic | None:
    """Return the figures behind a Wait; None where no change of figures would end it.

    `may_preempt`: the policy of its queue lets some go. Those who wait all the same found nobody who would help.
    """
    if wait.reason is Reason.PRIORITY:
        return Arithmetic(None, place)
    if not wait.blockers or wait.reason is Reason.NEVER_FITS:
        return None
    short = next((one for one in wait.blockers if one.reason is wait.reason), None)
    is_asked = bool(contested(wait)) and not wait.is_put_off and wait.reason is not Reason.USER_LIMIT
    return Arithmetic(None if short is None else _held(short, tree, usage), place, is_alone=may_preempt and is_asked)


def place_of(
    workload: Workload,
    queue: str,
    runs: Iterable[Sequence[Workload]],
    past: Mapping[QueueKey, PastUsage] | None = None,
) -> Place:
    """Return the place of a workload among all that wait in its cluster queue, class by class in order.

    `past` orders those of one priority, where the queue's tree counts past usage.
    """
    before, waiting, used = 0, 0, past or {}
    own = _past(used, workload.kind)
    for run in runs:
        waiting += len(run)
        theirs = _past(used, run[0].kind) if own is not None else None
        if own is None or theirs is None or own == theirs:
            before += bisect_left(run, workload.order, key=lambda one: one.order)
        else:
            least = workload.order[0] if own < theirs else workload.order[0] + 1
            before += bisect_left(run, least, key=lambda one: one.order[0])
    return Place(queue, before, waiting)


def _past(used: Mapping[QueueKey, PastUsage], kind: WorkloadClass) -> tuple[Share, Share] | None:
    past = used.get(kind.queue)
    return None if past is None else (past.share(), past.share_of(kind.user))


def _held(short: Blocker, tree: QuotaTree, usage: TreeUsage) -> Held | None:
    if short.reason not in QUOTA_REASONS or short.reason is Reason.USER_LIMIT or short.resource is None:
        return None
    used = usage.used(short.at, short.flavor, short.resource)
    if not short.flavor:
        return Held(short.at, "", short.resource, tree.limits(short.at).get(short.resource, 0), used)
    column = (short.flavor, short.resource)
    cell = tree.cell(short.at, column)
    if cell is None:
        return None
    borrowers = []
    for name in tree.relatives(short.at) if short.reason is Reason.PARENT_QUEUE_LIMIT else ():
        own = None if tree.children(name) else tree.cell(name, column)
        beyond = 0 if own is None else usage.used(name, *column) - own.subtree
        if beyond > 0:
            borrowers.append((name, beyond))
    borrowers.sort(key=lambda one: (-one[1], one[0]))
    may_borrow = cell.borrowing_limit if used > cell.subtree else None
    return Held(short.at, *column, cell.subtree, used, tuple(borrowers), may_borrow)
