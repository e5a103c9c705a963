"""Which change would admit a workload, each tried: a list below the explanation of the workload."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from msgspec import structs

from controller.core.snapshot import Snapshot
from controller.extension_api.queueing.copies import Copies
from controller.extension_api.queueing.explanations import Explaining
from controller.extension_api.resources import HIDDEN, Column, Entry, Page, Query, Resource
from controller.visibility.editing import Case
from controller.visibility.explanation_rows import RemedyRow
from controller.visibility.explanations import remedies, remedy_rows

_COLUMNS: tuple[Column[RemedyRow], ...] = (
    Column("Cost", lambda row: row.cost, "What it takes: WAITING, OWN, SETUP, QUOTA or NODES."),
    Column("Admits", lambda row: "yes" if row.admits else "no", "Whether the workload is admitted then."),
    Column("Change", lambda row: row.change, "What is to be done, or to happen."),
    Column("Message", lambda row: row.message, "Why it waits then.", is_wide=True),
)


def remedies_of(explaining: Explaining, copies: Copies) -> Resource:
    """Return them as a subresource of explanations."""
    return Resource(
        plural="explanations",
        singular="remedy",
        kind="Remedy",
        is_namespaced=True,
        subresource="remedies",
        item=RemedyRow,
        columns=_COLUMNS,
        list=_Remedies(explaining, copies).of,
        redact=_redact,
    )


def _redact(entry: Entry, seen: Set[str]) -> Entry:
    """Leave out which pods have to end, and when."""
    row = entry.row
    if not isinstance(row, RemedyRow):
        raise TypeError(f"no remedy: {row!r}")
    hidden = structs.replace(row, change=_unnamed(row, seen), pods=(HIDDEN,) * len(row.pods), message="")
    return replace(entry, row=hidden)


def _unnamed(row: RemedyRow, seen: Set[str]) -> str:
    """Say how many have to end, and not which: those of the reader's own would tell when the others end."""
    if row.ending == 1:
        return "when a pod of another namespace ends"
    is_any_own = len(row.pods) < row.ending or any(_namespace_of(one) in seen for one in row.pods)
    return f"when {row.ending} pods {'end, of other namespaces too' if is_any_own else 'of other namespaces end'}"


def _namespace_of(pod: str) -> str:
    return pod.partition("/")[0]


class _Remedies:
    def __init__(self, explaining: Explaining, copies: Copies) -> None:
        self._explaining = explaining
        self._copies = copies

    async def of(self, query: Query) -> Page | None:
        """All there are on one page; None where nothing has the name, none where nothing of it waits."""
        found = await self._explaining.find(query)
        if found is None:
            return None
        first = found.first
        if first is None:
            return Page(())

        def tried(snapshot: Snapshot) -> tuple[RemedyRow, ...]:
            run = snapshot.waiting.runs.get(first.kind, ())
            same = next((one for one in run if one.uid == first.uid), None)
            case = None if same is None else Case(snapshot, same)
            return () if case is None else remedy_rows(case, remedies(case))

        rows = await self._copies.of(tuple[RemedyRow, ...], tried)
        return Page([_entry(query.namespace, number, row) for number, row in enumerate(rows, start=1)])


def _entry(namespace: str, number: int, row: RemedyRow) -> Entry:
    names = set(map(_namespace_of, row.pods))
    return Entry(str(number), namespace, row, frozenset({namespace, *names}))
