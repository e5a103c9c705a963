"""Why a workload waits: the arithmetic, who holds what it waits for, and which change would admit it, each tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from controller.core.kubernetes.amounts import format_amount
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker, Wait, onto
from controller.core.workloads.workload import Workload
from controller.kube.clock import rfc3339
from controller.visibility.changes.change import Cost
from controller.visibility.editing import Case
from controller.visibility.endings import first_that_end, first_that_goes
from controller.visibility.explanation_rows import Explanation, FlavorFinding, RemedyRow
from controller.visibility.findings import next_of, refused_of, sentence_of
from controller.visibility.holders import holders, rows
from controller.visibility.lines import places
from controller.visibility.remedies import PATCH_TAKEN, leaving, proposals
from controller.visibility.remedies_in_flavors import is_ended_by_others
from controller.visibility.targets import target_of
from controller.visibility.trials import Remedy, Trials, Verdict, pursue
from controller.visibility.workloads import requests_of

_MOST_AHEAD = 3
_MOST_REMEDIES = 6
_MOST_PODS = 100


def explain(snapshot: Snapshot, workload: Workload) -> Explanation:
    """Explain why a workload waits. Makes some tens of decisions."""
    case = Case(snapshot, workload)
    trials = Trials(case)
    found = trials.verdict(case)
    known = snapshot.queues.local_queues.get(workload.kind.queue)
    queue = "" if known is None else known.cluster_queue
    line = trials.line
    place = places(line)[workload.uid]
    reason, text = told(snapshot, workload, found)
    blockers = () if found.wait is None else found.wait.blockers
    held = {one: holders(snapshot, workload.kind, one) for one in blockers if is_ended_by_others(one)}
    return Explanation(
        namespace=workload.kind.queue[0],
        name=workload.name.rpartition("/")[-1],
        target=target_of(snapshot, workload),
        pods=workload.kind.wanted,
        requests=requests_of(workload),
        local_queue=workload.kind.queue[1],
        path=snapshot.queues.tree.path(queue) if queue else (),
        created=rfc3339(workload.since),
        place=place.in_cluster_queue,
        place_in_local_queue=place.in_local_queue,
        ahead=tuple([one.name for one in line[: place.in_cluster_queue - 1]][-_MOST_AHEAD:]),
        reason=reason.value,
        message=text,
        flavors=tuple(map(finding, blockers)),
        holders=tuple(rows(those, one) for one, those in held.items() if those),
        remedies=remedy_rows(case, _remedies(trials, case, found)),
    )


def told(snapshot: Snapshot, workload: Workload, found: Verdict) -> tuple[Reason, str]:
    """Return why a workload waits of which a decision said this, as a word and as a sentence."""
    wait = found.wait
    if wait is None:
        return next_of(snapshot, workload, onto(found.flavors[0], ()))
    return wait.reason, sentence_of(snapshot, workload, wait)


def remedies(case: Case) -> list[Remedy]:
    """Return what would let a workload in, the cheapest first; where nothing does, what it would wait for instead."""
    trials = Trials(case)
    return _remedies(trials, case, trials.verdict(case))


def _remedies(trials: Trials, case: Case, found: Verdict) -> list[Remedy]:
    if found.wait is None:
        return [] if refused_of(case.snapshot, case.workload) is None else [Remedy((PATCH_TAKEN,), found)]
    tried = [pursue(trials, case, one, found, proposals) for one in proposals(case, found)]
    tried += [one for one in _by_themselves(trials, case, found, found.wait) if one is not None]
    admitting = [one for one in tried if one.admits]
    other = [one for one in tried if one.verdict.wait is not None and one.verdict.reason is not found.wait.reason]
    best = sorted(_plainest(admitting or other), key=lambda one: (one.cost, len(one.changes)))
    return _unlike(best)[:_MOST_REMEDIES]


def _plainest(found: Sequence[Remedy]) -> Iterable[Remedy]:
    """Leave out those of several changes where somebody can make a single one that does it."""
    is_any_single = any(len(one.changes) == 1 and one.cost is not Cost.WAITING for one in found)
    return (one for one in found if len(one.changes) == 1 or not is_any_single)


def _by_themselves(trials: Trials, case: Case, found: Verdict, wait: Wait) -> Iterator[Remedy | None]:
    """Yield what comes without anybody doing anything: pods on their way out, and for each flavor who holds it."""
    if wait.reason is Reason.PREEMPTING:
        yield first_that_goes(trials, case, leaving(case, found))
    for blocker in wait.blockers:
        if is_ended_by_others(blocker):
            holding = holders(case.snapshot, case.workload.kind, blocker)
            yield first_that_end(trials, case, blocker, holding)


def _unlike(found: Iterable[Remedy]) -> list[Remedy]:
    """Leave out what changes the same as one before it."""
    by_key: dict[tuple[tuple[str, ...], ...], Remedy] = {}
    for one in found:
        by_key.setdefault(tuple(change.key for change in one.changes), one)
    return list(by_key.values())


def finding(one: Blocker) -> FlavorFinding:
    """Return what one flavor says, or a limit on all."""
    if one.resource is None:
        return FlavorFinding(one.flavor, one.reason.value, at=one.at, detail=one.detail)
    amounts = (one.need, max(0, one.free), one.need - max(0, one.free))
    needs, given, lacks = (format_amount(one.resource, amount) for amount in amounts)
    free, most = ("", given) if one.reason is Reason.NEVER_FITS else (given, "")
    return FlavorFinding(one.flavor, one.reason.value, one.resource, needs, free, most, lacks, one.at, one.detail)


def remedy_rows(case: Case, found: Iterable[Remedy]) -> tuple[RemedyRow, ...]:
    """Return what was found for a case as people see it."""
    return tuple(_row(case, one) for one in found)


def _row(case: Case, one: Remedy) -> RemedyRow:
    wait = one.verdict.wait
    return RemedyRow(
        cost=Cost(one.cost).name,
        change=one.text,
        admits=wait is None,
        flavors=one.verdict.flavors,
        reason="" if wait is None else wait.reason.value,
        message="" if wait is None else sentence_of(case.snapshot, case.workload, wait),
        commands=one.commands,
        pods=one.pods[:_MOST_PODS],
        ending=len(one.pods),
    )
