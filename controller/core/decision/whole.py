"""The decision that remembers nothing of those before it (docs/adr/0002). The controller does not use it yet.

What may fit is tested for all classes at once, before anybody is looked at, and again where looks are in vain
(`feasibility`). Who cannot fit is looked at only where more than an admission may come of it: others may be preempted
for it, it may get a reservation, or it holds up its queue.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Final

from controller.core.backfill.easy import Backfill
from controller.core.decision.admissions import Admissions
from controller.core.decision.doors import Entrances, held
from controller.core.decision.held_nodes import HeldNodes
from controller.core.decision.kept_places import MembersMadeAnew
from controller.core.decision.owners import Line, Owners
from controller.core.decision.placing import Placing
from controller.core.decision.runs import Runs
from controller.core.decision.waits import Waits, behind_head
from controller.core.evictions.rules import evictions
from controller.core.feasibility.feasible import FeasibilityIndex, Feasible
from controller.core.fitting.placement import Placement, Placements
from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.looked_at import looked_at
from controller.core.preemption.preempting import Preempting
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.quota.user_limits import UserUsage
from controller.core.reasons import HOLDS_UP_NOBODY
from controller.core.turns.fair_turns import FairTurns
from controller.core.turns.heads import Head, Heads
from controller.core.turns.nominations import Nominee, Takes, Turn
from controller.core.turns.nominees import as_nominated, placed_head, preempting_head, taken_by, taken_in_stretch
from controller.core.workloads.decisions import Plan, Wait
from controller.core.workloads.workload import Workload, WorkloadClass
from controller.core.world.snapshot import Snapshot

_IN_VAIN: Final = 16
"""After so many looks in vain in a row, and not before, what may fit is tested again: it takes as long as a few."""


def decide_whole(snapshot: Snapshot, index: FeasibilityIndex, *, limit: int) -> Plan:
    """Admit as many workloads as quota and room allow, first in order first, at most `limit` of them.

    `index` is of this snapshot, which has nothing of earlier decisions. `Plan.waits` has who was looked at.
    """
    return _Decision(snapshot, index, limit).run()


class _Decision:
    """The state of one decision, from its snapshot to its plan."""

    def __init__(self, snapshot: Snapshot, index: FeasibilityIndex, limit: int) -> None:
        self._snapshot = snapshot
        self._limit = limit
        self._ledger = ledger = Ledger(snapshot)
        self._users = UserUsage(snapshot.tree, snapshot.user_usage)
        self._lines: dict[str, Line] = {}
        self._turns: list[Turn] = []
        self._waits = Waits()
        self._entrances = Entrances(snapshot, self._waits, index.closed)
        self._backfill = None if snapshot.forecast is None else Backfill(snapshot, snapshot.forecast, ledger)
        self._admitted = Admissions(snapshot, self._users, self._backfill)
        self._preempting = Preempting(snapshot, ledger, looked_at(snapshot, ledger))
        self._placing = Placing(snapshot, ledger, self._users, self._backfill, self._preempting)
        self._heads = Heads(snapshot)
        self._runs = Runs(snapshot, self._heads)
        self._owners = Owners(snapshot, ledger, self._placing, self._preempting, self._heads, self._lines)
        self._held_nodes = HeldNodes(snapshot.preemptors, snapshot.held)
        fair = FairTurns(snapshot, ledger, self._nominate, self._earliest)
        self._fair = fair if snapshot.tree.fair_roots else None
        self._index = index
        self._feasible: Feasible | None = None
        self._in_vain = self._charges = 0
        self._held_up: set[str] = set()
        """StrictFIFO queues whose head waits, and everything behind it."""

    def run(self) -> Plan:
        anew = MembersMadeAnew(self._snapshot, self._ledger, self._entrances, self._placing, self._admitted)
        for kind, uids in anew.let_in(self._is_over).items():
            self._runs.leave_out(kind, uids)
        begun = self._begun()
        self._line_up(begun)
        if not self._resume_preemptors():
            return self._plan(is_complete=False)
        self._feasible = Feasible(self._snapshot, self._index, self._ledger)
        self._line_up(kind for kind in self._candidates(self._feasible) if kind not in begun)
        self._begin()
        while self._turns:
            turn = heappop(self._turns)
            name = turn[-1] if self._fair is None else self._fair.line_of(turn)
            if name is None:
                continue
            name, found = self._owner_first(name, turn)
            if self._is_over(self._lines[name][1][0][-1]):
                return self._plan(is_complete=False)
            self._go_on(name, self._take(name, found))
            if self._admitted.frees_room:
                return self._plan(is_complete=False)
            self._test_again()
        return self._plan(is_complete=True)

    # -- who takes part ----------------------------------------------------------------------------------------------

    def _begun(self) -> dict[WorkloadClass, None]:
        """Return the classes of those who have begun to preempt."""
        begun, runs = self._snapshot.preemptors, self._snapshot.runs
        return {kind: None for kind, run in runs.items() if any(one.uid in begun for one in run)} if begun else {}

    def _candidates(self, feasible: Feasible) -> Iterable[WorkloadClass]:
        """Return the classes that may fit, and those of queues in which more may come of a look."""
        found = dict.fromkeys(feasible.classes)
        if self._backfill is None and not self._index.asked_anyway:
            return found
        queues, local = self._snapshot.cluster_queues, self._snapshot.local_queues
        hears_more = {name for name, queue in queues.items() if self._hears_more(queue)}
        others = (kind for kind in self._snapshot.runs if kind.queue in local)
        found.update((kind, None) for kind in others if local[kind.queue].cluster_queue in hears_more)
        return found

    def _hears_more(self, queue: ClusterQueue) -> bool:
        """Whether more than an admission may come of a look at the classes of a queue."""
        return queue.name in self._index.asked_anyway or self._holds_up_or_books(queue)

    def _holds_up_or_books(self, queue: ClusterQueue) -> bool:
        if queue.strategy is QueueingStrategy.STRICT_FIFO:
            return True
        return self._backfill is not None and self._backfill.may_book(queue)

    def _is_closed(self, queue: ClusterQueue, head: Head) -> bool:
        """Whether the head of a class cannot fit, and nothing else would come of a look at it."""
        *_, index, kind = head
        if self._feasible is None or kind in self._feasible.classes or self._holds_up_or_books(queue):
            return False
        if not queue.preemption.is_any:
            return True
        return not self._preempting.search.any_victims.may_be(queue, self._runs.of(kind)[index])

    def _line_up(self, kinds: Iterable[WorkloadClass]) -> None:
        for kind in kinds:
            queue, head = self._entrances.enter(kind), self._runs.head(kind)
            if queue is not None and queue.name in self._held_up:
                self._tell_behind(queue, kind)
            elif queue is not None and head is not None:
                self._lines.setdefault(queue.name, (queue, []))[1].append(head)
                self._owners.line_up(queue)

    def _resume_preemptors(self) -> bool:
        """Let those have their turn who have begun to preempt, one by one; say whether that did not end the decision.

        What others leave who go for them counts for all then, whenever in the decision they are looked at.
        """
        lines, behind = list[tuple[int, str]](), list[tuple[int, str]]()
        for name, (_, heads) in self._lines.items() if self._heads.is_any_begun else ():
            if any(map(self._heads.has_begun, heads)):
                heapify(heads)
                heappush(lines, (heads[0][0], name))
        for is_sparing in (True, False):
            while lines:
                turn = heappop(lines)
                heads = self._lines[turn[1]][1]
                if self._is_over(heads[0][-1]):
                    return False
                found = self._found_in_turn(turn[1]) if is_sparing else None
                if is_sparing and found is None:
                    heappush(behind, turn)
                    continue
                self._take(turn[1], found)
                if heads and self._heads.has_begun(heads[0]):
                    heappush(lines, (heads[0][0], turn[1]))
            lines = behind
        return not self._admitted.frees_room

    def _found_in_turn(self, name: str) -> Placements | Wait | None:
        """Look at the head of a line; None: it would come in on what is held for others, who go before it then."""
        queue, heads = self._lines[name]
        *_, index, kind = heads[0]
        workload = self._runs.of(kind)[index]
        found = self._placing.find(queue, workload, None)
        is_others = not isinstance(found, Wait) and self._held_nodes.are_for_others(workload.uid, found)
        return None if is_others else found

    # -- turns -------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        fair, up = self._fair, self._bring_up(list(self._lines))
        self._turns = [
            self._heads.turn(name, self._lines[name][1][0]) for name in up if fair is None or not fair.has(name)
        ]
        if fair is not None:
            self._turns += fair.enter(filter(fair.has, self._lines), self._bring_up)
        heapify(self._turns)

    def _bring_up(self, lines: Sequence[str]) -> list[str]:
        up = [name for name in lines if self._lines[name][1]]
        for name in up:
            heapify(self._lines[name][1])
        return up

    def _earliest(self, name: str) -> Turn | None:
        return self._heads.earliest(name, self._lines[name][1])

    def _go_on(self, name: str, taken: Takes | None) -> None:
        """Let the turns come up that follow a line's."""
        is_fair = self._fair is not None and self._fair.has(name)
        if self._lines[name][1] and not is_fair:
            heappush(self._turns, self._heads.turn(name, self._lines[name][1][0]))
        if self._fair is not None and (is_fair or taken is not None):
            heads = self._lines[name][1]
            head = (heads[0][-1], self._heads.turn(name, heads[0])) if heads else None
            for turn in self._fair.moved(name, taken or Takes({}), head):
                heappush(self._turns, turn)

    def _owner_first(self, name: str, turn: Turn) -> tuple[str, Placements | Wait | None]:
        """Return the line that goes next, and what a look at its head said, if there was one.

        Who would only have to take it back again does not let a head borrow before it.
        """
        queue, heads = self._lines[name]
        *_, index, kind = head = heads[0]
        if not self._owners.beside(name) or self._is_closed(queue, head):
            return name, None
        found = self._placing.find(queue, self._runs.of(kind)[index], None)
        if isinstance(found, Wait):
            return name, found
        first = self._owners.first(name, kind, found, self._runs.of)
        if first != name:
            self._turns = [turn, *(one for one in self._turns if one[-1] != first)]
            heapify(self._turns)
        return first, found if first == name else None

    def _nominate(self, name: str) -> Nominee | None:
        """Let the head of a line wait that cannot go in, nor others would go for; else return it."""
        queue, heads = self._lines[name]
        if not heads:
            return None
        *_, index, kind = heads[0]
        if self._is_closed(queue, heads[0]):
            self._take(name)
            return None
        workload, turn = self._runs.of(kind)[index], self._heads.turn(name, heads[0])
        found = self._placing.find(queue, workload, None)
        if not isinstance(found, Wait):
            return placed_head(self._snapshot.tree, self._ledger, queue, turn, kind, found)
        if (preempts := self._preempting.find(queue, workload, found, self._placing.left(queue, kind))) is not None:
            return preempting_head(turn, kind, preempts[2])
        self._take(name, found)
        return None

    def _as_nominated(self, queue: ClusterQueue, kind: WorkloadClass) -> Placements | None:
        nominee = None if self._fair is None else self._fair.nominee(queue.name)
        if nominee is None or self._placing.left(queue, kind) is not self._ledger:
            return None
        return as_nominated(self._ledger, nominee, kind)

    def _is_over(self, kind: WorkloadClass) -> bool:
        """Whether the limit ends the decision before a workload of this class; a gang larger than it goes alone."""
        done = len(self._admitted.made)
        return done >= self._limit or (done > 0 and done + kind.size > self._limit)

    def _plan(self, *, is_complete: bool) -> Plan:
        evicts, by = evictions(self._snapshot, self._preempting.end()), self._preempting
        self._fair = None  # it refers back to this, and such a circle would stay in memory for long (`runtime/garbage`)
        return Plan(tuple(self._admitted.made), self._waits.of, is_complete, evicts, by.preemptors, by.held)

    # -- a turn ------------------------------------------------------------------------------------------------------

    def _take(self, name: str, found: Placements | Wait | None = None) -> Takes | None:
        """Let the head of a line be admitted, or wait with all of its class; say what is taken, where that matters.

        `found` is what a look at it said, if there was one just now. Who preempts holds up a strict queue.
        """
        queue, heads = self._lines[name]
        *_, index, kind = head = heappop(heads)
        if found is None and self._is_closed(queue, head):
            return None
        run = self._runs.of(kind)
        found = found or self._as_nominated(queue, kind) or self._placing.find(queue, run[index], None)
        if isinstance(found, Wait):
            preempts = self._wait(run[index], queue, found)
            taken = taken_by(kind, self._preempting.placed[run[index].uid]) if preempts and self._fair else None
            if queue.strategy is QueueingStrategy.STRICT_FIFO and (preempts or found.reason not in HOLDS_UP_NOBODY):
                self._close(queue, heads, kind)
            elif preempts and index + 1 < len(run):
                heappush(heads, self._heads.of(run, index + 1))
            return taken
        self._in_vain = 0
        self._admitted.admit(run[index], queue, found, self._placing.left(queue, kind))
        self._use(heads, kind)
        # who else has begun may stand in another line
        nodes = [] if self._heads.has_begun(head) else self._admit_stretch(queue, run, index + 1, found[0])
        index += 1 + len(nodes)
        if index < len(run):
            heappush(heads, self._heads.of(run, index))
        if self._fair is None:
            return None
        return taken_in_stretch(kind, found[0], nodes) if nodes else taken_by(kind, found)

    def _use(self, heads: list[Head], kind: WorkloadClass) -> None:
        """Let what was admitted count where past usage puts the others of its LocalQueue."""
        if self._heads.use(kind):
            heads[:] = [self._heads.of(self._runs.of(one), index) for *_, index, one in heads]
            heapify(heads)

    def _wait(self, workload: Workload, queue: ClusterQueue, found: Wait) -> bool:
        """Note why a class waits; say whether others go for this one, so that its next one may be looked at."""
        kind = workload.kind
        preempting = self._preempting.make_room(queue, workload, found, self._placing.left(queue, kind))
        if preempting is not None:
            for one in kind.pod_sets:
                self._users.add(queue.name, one.shape.user, one.requests)  # held as its quota is
            self._waits.tell_preempting(kind, workload.uid, preempting)
            return True
        if self._backfill is not None:
            found = self._backfill.book(queue, workload, found)
        self._waits.tell(kind, found)
        self._in_vain += 1
        return False

    def _test_again(self) -> None:
        """Test again what may fit after enough looks in vain, unless nothing was taken since; others have no turn."""
        if self._in_vain < _IN_VAIN or self._feasible is None or self._charges == self._ledger.charges:
            return
        self._in_vain, self._charges = 0, self._ledger.charges
        self._feasible.refresh()
        fair = self._fair
        for name, (queue, heads) in self._lines.items():
            if heads and not self._hears_more(queue) and not (fair is not None and fair.has(name)):
                heads[:] = [head for head in heads if head[-1] in self._feasible.classes]
                heapify(heads)
        trees = [turn for turn in self._turns if fair is not None and turn[-1] in self._snapshot.tree.fair_roots]
        plain = [
            name for name, (_, heads) in self._lines.items() if heads and not (fair is not None and fair.has(name))
        ]
        self._turns = [*trees, *(self._heads.turn(name, self._lines[name][1][0]) for name in plain)]
        heapify(self._turns)

    def _close(self, queue: ClusterQueue, heads: list[Head], first: WorkloadClass) -> None:
        """The head of a strict queue waits, of this class: so does everything behind it."""
        self._held_up.add(queue.name)
        for *_, kind in heads:
            self._tell_behind(queue, kind)
        heads.clear()
        self._waits.tell_behind(first, behind_head(queue.name))

    def _tell_behind(self, queue: ClusterQueue, kind: WorkloadClass) -> None:
        self._waits.tell(kind, behind_head(queue.name) if kind.hold is None else held(kind.hold))

    # -- stretches ---------------------------------------------------------------------------------------------------

    def _admit_stretch(
        self, queue: ClusterQueue, run: Sequence[Workload], index: int, first: Placement
    ) -> list[str | None]:
        """Admit those too that are next in the order anyway, where the one before them went; return their nodes.

        Jobs make many pods at once. The flavors before this one had nothing for the last one, so they have nothing for
        these. All else is left to the next turn.
        """
        kind, flavor = run[0].kind, first.flavor
        if not kind.is_free or not queue.takes_first_flavor or index == len(run) or self._is_touchy(queue, kind):
            return []
        if not self._is_next(queue.name, run, index):
            return []
        left, shape = self._placing.left(queue, kind), kind.pod_sets[0].shape
        most = min(self._limit - len(self._admitted.made), left.lasts_for(queue, flavor, shape.requests))
        most = min(most, self._owners.lasts(queue, flavor, shape.requests))
        ahead = self._heads.in_order(run, index, most)
        count = bisect_left(ahead, True, key=lambda at: not self._is_next(queue.name, run, at))
        if self._fair is not None:
            turns = partial(self._turn_at, queue.name, run, index)
            count = self._fair.lasts(queue.name, taken_by(kind, (first,)), count, turns)
        nodes: Sequence[str | None] = (None,) * count
        if not flavor.is_summed:
            nodes = left.find_nodes(flavor, shape, count) if count else ()
        if self._fair is not None:
            nodes = nodes[: self._fair.lasts_on((first.node, *nodes), shape.requests) - 1]
        # fewer nodes where room ends
        self._admitted.admit_alike(run[index : index + len(nodes)], queue, flavor, nodes, left)
        return list(nodes)

    def _is_touchy(self, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        """Whether an admission may change more for the next of its class than quota and room."""
        return self._users.is_limiting(queue.name) or kind.queue in self._snapshot.past_usage

    def _turn_at(self, name: str, run: Sequence[Workload], index: int, number: int) -> Turn:
        """Return the turn of a line once so many of a run's next workloads have gone."""
        return self._heads.turn(name, self._heads.of(run, index + number))

    def _is_next(self, name: str, run: Sequence[Workload], index: int) -> bool:
        """Whether a workload of the line that is looked at comes before all heads, its own line's and the others'."""
        head, heads = self._heads.of(run, index), self._lines[name][1]
        return not (heads and heads[0] < head) and not (self._turns and self._turns[0] < self._heads.turn(name, head))
