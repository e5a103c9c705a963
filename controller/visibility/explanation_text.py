"""An explanation as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from controller.visibility.explanation_rows import (
    Explanation,
    FlavorFinding,
    HolderRow,
    HolderRows,
    QueueExplanation,
    RemedyRow,
)
from controller.visibility.rows import LocalQueueRow

_COST = {
    "WAITING": "by itself",
    "OWN": "yourself",
    "SETUP": "whoever looks after the queues",
    "QUOTA": "whoever gives quota",
    "NODES": "whoever buys nodes",
}


def explanation_text(told: Explanation, waiting: int = 1) -> Iterator[str]:
    """Yield the lines of an explanation but for its remedies; so many workloads wait of what was asked about."""
    pods = "" if told.pods == 1 else f" ({told.pods} pods)"
    requests = ", ".join(f"{amount} {name}" for name, amount in told.requests.items())
    yield f"{told.target} in namespace {told.namespace}{pods} waits: {told.reason}"
    yield f"  {told.message}"
    if waiting > 1:
        yield f"  It is the first of {waiting} workloads that wait there."
    yield ""
    yield f"Asks for     {requests or 'nothing that is counted'}"
    yield f"Waits since  {told.created}"
    if told.path:
        yield f"Queue        {told.local_queue} -> {' -> '.join(told.path)}"
    behind = f", behind {', '.join(told.ahead)}" if told.ahead else ""
    place = f"{told.place} in ClusterQueue {told.path[0]}, " if told.path else ""
    yield f"Place        {place}{told.place_in_local_queue} in LocalQueue {told.local_queue}{behind}"
    yield from _findings(told)
    yield from _holders(told)


def _findings(told: Explanation) -> Iterator[str]:
    if told.flavors:
        yield ""
        yield "What is short:"
        yield from (f"  {_finding(one)}" for one in told.flavors)


def _finding(one: FlavorFinding) -> str:
    flavor = f"flavor {one.flavor}" if one.flavor else "all flavors"
    if not one.resource:
        return f"{flavor}: {one.detail or one.reason}"
    at = f" at {one.at}" if one.at else ""
    given = f"at most {one.most}" if one.most else f"{one.free} free"
    return f"{flavor}: needs {one.needs} {one.resource}, {given}{at}: {one.lacks} short ({one.reason})"


def _holders(told: Explanation) -> Iterator[str]:
    for one in told.holders:
        yield ""
        yield f"Who holds {_what(one)}:"
        for title, rows in (("queue", one.queues), ("user", one.users), ("workload", one.workloads)):
            those = [row for row in rows if row.name]
            yield from (f"  {title:9}{_holder(row, one)}" for row in those[:5])
            if len(those) > 5:
                yield f"           and {len(those) - 5} more"


def _what(one: HolderRows) -> str:
    of = f" of flavor {one.flavor}" if one.flavor else ""
    return f"{one.resource or 'the nodes'}{of}"


def _holder(row: HolderRow, one: HolderRows) -> str:
    amount = f"{row.amount} {one.resource}, " if row.amount else ""
    ends = f", the first ends about {row.ends}" if row.ends else ""
    return f"{row.name}: {amount}{row.pods} pod{'s' * (row.pods > 1)}{ends}"


def remedies_text(told: Explanation) -> Iterator[str]:
    """Yield the lines that say which changes would admit it."""
    yield ""
    if not told.remedies:
        is_next = told.message.startswith("the next decision admits it")
        yield "No action is needed." if is_next else "No single change was found that would admit it."
        return
    admits = told.remedies[0].admits
    yield "Any one of these would admit it:" if admits else "No single change would admit it. These come first:"
    for one in told.remedies:
        yield f"  - {one.change} ({_then(one)}) [{_COST[one.cost]}]"
        yield from (f"      {command}" for command in one.commands)


def _then(one: RemedyRow) -> str:
    if one.admits:
        return f"onto {', '.join(one.flavors)}"
    return f"then {one.reason}: {one.message}" if one.message else f"then {one.reason}"


def queue_text(told: QueueExplanation) -> Iterator[str]:
    """Yield the lines of an explanation of a queue."""
    row = told.queue
    local = f"LocalQueue {row.name} in namespace {row.namespace}" if isinstance(row, LocalQueueRow) else ""
    name = local or f"ClusterQueue {row.name}"
    waiting = "1 pod waits" if row.pending == 1 else f"{row.pending} pods wait"
    reserved = "1 is reserved" if row.reserved == 1 else f"{row.reserved} are reserved"
    yield f"{name}: {waiting}, {reserved}, {row.running} {'runs' if row.running == 1 else 'run'}"
    if row.message:
        yield f"  {row.message}"
    for flavor in row.flavors:
        for one in flavor.resources:
            moved = "".join(
                f", {getattr(one, what)} {what}" for what in ("borrowed", "lent") if getattr(one, what) != "0"
            )
            yield f"  {flavor.name} {one.name}: {one.used} of {one.quota} used{moved}, {one.free} free"
    if told.reasons:
        yield ""
        yield "Why pods wait, in the order of the first of each:"
    for row_of in told.reasons:
        pods = f"{row_of.pods} pod{'s' * (row_of.pods > 1)}"
        yield f"  {row_of.reason}: {pods}, first {row_of.first} in {row_of.namespace}"
        yield f"    {row_of.message}"
