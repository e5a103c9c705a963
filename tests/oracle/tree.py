"""The quota tree of a small world: who owns, keeps, uses and may still have how much, worked out anew at each question.

The arithmetic is Kueue's as its documents have it. Nothing here is asked about a broken part of a tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.oracle.worlds import Amounts, Queue, World


@dataclass(frozen=True, slots=True)
class Placed:
    """Who takes what: quota of a queue in a flavor (neither for a stranger), and room on a node (None: on none).

    `name` is that of a pod that runs.
    """

    requests: Amounts
    queue: str
    flavor: str
    node: str | None
    name: str = ""


def path(world: World, queue: Queue) -> tuple[Queue, ...]:
    """The queue and those above it up to the root; empty where they come to no end, or to one that does not exist."""
    found: tuple[Queue, ...] = (queue,)
    while found[-1].parent:
        above = next((one for one in world.queues if one.name == found[-1].parent), None)
        if above is None or above in found:
            return ()
        found = (*found, above)
    return found


def children(world: World, queue: Queue) -> list[Queue]:
    """The queues directly below."""
    return [one for one in world.queues if one.parent == queue.name]


def everyone(world: World, queue: Queue) -> list[Queue]:
    """The queue and all below it."""
    return [queue, *(one for child in children(world, queue) for one in everyone(world, child))]


def height(world: World, queue: Queue) -> int:
    """How many levels are below."""
    return max((height(world, child) + 1 for child in children(world, queue)), default=0)


def limit_faults(world: World, placed: Iterable[Placed], queue: Queue, need: Amounts) -> set[str]:
    """Why `limits`, of the queue or of one above it, do not give `need`, of whichever flavor; empty: they do."""
    standing = list(placed)
    reasons = set()
    for one in path(world, queue):
        names = {other.name for other in everyone(world, one)}
        for resource, most in one.limits.items():
            amount = need.get(resource, 0)
            taken = sum(other.requests.get(resource, 0) for other in standing if other.queue in names)
            if amount > most:
                reasons.add("NeverFits")
            elif amount and amount + taken > most:
                reasons.add("QueueLimit")
    return {"NeverFits"} if "NeverFits" in reasons else reasons


@dataclass(frozen=True, slots=True)
class Column:
    """One resource of one flavor all over the tree, with what is placed."""

    world: World
    placed: tuple[Placed, ...]
    flavor: str
    resource: str

    def owned(self, queue: Queue) -> int:
        """What the queue and those below own together, less what those below keep for themselves."""
        nominal = dict(queue.quotas).get(self.flavor, {}).get(self.resource, 0)
        return nominal + sum(self.owned(one) - self.kept(one) for one in children(self.world, queue))

    def kept(self, queue: Queue) -> int:
        """What of that is not for lending."""
        lent = queue.lending.get((self.flavor, self.resource)) if queue.parent else None
        return 0 if lent is None else max(0, self.owned(queue) - lent)

    def used(self, queue: Queue) -> int:
        """What is charged to the queue, and of those below it whatever is beyond what they keep."""
        charged = 0
        if self._is_counted(queue):
            given = [one.requests for one in self.placed if (one.queue, one.flavor) == (queue.name, self.flavor)]
            charged = sum(requests.get(self.resource, 0) for requests in given)
        return charged + sum(max(0, self.used(one) - self.kept(one)) for one in children(self.world, queue))

    def _is_counted(self, queue: Queue) -> bool:
        """Pods are only counted where a quota for `pods` says so, the queue's or one's below it."""
        if self.resource != "pods":
            return True
        return any("pods" in dict(one.quotas).get(self.flavor, {}) for one in everyone(self.world, queue))

    def left(self, queue: Queue) -> int:
        """What the queue may still have."""
        if not queue.parent:
            return self.owned(queue) - self.used(queue)
        own, above = self.borrowable(queue), self.left(self._above(queue))
        return max(0, self.kept(queue) - self.used(queue)) + (above if own is None else min(own, above))

    def borrowable(self, queue: Queue) -> int | None:
        """What the queue's own quota, less what it keeps, and its borrowingLimit still allow together; None: all."""
        limit = queue.borrowing.get((self.flavor, self.resource))
        if limit is None:
            return None
        kept = self.kept(queue)
        return self.owned(queue) - kept + limit - max(0, self.used(queue) - kept)

    def shortage(self, queue: Queue) -> set[str]:
        """Whose fault it is that no more is left: of limit and tree the narrower; either, where they are the same."""
        own, above = self.borrowable(queue), self.left(self._above(queue)) if queue.parent else None
        if above is None or (own is not None and own < above):
            return {"QuotaExceeded"}
        return {"QuotaExceeded", "ParentQueueLimit"} if own == above else {"ParentQueueLimit"}

    def borrows(self, queue: Queue, amount: int) -> int:
        """How far up one more of `amount` borrows: to the lowest queue that, with it, uses no more than is owned there.

        0: not at all.
        """
        one = Placed({self.resource: amount}, queue.name, self.flavor, None)
        then = Column(self.world, (*self.placed, one), self.flavor, self.resource)
        way = path(self.world, queue)
        return height(self.world, next((one for one in way if then.used(one) <= then.owned(one)), way[-1]))

    def _above(self, queue: Queue) -> Queue:
        return path(self.world, queue)[1]
