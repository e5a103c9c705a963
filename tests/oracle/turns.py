"""Turn after turn through a decision: whose turn it is by the rules, and whether the core gave each what is its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from tests.oracle import rules
from tests.oracle.tree import Placed
from tests.oracle.worlds import Pod, Queue, World

Told = Mapping[tuple[object, ...], str]
"""The reason told to pods that are just alike."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What the core says: (pod, flavor, node) in order of admission, and the reason of each who waits."""

    admitted: tuple[tuple[str, str, str | None], ...]
    waiting: dict[str, str]


@dataclass(frozen=True, slots=True)
class Moment:
    """What a decision has come to: who is placed, who stands in which queue's line, what was told, who went in."""

    placed: tuple[Placed, ...]
    lines: Mapping[str, tuple[Pod, ...]]
    told: Told = field(default_factory=dict)
    went: tuple[str, ...] = ()


class Fault(Exception):
    """The core gave somebody what is not theirs; the text says whom, and what it should be."""


def follow(world: World, said: Decided) -> None:
    """Hold all that the core said to the rules. Raises Fault."""
    now = Moment(
        tuple(Placed(rules.demand(one.requests), one.queue, one.flavor, one.node) for one in world.running), {}
    )
    for pod in sorted(world.pods, key=rules.place_in_line):
        queue, reasons = rules.queue_of(world, pod), rules.closed(world, pod)
        if queue is None or reasons:
            now = _waits(said, now, pod, reasons)
        else:
            now = replace(now, lines={**now.lines, queue.name: (*now.lines.get(queue.name, ()), pod)})
    _take_turns(world, said, now)


def _take_turns(world: World, said: Decided, now: Moment) -> None:
    """Let the first of all heads go next, as long as there are any. Which node, the rules leave to the core."""
    while now.lines:
        name = min(now.lines, key=lambda one: rules.place_in_line(now.lines[one][0]))
        turn = rules.turn(world, now.placed, _queue(world, name), now.lines[name][0].make)
        now = _passed_over(world, said, now, name, turn) if turn.reasons else _goes_in(said, now, name, turn)
    in_fact = [name for name, _, _ in said.admitted]
    if in_fact != [*now.went]:
        raise Fault(f"admitted in the order {in_fact}; the rules: {[*now.went]}")


def _passed_over(world: World, said: Decided, now: Moment, name: str, turn: rules.Turn) -> Moment:
    """The head of a line waits, and behind it, in a StrictFIFO queue, everybody."""
    head, *behind = now.lines[name]
    now = _waits(said, now, head, turn.reasons)
    if not _queue(world, name).is_strict:
        return _next(now, name, behind)
    for pod in behind:
        now = _waits(said, now, pod, {"Priority"})
    return _next(now, name, ())


def _next(now: Moment, name: str, line: Iterable[Pod]) -> Moment:
    lines = {**now.lines, name: tuple(line)}
    return replace(now, lines={one: pods for one, pods in lines.items() if pods})


def _goes_in(said: Decided, now: Moment, name: str, turn: rules.Turn) -> Moment:
    """The head of a line is placed where the core placed it, if that is one of the places that the rules allow."""
    pod, *behind = now.lines[name]
    should = f"by the rules it goes onto {turn.flavor}, on {turn.nodes}"
    chosen = next(((flavor, node) for one, flavor, node in said.admitted if one == pod.name), None)
    if chosen is None:
        raise Fault(f"{pod.name}: waits with {said.waiting.get(pod.name)}; {should}")
    flavor, node = chosen
    if flavor != turn.flavor or node not in turn.nodes:
        raise Fault(f"{pod.name}: went onto {chosen}; {should}")
    placed = Placed(rules.demand(pod.make.requests), name, flavor, node)
    return replace(_next(now, name, behind), placed=(*now.placed, placed), went=(*now.went, pod.name))


def _waits(said: Decided, now: Moment, pod: Pod, reasons: Set[str]) -> Moment:
    """A pod waits, with one of the reasons. Pods alike share one, that of the first of them who has to wait."""
    for one, flavor, node in said.admitted:
        if one == pod.name:
            raise Fault(f"{one}: went onto {(flavor, node)}; by the rules it waits with {sorted(reasons)}")
    alike = (pod.namespace, pod.queue, str(pod.make), pod.has_foreign_gate)
    reason = said.waiting.get(pod.name, "")
    if now.told.get(alike, reason) != reason:
        raise Fault(f"{pod.name}: waits with {reason}, another pod that is just alike with {now.told[alike]}")
    if alike not in now.told and reason not in reasons:
        raise Fault(f"{pod.name}: waits with {reason}; by the rules with {sorted(reasons)}")
    return replace(now, told={**now.told, alike: reason})


def _queue(world: World, name: str) -> Queue:
    return next(one for one in world.queues if one.name == name)
