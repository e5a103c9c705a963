"""The one decision: who is admitted now, onto what, and why the others wait. Pure: same snapshot, same plan.

Each cluster queue is a line with one head, the first of its classes' heads. Of all heads the first in the order of
workloads goes next, whether it has to borrow or not (but for `owners`); then its line's next head takes part.

Within one decision quota and room only shrink, so what was blocked once stays blocked: each class of workloads has to
fail only once, whatever its length. Cost follows classes and admissions, not waiting pods.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush

from controller.core.backfill.easy import Backfill
from controller.core.backfill.standbys import Standbys
from controller.core.decision.admissions import Admissions
from controller.core.decision.doors import Entrances, held
from controller.core.decision.held_nodes import HeldNodes
from controller.core.decision.kept_places import MembersMadeAnew
from controller.core.decision.owners import Line, Owners
from controller.core.decision.placing import Placing
from controller.core.decision.runs import Runs
from controller.core.decision.waits import Waits, behind_head
from controller.core.evictions.rules import evictions
from controller.core.fitting.mixing import rests_on_mix
from controller.core.fitting.placement import Placement, Placements, brought_up_to_date
from controller.core.fitting.shortages import rests_on_other_nodes
from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.looked_at import looked_at
from controller.core.preemption.preempting import Preempting
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.quota.user_limits import UserUsage
from controller.core.reasons import HOLDS_UP_NOBODY, Reason
from controller.core.turns.fair_turns import FairTurns
from controller.core.turns.heads import Head, Heads
from controller.core.turns.nominations import Nominee, Takes, Turn
from controller.core.turns.nominees import as_nominated, placed_head, preempting_head, taken_by, taken_in_stretch
from controller.core.workloads.decisions import Plan, Wait
from controller.core.workloads.workload import Workload, WorkloadClass
from controller.core.world.snapshot import Snapshot


def decide(snapshot: Snapshot, *, limit: int) -> Plan:
    """Admit as many workloads as quota and room allow, first in order first, at most `limit` of them."""
    return _Decision(snapshot, limit).run()


class _Decision:
    """The state of one decision, from its snapshot to its plan."""

    def __init__(self, snapshot: Snapshot, limit: int) -> None:
        self._snapshot = snapshot
        self._limit = limit
        self._ledger = Ledger(snapshot)
        self._users = UserUsage(snapshot.tree, snapshot.user_usage)
        self._lines: dict[str, Line] = {}
        self._turns: list[Turn] = []
        self._waits = Waits()
        self._entrances = Entrances(snapshot, self._waits)
        self._backfill = None if snapshot.forecast is None else Backfill(snapshot, snapshot.forecast, self._ledger)
        self._admitted = Admissions(snapshot, self._users, self._backfill)
        self._standbys: Standbys | None = None
        self._looked_at = looked_at(snapshot, self._ledger)
        self._preempting = Preempting(snapshot, self._ledger, self._looked_at)
        self._placing = Placing(snapshot, self._ledger, self._users, self._backfill, self._preempting)
        self._heads = Heads(snapshot)
        self._runs = Runs(snapshot, self._heads)
        self._owners = Owners(snapshot, self._ledger, self._placing, self._preempting, self._heads, self._lines)
        self._held_nodes = HeldNodes(snapshot.preemptors, snapshot.held)
        fair = FairTurns(snapshot, self._ledger, self._nominate, self._earliest)
        self._fair = fair if snapshot.tree.fair_roots else None

    def run(self) -> Plan:
        kinds = self._looked_at.kinds
        anew = MembersMadeAnew(self._snapshot, self._ledger, self._entrances, self._placing, self._admitted)
        for kind, uids in anew.let_in(self._is_over).items():
            self._runs.leave_out(kind, uids)
        self._line_up(kinds)
        if not self._let_begun_go_on():
            return self._plan(is_complete=False)
        others = {kind: None for kind in self._looked_at.stirred if not self._stays_settled(kind)}
        self._line_up(others)
        self._line_up(self._stand_by({**kinds, **others}))
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
        return self._plan(is_complete=True)

    def _owner_first(self, name: str, turn: Turn) -> tuple[str, Placements | Wait | None]:
        """Return the line that goes next, and what a look at its head said, if there was one.

        Who would only have to take it back again does not let a head borrow before it.
        """
        queue, (*_, index, kind) = self._lines[name][0], self._lines[name][1][0]
        if not self._owners.beside(name) or (self._standbys is not None and kind in self._standbys):
            return name, None
        found = self._placing.find(queue, self._runs.of(kind)[index], self._known(queue, kind))
        if isinstance(found, Wait):
            return name, found
        first = self._owners.first(name, kind, found, self._runs.of)
        if first != name:
            self._turns = [turn, *(one for one in self._turns if one[-1] != first)]
            heapify(self._turns)
        return first, found if first == name else None

    def _let_begun_go_on(self) -> bool:
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
        # those who have begun come before who was settled as long as that room was held
        return not self._admitted.frees_room

    def _found_in_turn(self, name: str) -> Placements | Wait | None:
        """Look at the head of a line; None: it would come in on what is held for others, who go before it then.

        It has room held of its own, and those who went for them would have gone for nothing.
        """
        queue, heads = self._lines[name]
        *_, index, kind = heads[0]
        workload = self._runs.of(kind)[index]
        found = self._placing.find(queue, workload, self._known(queue, kind))
        is_others = not isinstance(found, Wait) and self._held_nodes.are_for_others(workload.uid, found)
        return None if is_others else found

    def _stays_settled(self, kind: WorkloadClass) -> bool:
        """Whether nothing is new to a class but who may go, and nobody does who would help.

        Most that are stirred are so only because shares moved, and a line costs more than to see that. Who is admitted
        or begins to preempt in this decision stirs it for the next one.
        """
        queue = self._entrances.of(kind.queue)
        workload = self._snapshot.runs[kind][0]
        return not isinstance(queue, Wait) and self._preempting.is_in_vain(
            queue, workload, self._placing.left(queue, kind)
        )

    def _line_up(self, kinds: Iterable[WorkloadClass]) -> None:
        for kind in kinds:
            queue, head = self._entrances.enter(kind), self._runs.head(kind)
            if queue is not None and head is not None:
                self._lines.setdefault(queue.name, (queue, []))[1].append(head)
                self._owners.line_up(queue)

    def _earliest(self, name: str) -> Turn | None:
        return self._heads.earliest(name, self._lines[name][1])

    def _stand_by(self, found: Container[WorkloadClass]) -> list[WorkloadClass]:
        """Of the settled classes, those to look at because they may be the first of a Backfill queue."""
        if self._backfill is None or self._snapshot.settled is None:
            return []
        self._standbys = standbys = Standbys(self._snapshot, self._snapshot.settled, found)
        kinds = [kind for name in self._lines for kind in standbys.of(name)]
        if self._fair is not None:
            # where shares decide, who is behind by the order may be first: a tree's are up when it is looked at
            return kinds + [kind for name in standbys.queues if not self._fair.has(name) for kind in standbys.of(name)]
        for _ in range(self._backfill.depth):
            kinds += standbys.next_queue()
        return kinds

    def _bring_up(self, lines: Sequence[str]) -> list[str]:
        """Bring up those that only stand by while anybody may have a reservation; return which lines have a head."""
        if self._standbys is not None and self._backfill is not None and not self._backfill.is_full:
            self._line_up([kind for name in lines for kind in self._standbys.of(name)])
        up = [name for name in lines if name in self._lines and self._lines[name][1]]
        for name in up:
            heapify(self._lines[name][1])
        return up

    def _begin(self) -> None:
        fair = self._fair
        plain = [name for name in self._lines if fair is None or not fair.has(name)]
        self._turns = [self._heads.turn(name, self._lines[name][1][0]) for name in self._bring_up(plain)]
        if fair is not None:
            lines = (*self._lines, *(() if self._standbys is None else self._standbys.queues))
            self._turns += fair.enter(filter(fair.has, dict.fromkeys(lines)), self._bring_up)
        heapify(self._turns)

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

    def _is_over(self, kind: WorkloadClass) -> bool:
        """Whether the limit ends the decision before a workload of this class; a gang larger than it goes alone."""
        done = len(self._admitted.made)
        return done >= self._limit or (done > 0 and done + kind.size > self._limit)

    def _plan(self, *, is_complete: bool) -> Plan:
        evicts, by = evictions(self._snapshot, self._preempting.end()), self._preempting
        self._fair = None  # it refers back to this, and such a circle would stay in memory for long (`runtime/garbage`)
        return Plan(tuple(self._admitted.made), self._waits.of, is_complete, evicts, by.preemptors, by.held, by.beside)

    def _nominate(self, name: str) -> Nominee | None:
        """Let the head of a line wait that cannot go in, nor others would go for; else return it."""
        queue, heads = self._lines[name]
        if not heads:
            return None
        *_, index, kind = heads[0]
        if self._standbys is not None and kind in self._standbys:
            self._take(name)
            return None
        workload, turn = self._runs.of(kind)[index], self._heads.turn(name, heads[0])
        found = self._placing.find(queue, workload, self._known(queue, kind))
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

    def _known(self, queue: ClusterQueue, kind: WorkloadClass) -> Wait | None:
        """Return what is known of a class to which nothing is new but room that was freed, or who may go."""
        settled = self._snapshot.settled
        known = None if settled is None else settled.waits.get(kind)
        is_moved = queue.preemption.is_any and not self._looked_at.is_settled(kind)
        if known is None or queue.strategy is QueueingStrategy.STRICT_FIFO or kind.size > 1 or is_moved:
            return None
        # a mix may move within the decision, and then it is not freed room alone that lets others in
        is_mixed = queue.mix is not None and rests_on_mix(known)
        return None if is_mixed or rests_on_other_nodes(self._snapshot, kind, known) else known

    def _take(self, name: str, found: Placements | Wait | None = None) -> Takes | None:
        """Let the head of a line be admitted, or wait with all of its class; say what is taken, where that matters.

        `found` is what a look at it said, if there was one just now. Who preempts holds up a strict queue.
        """
        queue, heads = self._lines[name]
        head = heappop(heads)
        *_, index, kind = head
        run = self._runs.of(kind)
        if self._standbys is not None and kind in self._standbys:
            self._reserve(queue, heads, kind, self._standbys)
            return None
        known = self._known(queue, kind)
        nominated = None if found else self._as_nominated(queue, kind)
        found = found or nominated or self._placing.find(queue, run[index], known)
        goes_on, taken = True, None
        if isinstance(found, Wait):
            goes_on = self._wait(run[index], queue, known, found)
            if goes_on and self._fair is not None:
                taken = taken_by(kind, self._preempting.placed[run[index].uid])
            if queue.strategy is QueueingStrategy.STRICT_FIFO and (goes_on or found.reason not in HOLDS_UP_NOBODY):
                self._close(queue, heads, kind)
                return taken
            index += 1
        else:
            self._admitted.admit(run[index], queue, found, self._placing.left(queue, kind))
            self._use(heads, kind)
            only_freed = known is not None and nominated is None
            # who else has begun may stand in another line
            is_alone = self._heads.has_begun(head)
            nodes = [] if is_alone else self._admit_stretch(queue, run, index + 1, found[0], only_freed=only_freed)
            index += 1 + len(nodes)
            if self._fair is not None:
                taken = taken_in_stretch(kind, found[0], nodes) if nodes else taken_by(kind, found)
        if goes_on and index < len(run):
            heappush(heads, self._heads.of(run, index))
        return taken

    def _use(self, heads: list[Head], kind: WorkloadClass) -> None:
        """Let what was admitted count where past usage puts the others of its LocalQueue."""
        if self._heads.use(kind):
            heads[:] = [self._heads.of(self._runs.of(one), index) for *_, index, one in heads]
            heapify(heads)

    def _admit_stretch(
        self, queue: ClusterQueue, run: Sequence[Workload], index: int, first: Placement, *, only_freed: bool
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
            nodes = left.find_nodes(flavor, shape, count, only_freed=only_freed) if count else ()
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

    def _wait(self, workload: Workload, queue: ClusterQueue, known: Wait | None, found: Wait) -> bool:
        """Note why a class waits, unless just what was known is so still; say whether its next one may be looked at."""
        kind = workload.kind
        if known is not None and found.reason is not Reason.WOULD_DELAY:
            found = brought_up_to_date(known, found)
        preempting = self._preempting.make_room(queue, workload, found, self._placing.left(queue, kind))
        if workload.uid in self._preempting.put_off:
            found = replace(found, is_put_off=True)
        if preempting is None and self._backfill is not None:
            found = self._backfill.book(queue, workload, found)
        if preempting is not None:
            for one in kind.pod_sets:
                self._users.add(queue.name, one.shape.user, one.requests)  # held as its quota is
            self._waits.tell_preempting(kind, workload.uid, preempting)
        else:
            self._waits.tell(kind, found, known=known)
        return preempting is not None

    def _reserve(self, queue: ClusterQueue, heads: list[Head], kind: WorkloadClass, standbys: Standbys) -> None:
        """Reserve for the first of a settled class; where that is no use, let others come up that stand behind it."""
        settled, backfill, runs = self._snapshot.settled, self._backfill, self._snapshot.runs
        if settled is None or backfill is None or not backfill.may_book(queue):
            return
        wait = backfill.book(queue, runs[kind][0], self._placing.limited(queue, kind) or settled.waits[kind])
        if wait.booking is not None:
            self._waits.tell(kind, wait)
            return
        behind = standbys.behind(kind)
        if behind is not None:
            heappush(heads, self._heads.of(runs[behind], 0))
        # as many queues as there may be reservations have to be up, or one that is behind would come before the first
        for kinds in iter(standbys.next_queue, []) if self._fair is None else ():
            self._line_up(kinds)
            name = self._snapshot.local_queues[kinds[0].queue].cluster_queue
            if name in self._lines:
                heapify(self._lines[name][1])
                heappush(self._turns, self._heads.turn(name, self._lines[name][1][0]))
                return

    def _close(self, queue: ClusterQueue, heads: list[Head], first: WorkloadClass) -> None:
        """The head of a strict queue waits, of this class: so does everything behind it."""
        behind = behind_head(queue.name)
        for *_, kind in heads:
            self._waits.tell(kind, behind if kind.hold is None else held(kind.hold))
        heads.clear()
        self._waits.tell_behind(first, behind)
