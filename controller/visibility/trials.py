"""Changes tried on a snapshot: what the one decision makes of a workload once they are made."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from controller.core.capacity.room import Room
from controller.core.decision.decide import decide
from controller.core.feasibility.amount_rows import AmountRows
from controller.core.feasibility.feasible import FeasibilityIndex, index_of, may_hear_more
from controller.core.reasons import Reason
from controller.core.snapshot import Memo, Snapshot
from controller.core.workloads.decisions import NOT_YET, Wait
from controller.visibility.changes.change import Change, Cost
from controller.visibility.editing import Case
from controller.visibility.lines import amounts_before, line, line_of

_MOST_STEPS = 16
"""So many shortages are put right one after the other before a way counts as none.

Two resources of a quota and room may all be short, each of them several times where others take what is added.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a decision makes of the workload: it is admitted (`wait` None), or it waits. `flavors`: where it goes.

    `evicts` are the uids of the pods that the decision evicts.
    """

    wait: Wait | None
    flavors: tuple[str, ...] = ()
    evicts: tuple[str, ...] = ()

    @property
    def reason(self) -> Reason | None:
        """Why it waits."""
        return None if self.wait is None else self.wait.reason


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes that belong together, and what the decision makes of the workload with all of them."""

    changes: tuple[Change, ...]
    verdict: Verdict

    @property
    def admits(self) -> bool:
        """Whether the workload is admitted then."""
        return self.verdict.wait is None

    @property
    def cost(self) -> Cost:
        """What the dearest of them takes."""
        return max(one.cost for one in self.changes)

    @property
    def text(self) -> str:
        """All of them, as one clause."""
        return " and ".join(one.text for one in self.changes)

    @property
    def pods(self) -> tuple[str, ...]:
        """Pods that have to end, namespace/name, the one first that the text names."""
        return tuple(pod for one in self.changes for pod in one.pods)

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that make them, where there are any."""
        return tuple(one.command for one in self.changes if one.command)


class Trials:
    """Decisions on cases that differ from one by what was changed in it."""

    def __init__(self, case: Case) -> None:
        self._base = case.snapshot
        self._index = index_of(case.snapshot)
        self.line = line(case.snapshot, line_of(case.snapshot.queues.local_queues, case.workload.kind.queue))
        """Who waits for the same ClusterQueue, in order."""
        self.before = amounts_before(self.line, case.workload.uid)
        """What those before the workload ask for, by resource."""

    def verdict(self, case: Case) -> Verdict:
        """Decide on a case, and return what becomes of its workload."""
        waiting = replace(case.snapshot.waiting, asked=(case.workload.kind,), preempts_in=None)
        asking = replace(case.snapshot, waiting=waiting, memo=Memo())
        plan = decide(asking, limit=sys.maxsize, index=self._index_for(case.snapshot))
        uids = frozenset(case.workload.pods)
        flavors = tuple(dict.fromkeys(one.flavor for one in plan.admits if one.uid in uids))
        if flavors:
            return Verdict(None, flavors)
        wait = plan.waits.get(case.workload.kind, NOT_YET).of(case.workload.uid)
        return Verdict(wait, evicts=tuple(one.pod.uid for one in plan.evicts))

    def _index_for(self, snapshot: Snapshot) -> FeasibilityIndex:
        """Return the index of a snapshot: that of the first with what is another now, where its rows are the same.

        To build it anew takes as long as the decision.
        """
        base, known = self._base, self._index
        is_alike = (
            snapshot.waiting.runs is base.waiting.runs
            and snapshot.nodes.index is base.nodes.index
            and snapshot.queues.local_queues is base.queues.local_queues
            and _given(snapshot) == _given(base)
        )
        amounts = AmountRows(snapshot.queues.tree, snapshot.queues.flavors) if is_alike else None
        if amounts is None or amounts.row_of != known.amounts.row_of:
            return index_of(snapshot)
        room = snapshot.nodes.room or Room(snapshot.nodes.index, snapshot.nodes.used)
        fitting, used, before = known.fitting.fork(room.free), snapshot.nodes.used, base.nodes.used
        fitting.update(node for node in snapshot.nodes.index.nodes if used.get(node) != before.get(node))
        may_hear = may_hear_more(snapshot.queues.cluster_queues)
        return FeasibilityIndex(amounts, fitting, known.classes, known.lines, may_hear)


def _given(snapshot: Snapshot) -> dict[str, list[tuple[str, frozenset[str]]]]:
    """Return which flavors and resources each queue gives: on that the rows of a class rest."""
    queues = snapshot.queues.cluster_queues.items()
    return {name: [(it.flavor, frozenset(it.nominal)) for it in one.flavors] for name, one in queues}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that may help, and the flavor that it is about; empty: all of them."""

    change: Change
    flavor: str = ""


Proposing = Callable[[Case, Verdict], Iterable[Proposal]]
"""What may help a workload of which a decision said this."""


def pursue(trials: Trials, case: Case, first: Proposal, found: Verdict, proposing: Proposing) -> Remedy:
    """Make a change, and then those that are still lacking in its flavor, until the workload is admitted.

    `found` is what a decision says without any of them. Where one change brings nothing new, the way ends there; the
    remedy then says what the workload waits for. A change of what it asks for comes before those of amounts: these are
    worked out anew behind it.
    """
    unchanged = found
    changes: dict[tuple[str, ...], Change] = {}
    tries: Counter[tuple[str, ...]] = Counter()
    proposal = first
    for _ in range(_MOST_STEPS):
        key, changed = proposal.change.key, proposal.change
        former = changes.get(key)
        changes[key] = changed if former is None else _more(trials, former, changed, tries[key])
        tries[key] += 1
        tried = applied(case, tuple(changes.values()))
        before, found = found, trials.verdict(tried)
        if found.wait is None or found == before:
            break
        further = [one for one in proposing(tried, found) if one.flavor in ("", first.flavor)]
        if not further or further[0].change.cost is Cost.WAITING:
            break
        proposal = _next(changes.values(), further)
        if proposal.change.is_of_requests:
            changes = {key: one for key, one in changes.items() if one.is_of_requests}
            tries.clear()
            found = unchanged
    needed = tuple(changes.values())
    return _without_needless(trials, case, Remedy(needed, found)) if found.wait is None else Remedy(needed, found)


def _next(changes: Collection[Change], further: Sequence[Proposal]) -> Proposal:
    """Return the cheapest that goes with these: who buys nodes buys such as have all that the workload asks for."""
    is_buying = any(one.cost is Cost.NODES for one in changes)
    fitting = (one for one in further if not (is_buying and one.change.is_of_requests))
    return next(fitting, further[0])


def _more(trials: Trials, former: Change, lacking: Change, tries: int) -> Change:
    """Return more of a change that was too little: those before the workload in its queue took what it gave.

    At first what all of them ask for is added; where others take it too, twice as much each time is enough soon.
    """
    if tries > 1:
        return former.plus(lacking).plus(former)
    enough = former.for_those_before(trials.before)
    return former.plus(lacking) if enough == former else enough


def _without_needless(trials: Trials, case: Case, remedy: Remedy) -> Remedy:
    """Leave out each change without which the others let the workload in too: a later one may have done it alone."""
    for one in remedy.changes[:-1]:
        others = tuple(other for other in remedy.changes if other is not one)
        found = trials.verdict(applied(case, others))
        if found.wait is None:
            remedy = Remedy(others, found)
    return remedy


def applied(case: Case, changes: Sequence[Change]) -> Case:
    """Return the case in which all of these are made."""
    for one in changes:
        case = one.apply(case)
    return case
