"""Turn after turn through a decision: whose turn it is by the rules, and whether the core gave each what is its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType

from tests.oracle import fairness, holding, owners, rules, sets
from tests.oracle.gangs import Workload, workloads
from tests.oracle.holding import Held
from tests.oracle.owners import Heads
from tests.oracle.rules import Turn
from tests.oracle.tree import Placed, path
from tests.oracle.worlds import Queue, World

Told = Mapping[tuple[object, ...], str]
"""The reason told to pods that are just alike."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What the core says: (pod, flavor, node) in order of admission, and the reason of each who waits.

    Who is evicted, and the pods for which that is.
    """

    admitted: tuple[tuple[str, str, str | None], ...]
    waiting: dict[str, str]
    evicted: tuple[str, ...] = ()
    preemptors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Moment:
    """What a decision has come to: who is placed, who stands in which queue's line, what was told, who went in.

    What is held for those who preempt, of which classes they are, and who of the evicted is nobody's victim yet.
    `early` are those of lines that take turns by share who were told a reason that was not theirs at their turn: such a
    line is looked at only when nobody can be before it, and is told what is so then. `hoping` are those heads of such
    lines that take part since others would be preempted for them, by the flavor; who goes in before may end that.
    """

    placed: tuple[Placed, ...]
    lines: Mapping[str, tuple[Workload, ...]]
    told: Told = field(default_factory=dict)
    went: tuple[frozenset[str], ...] = ()
    held: Held = field(default_factory=Held)
    preempting: Set[tuple[object, ...]] = frozenset()
    evicted: Set[str] = frozenset()
    before: Told = field(default_factory=dict)
    early: tuple[tuple[Queue, Workload, str], ...] = ()
    hoping: Mapping[str, str] = field(default_factory=dict)


class Fault(Exception):
    """The core gave somebody what is not theirs; the text says whom, and what it should be."""


def follow(world: World, said: Decided, before: Told = MappingProxyType({})) -> Told:
    """Hold all that the core said to the rules; return what it told. Raises Fault.

    What was told in the decision before may still be told to those who were not looked at anew.
    """
    placed = (
        Placed(rules.demand(one.requests), one.queue, one.flavor, one.node, one.name, one.also) for one in world.running
    )
    now = Moment(tuple(placed), {}, evicted=frozenset(said.evicted), before=before)
    for one in sorted(workloads(world), key=lambda one: one.place_in_queue):
        queue = rules.queue_of(world, one.pods[0])
        if queue is None or one.waits:
            now = _waits(said, now, one, one.waits)
        else:
            now = replace(now, lines={**now.lines, queue.name: (*now.lines.get(queue.name, ()), one)})
    return _take_turns(world, said, now).told


def _take_turns(world: World, said: Decided, now: Moment) -> Moment:
    """Let the first of all heads go next, as long as there are any. Which node, the rules leave to the core."""
    admitted = {name for name, _, _ in said.admitted}
    while now.lines:
        name = _whose_turn(world, said, now)
        head, queue = now.lines[name][0], _queue(world, name)
        turn = holding.turn(world, now.placed, now.held, queue, head)
        is_in = any(pod.name in admitted for pod in head.pods)
        # those alike wait together, and who is settled till the next decision, though meanwhile the mix may have opened
        may_wait = bool(turn.reasons) or (queue.is_mixed and (_is_known(now, head) or _alike(head) in now.before))
        if turn.flavors and (is_in or not may_wait):
            now = _goes_in(world, said, now, queue, turn)
        elif head.pods[0].name in said.preemptors:
            return _preempts(world, said, now, queue)
        elif not turn.flavors and not _is_known(now, head) and _should_preempt(world, now, queue):
            raise Fault(f"{head.pods[0].name}: pods of its own queue may be preempted for it, and are not")
        elif not turn.flavors and _may_hope(world, now, queue):
            return _waits_or_hopes(world, said, now, queue, turn)
        else:
            now = _stays_out(world, said, now, queue, turn)
    _hold_to_order(said, now)
    for _, one, reason in now.early:
        raise Fault(f"{one.pods[0].name}: waits with {reason}, which by the rules it never does")
    if now.evicted:
        raise Fault(f"evicted for nobody: {sorted(now.evicted)}")
    return now


def _whose_turn(world: World, said: Decided, now: Moment) -> str:
    """The queue with the first of all heads, when those like whom somebody waits already are out of the way.

    Of a tree that shares fairly it is the one that has borrowed least, when all are out of the way who cannot go, and
    for whom nobody else does. Those known may stand before others of their queue that go earlier than they do: what a
    gang that has begun lacks does.
    """
    moving = {*said.preemptors, *(name for name, _, _ in said.admitted)}
    fair: dict[str, dict[str, tuple[Workload, Turn]]] = {}
    first = []
    for name, (head, *_) in now.lines.items():
        if _is_known(now, head) and head.pods[0].name not in moving:
            return name
        root = path(world, _queue(world, name))[-1]
        if not root.is_fair:
            first.append(name)
            continue
        queue = _queue(world, name)
        turn = holding.turn(world, now.placed, now.held, queue, head)
        preempts = head.pods[0].name in said.preemptors or _should_preempt(world, now, queue)
        if not turn.flavors and head.pods[0].name in now.hoping:
            turn = Turn((now.hoping[head.pods[0].name],))
        elif not turn.flavors and preempts:
            turn = Turn((queue.quotas[0][0],))
        # where it is not said how much is held for others, whether it went in says whether it could
        elif not turn.flavors or (turn.reasons and head.pods[0].name not in moving):
            return name
        fair.setdefault(root.name, {})[name] = (head, turn)
    winners = (fairness.champion(world, now.placed, _queue(world, root), heads) for root, heads in fair.items())
    by_order = min((*first, *filter(None, winners)), key=lambda one: now.lines[one][0].place)
    if by_order not in first:
        return by_order
    heads = Heads(world, now.placed, now.held, {name: now.lines[name] for name in first})
    found, told = owners.goes_now(heads, by_order, {name: (flavor, node) for name, flavor, node in said.admitted})
    if told:
        raise Fault(told)
    return found


def _may_hope(world: World, now: Moment, queue: Queue) -> bool:
    """Whether the head of a line may take part since others might be preempted for it."""
    head = now.lines[queue.name][0]
    return _may_lose(world, queue) and head.pods[0].name not in now.hoping and not _is_known(now, head)


def _waits_or_hopes(world: World, said: Decided, now: Moment, queue: Queue, turn: Turn) -> Moment:
    """The head of a line is out of the way, or others would be preempted for it, until who goes before it ends that.

    The search may choose, and whom it would have found nobody tells.
    """
    try:
        return _take_turns(world, said, _stays_out(world, said, now, queue, turn))
    except Fault as fault:
        head, found = now.lines[queue.name][0], fault
    if not holding.may_preempt(world, now.placed, now.held, queue, head):
        raise found
    for flavor, _ in queue.quotas:
        with suppress(Fault):
            return _take_turns(world, said, replace(now, hoping={**now.hoping, head.pods[0].name: flavor}))
    raise found


def _stays_out(world: World, said: Decided, now: Moment, queue: Queue, turn: Turn) -> Moment:
    """The head of a line does not go in, and nobody goes for it."""
    others = said.preemptors - {pod.name for pod in now.lines[queue.name][0].pods}
    is_late = bool(others) and _may_lose(world, queue)
    turn = Turn(reasons=holding.ANY_REASON) if is_late else turn
    return _passed_over(said, now, queue, turn, is_early=path(world, queue)[-1].is_fair)


def _may_lose(world: World, queue: Queue) -> bool:
    """Whether the head of a line might have preempted somebody whom another one, who has borrowed less, took first.

    Then it waits for what that one leaves; it is not said whether that is told, or what was short before.
    """
    policy = queue.preemption
    return path(world, queue)[-1].is_fair and (policy.within, policy.reclaim) != ("Never", "Never")


def _is_known(now: Moment, one: Workload) -> bool:
    return _alike(one) in {*now.told, *now.preempting}


def _should_preempt(world: World, now: Moment, queue: Queue) -> bool:
    return holding.must_preempt(world, now.placed, now.held, queue, now.lines[queue.name][0])


def _preempts(world: World, said: Decided, now: Moment, queue: Queue) -> Moment:
    """Others go for the head of a line: some of the evicted, in whichever way all goes on, or those who are left."""
    head, names = now.lines[queue.name][0], sorted(now.evicted)
    left = {pod.name for line in now.lines.values() for one in line for pod in one.pods} & said.preemptors
    fewest = len(names) if left <= {pod.name for pod in head.pods} else 0
    told = ""
    waits = Turn(reasons=frozenset({"Preempting"}))
    for count in range(fewest, len(names) + 1):
        for victims in map(frozenset, combinations(names, count)):
            told, held = holding.nominated(world, now.placed, now.held, queue, head, victims)
            if told:
                continue
            preempting = {*now.preempting, _alike(head)}
            # beside what is held, whoever waits may be told any reason
            then = replace(now, held=held, evicted=now.evicted - victims, preempting=preempting, early=())
            try:
                return _take_turns(world, said, _passed_over(said, then, queue, waits))
            except Fault as fault:
                told = str(fault)
    raise Fault(f"{head.pods[0].name}: others are preempted for it: {told}")


def _hold_to_order(said: Decided, now: Moment) -> None:
    """The pods of a gang stand one after the other, in whatever order among themselves."""
    in_fact, at = [name for name, _, _ in said.admitted], 0
    for together in now.went:
        if {*in_fact[at : at + len(together)]} != together:
            break
        at += len(together)
    if at < len(in_fact):
        raise Fault(f"admitted in the order {in_fact}; the rules: {['+'.join(sorted(one)) for one in now.went]}")


def _passed_over(said: Decided, now: Moment, queue: Queue, turn: Turn, *, is_early: bool = False) -> Moment:
    """The head of a line waits, and behind it, in a StrictFIFO queue, everybody, unless it never fits."""
    head, *behind = now.lines[queue.name]
    reasons, reason = turn.reasons, said.waiting.get(head.pods[0].name, "")
    is_new = not _is_known(now, head) and reason != now.before.get(_alike(head))
    if is_early and is_new and reason in holding.ANY_REASON - reasons:
        now = replace(now, early=(*now.early, (queue, head, reason)))
        reasons |= {reason}
    now = _waits(said, now, head, reasons)
    if not queue.is_strict or reason in ("NeverFits", "MixLimit", "UserLimit"):
        return _next(now, queue.name, behind)
    for one in behind:
        now = _waits(said, now, one, {"Priority"})
    return _next(now, queue.name, ())


def _next(now: Moment, name: str, line: Iterable[Workload]) -> Moment:
    lines = {**now.lines, name: tuple(line)}
    return replace(now, lines={one: waiting for one, waiting in lines.items() if waiting})


def _goes_in(world: World, said: Decided, now: Moment, queue: Queue, turn: Turn) -> Moment:
    """The head of a line is placed where the core placed it, if that is one of the places that the rules allow."""
    head, *behind = now.lines[queue.name]
    chosen = {name: (flavor, node) for name, flavor, node in said.admitted}
    should = f"by the rules it goes onto {' or '.join(turn.flavors)}, on {turn.nodes}"
    for pod in head.pods:
        if pod.name not in chosen:
            raise Fault(f"{pod.name}: waits with {said.waiting.get(pod.name)}; {should}")
    fault, placed = sets.judge(world, now.placed, queue, turn, [(pod, *chosen[pod.name]) for pod in head.pods])
    if fault:
        raise Fault(fault)
    went, held = frozenset(pod.name for pod in head.pods), holding.taken_from(world, placed, now.held)
    if held is None:
        raise Fault(f"{head.pods[0].name}: went where others were preempted for somebody else")
    now = replace(now, held=held, placed=placed, early=_still_early(world, placed, held, now.early), hoping={})
    return replace(_next(now, queue.name, behind), went=(*now.went, went))


def _still_early(
    world: World, placed: tuple[Placed, ...], held: Held, early: Iterable[tuple[Queue, Workload, str]]
) -> tuple[tuple[Queue, Workload, str], ...]:
    """Those whose reason is not told by what the decision has come to either."""
    return tuple(
        (queue, one, reason)
        for queue, one, reason in early
        if reason not in holding.turn(world, placed, held, queue, one).reasons
    )


def _alike(one: Workload) -> tuple[object, ...]:
    """What those have in common who are told the same: they are tried once."""
    first = one.pods[0]
    return (first.namespace, first.queue, tuple(str(make) * len(pods) for make, pods in one.sets), one.waits)


def _waits(said: Decided, now: Moment, one: Workload, reasons: Set[str]) -> Moment:
    """A workload waits, with one of the reasons. Pods alike share one, that of the first of them who has to wait."""
    names = {pod.name for pod in one.pods}
    for name, flavor, node in said.admitted:
        if name in names:
            raise Fault(f"{name}: went onto {(flavor, node)}; by the rules it waits with {sorted(reasons)}")
    first, alike = one.pods[0], _alike(one)
    if alike in now.preempting:
        return now
    reason = said.waiting.get(first.name, "")
    for pod in one.pods:
        reason = said.waiting.get(pod.name, "")
        if now.told.get(alike, reason) != reason:
            raise Fault(f"{pod.name}: waits with {reason}, another pod that is just alike with {now.told[alike]}")
        if alike not in now.told and reason not in {*reasons, now.before.get(alike)}:
            raise Fault(f"{pod.name}: waits with {reason}; by the rules with {sorted(reasons)}")
    # of several reasons that gangs have beside each other each may be told its own
    return now if len(one.waits) > 1 else replace(now, told={**now.told, alike: reason})


def _queue(world: World, name: str) -> Queue:
    return next(one for one in world.queues if one.name == name)
