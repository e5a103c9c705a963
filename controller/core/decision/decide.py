"""The decision: which workloads to admit now, onto which flavors, and what to evict. Pure: same snapshot, same plan.

It remembers nothing of earlier decisions (docs/adr/0002). It tests at once which classes may fit, before it tries any,
and again after several tries in vain (`feasibility`). It tries a class that cannot fit only where something else may
follow: others may be preempted for it, it may get a booking, it blocks its queue, or somebody asks why it waits.

Each cluster queue is a line with one head, the first of its classes' heads. Of all heads the first in the order of
workloads goes next, whether it has to borrow or not (but for `owners`); then its line's next head takes part. Within
one decision quota and room only shrink, so what is blocked stays blocked: each class has to fail only once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from controller.core.backfill.easy import Backfill
from controller.core.decision.admission_checks import AdmissionChecks, held
from controller.core.decision.admissions import Admissions
from controller.core.decision.further_lines import FurtherLines
from controller.core.decision.held_nodes import HeldNodes
from controller.core.decision.kept_places import MembersMadeAnew
from controller.core.decision.owners import Line, Owners
from controller.core.decision.placing import Placing
from controller.core.decision.runs import Runs
from controller.core.decision.selection import Selection
from controller.core.decision.stretches import Ahead, Stretches
from controller.core.decision.waits import Waits, behind_head
from controller.core.eviction_rules.rules import evictions
from controller.core.feasibility.feasible import FeasibilityIndex, index_of
from controller.core.fitting.placement import Placements
from controller.core.ledgers.ledger import Ledger
from controller.core.preemption.preempting import Preempting
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.quota.user_limits import UserUsage
from controller.core.reasons import HOLDS_UP_NOBODY
from controller.core.snapshot import Snapshot
from controller.core.turns.fair_turns import FairTurns
from controller.core.turns.heads import Head, Heads
from controller.core.turns.nominations import Nominee, Takes, Turn
from controller.core.turns.nominees import as_nominated, placed_head, preempting_head, taken_by, taken_in_stretch
from controller.core.workloads.decisions import Plan, Wait
from controller.core.workloads.workload import Workload, WorkloadClass


def decide(snapshot: Snapshot, *, limit: int, index: FeasibilityIndex | None = None) -> Plan:
    """Admit as many workloads as quota and room allow, first in order first, at most `limit` of them.

    `index` is of this snapshot, kept up as that changed; None: it is built where it is needed.
    """
    if index is None and snapshot.waiting.asked is not None:
        index = index_of(snapshot)
    return _Decision(snapshot, index, limit).run()


class _Decision:
    """The state of one decision, from its snapshot to its plan."""

    def __init__(self, snapshot: Snapshot, index: FeasibilityIndex | None, limit: int) -> None:
        self._snapshot = snapshot
        self._limit = limit
        self._ledger = ledger = Ledger(snapshot)
        self._users = UserUsage(snapshot.queues.tree, snapshot.usage.by_user)
        self._lines: dict[str, Line] = {}
        self._turns: list[Turn] = []
        self._waits = Waits()
        self._checks = AdmissionChecks(snapshot, self._waits, None if index is None else index.closed)
        forecast = snapshot.running.forecast
        self._backfill = None if forecast is None else Backfill(snapshot, forecast, ledger)
        self._admitted = Admissions(snapshot, self._users, self._backfill)
        self._preempting = Preempting(snapshot, ledger)
        self._placing = Placing(snapshot, ledger, self._users, self._backfill, self._preempting)
        self._heads = Heads(snapshot)
        self._runs = Runs(snapshot, self._heads)
        self._owners = Owners(snapshot, ledger, self._placing, self._preempting, self._heads, self._lines)
        self._held_nodes = HeldNodes(snapshot.waiting.preemptors, snapshot.waiting.held)
        fair = FairTurns(snapshot, ledger, self._nominate, self._earliest)
        self._fair = fair if snapshot.queues.tree.fair_roots else None
        self._index = index
        self._selection = Selection(snapshot, index, ledger, self._backfill, self._preempting)
        self._stretches = Stretches(
            snapshot, self._placing, self._owners, self._heads, self._admitted, self._users, self._fair, limit=limit
        )
        self._further = FurtherLines(snapshot, self._selection, self._checks, self._runs)
        self._to_book: Iterator[str] = iter(())
        self._last_to_book: str | None = None
        """The queue that came up last of those only whose reservation is asked for."""
        self._held_up: set[str] = set()
        """StrictFIFO queues whose head waits, and everything behind it."""

    def run(self) -> Plan:
        anew = MembersMadeAnew(self._snapshot, self._ledger, self._checks, self._placing, self._admitted)
        for kind, uids in anew.let_in(self._is_over).items():
            self._runs.leave_out(kind, uids)
        begun = self._begun()
        self._line_up(begun)
        if not self._resume_preemptors():
            return self._plan(is_complete=False)
        self._open_lines(begun)
        self._begin()
        while self._turns:
            if not self._take_turn(heappop(self._turns)):
                return self._plan(is_complete=False)
        return self._plan(is_complete=True)

    def _open_lines(self, begun: Collection[WorkloadClass]) -> None:
        """Line up all that is to be looked at, but for those who have begun to preempt: they had their turn."""
        selected = self._selection.open()
        self._line_up(kind for kind in selected if kind not in begun)
        if self._index is not None and self._snapshot.waiting.asked is not None:
            self._further.open(self._index, {*begun, *selected}, self._lines)
            for queue in self._further.at_once:
                self._line_up(self._further.first(queue))

    def _take_turn(self, turn: Turn) -> bool:
        """Let the head of a line have its turn; say whether the decision goes on."""
        name = turn[-1] if self._fair is None else self._fair.line_of(turn)
        if name is None:
            return True
        if name == self._last_to_book:
            self._activate_next_to_book()
        if self._is_over(self._lines[name][1][0][-1]):
            return False
        if self._is_passed_by(name):
            self._requeue_line(name, None)
            return True
        name, found = self._owner_first(name, turn)
        if self._is_over(self._lines[name][1][0][-1]):
            return False
        self._requeue_line(name, self._take(name, found))
        if self._admitted.frees_room:
            return False
        self._test_again()
        return True

    # -- who takes part ----------------------------------------------------------------------------------------------

    def _begun(self) -> dict[WorkloadClass, None]:
        """Return the classes of those who have begun to preempt."""
        begun, runs = self._snapshot.waiting.preemptors, self._snapshot.waiting.runs
        return {kind: None for kind, run in runs.items() if any(one.uid in begun for one in run)} if begun else {}

    def _line_up(self, kinds: Iterable[WorkloadClass]) -> None:
        for kind in kinds:
            queue, head = self._checks.enter(kind), self._runs.head(kind)
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
        found = self._placing.find(queue, workload)
        is_others = not isinstance(found, Wait) and self._held_nodes.are_for_others(workload.uid, found)
        return None if is_others else found

    # -- turns -------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        fair, to_book = self._fair, self._further.only_to_book
        plain = [name for name in self._lines if fair is None or not fair.has(name)]
        self._turns = [self._heads.turn(name, self._lines[name][1][0]) for name in self._activate(plain)]
        if fair is not None:
            self._turns += fair.enter(filter(fair.has, (*self._lines, *to_book)), self._activate)
        heapify(self._turns)
        alone = [name for name in to_book if fair is None or not fair.has(name)]
        self._to_book = iter(sorted(alone, key=self._further_turn))
        self._activate_next_to_book()

    def _further_turn(self, name: str) -> Turn:
        return self._heads.turn(name, self._heads.of(self._runs.of(self._further.peek(name)), 0))

    def _activate_next_to_book(self) -> None:
        """Let the next queue come up whose first may have a reservation: those before it had theirs, or need none."""
        self._last_to_book = None
        while self._last_to_book is None and self._backfill is not None and not self._backfill.is_full:
            name = next(self._to_book, None)
            if name is None:
                return
            self._line_up(self._further.first(name))
            for up in self._activate([name]):
                heappush(self._turns, self._heads.turn(up, self._lines[up][1][0]))
                self._last_to_book = up

    def _activate(self, lines: Sequence[str]) -> list[str]:
        if self._backfill is not None and not self._backfill.is_full:
            self._line_up([kind for name in lines for kind in self._further.first(name)])
        up = [name for name in lines if name in self._lines and self._lines[name][1]]
        for name in up:
            heapify(self._lines[name][1])
        return up

    def _earliest(self, name: str) -> Turn | None:
        return self._heads.earliest(name, self._lines[name][1])

    def _requeue_line(self, name: str, taken: Takes | None) -> None:
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
        *_, index, kind = heads[0]
        if not self._owners.others_waiting(name):
            return name, None
        found = self._placing.find(queue, self._runs.of(kind)[index])
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
        workload, turn = self._runs.of(kind)[index], self._heads.turn(name, heads[0])
        if self._is_passed_by(name):
            return None
        found = self._placing.find(queue, workload)
        if not isinstance(found, Wait):
            return placed_head(self._snapshot.queues.tree, self._ledger, queue, turn, kind, found)
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
        return done >= self._limit or (done > 0 and done + kind.patches > self._limit)

    def _plan(self, *, is_complete: bool) -> Plan:
        evicts, by = evictions(self._snapshot, self._preempting.end()), self._preempting
        self._stretches.end()
        self._fair = None  # it refers back to this, and such a circle would stay in memory for long (`runtime/garbage`)
        return Plan(tuple(self._admitted.made), self._waits.of, is_complete, evicts, by.preemptors, by.held)

    # -- a turn ------------------------------------------------------------------------------------------------------

    def _is_passed_by(self, name: str) -> bool:
        """Let the head of a line go without a look at it where that cannot fit, and say whether it did."""
        queue, heads = self._lines[name]
        *_, index, kind = heads[0]
        if not self._selection.is_closed(queue, self._runs.of(kind)[index]):
            return False
        heappop(heads)
        self._bring_up_next(queue, heads, kind)
        return True

    def _take(self, name: str, found: Placements | Wait | None = None) -> Takes | None:
        """Let the head of a line be admitted, or wait with all of its class; say what is taken, where that matters.

        `found` is what a look at it said, if there was one just now. Who preempts holds up a strict queue.
        """
        queue, heads = self._lines[name]
        *_, index, kind = head = heappop(heads)
        self._bring_up_next(queue, heads, kind)
        run = self._runs.of(kind)
        found = found or self._as_nominated(queue, kind) or self._placing.find(queue, run[index])
        if isinstance(found, Wait):
            preempts = self._wait(run[index], queue, found)
            taken = taken_by(kind, self._preempting.placed[run[index].uid]) if preempts and self._fair else None
            if queue.strategy is QueueingStrategy.STRICT_FIFO and (preempts or found.reason not in HOLDS_UP_NOBODY):
                self._close(queue, heads, kind)
            elif preempts and index + 1 < len(run):
                heappush(heads, self._heads.of(run, index + 1))
            return taken
        self._selection.in_vain = 0
        self._admitted.admit(run[index], queue, found, self._placing.left(queue, kind))
        self._use(heads, kind)
        # who else has begun may stand in another line
        alone = self._heads.has_begun(head)
        nodes = [] if alone else self._stretches.admit(queue, run, index + 1, found[0], Ahead(heads, self._turns))
        index += 1 + len(nodes)
        if index < len(run):
            heappush(heads, self._heads.of(run, index))
        if self._fair is None:
            return None
        return taken_in_stretch(kind, found[0], nodes) if nodes else taken_by(kind, found)

    def _bring_up_next(self, queue: ClusterQueue, heads: list[Head], kind: WorkloadClass) -> None:
        """Let the next of a queue come up behind a class that has its turn, where more may come of a look at it."""
        if self._further.is_latest(queue.name, kind) and self._selection.may_hear_more(queue):
            self._line_up(self._further.next(queue.name))
            heapify(heads)

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
        if workload.uid in self._preempting.put_off:
            found = replace(found, is_put_off=True)
        if self._backfill is not None:
            found = self._backfill.book(queue, workload, found)
        self._waits.tell(kind, found)
        self._selection.in_vain += 1
        return False

    def _test_again(self) -> None:
        """Test again what may fit, where that is due; who cannot has no turn any more. Trees with shares stay."""
        if not self._selection.refresh():
            return
        fair, plain = self._fair, list[str]()
        for name, (queue, heads) in self._lines.items():
            if heads and not (fair is not None and fair.has(name)):
                heads[:] = [head for head in heads if self._selection.stays(queue, head[-1])]
                heapify(heads)
                plain += [name] if heads else []
        trees = [turn for turn in self._turns if fair is not None and turn[-1] in self._snapshot.queues.tree.fair_roots]
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
