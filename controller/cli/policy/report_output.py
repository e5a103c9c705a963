"""Findings as tables, by owner and reason, and as documents, pod by pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.cli.counts import counted
from controller.cli.policy.findings import Fate, Findings, Group
from controller.core.pod_policies.policies import Result

_COUNTED: Final = (Result.REFUSED, Result.CHANGED, Result.CONFLICT, Result.UNCHANGED)
_STYLES: Final = {Fate.REFUSED: "red", Fate.CHANGED: "yellow", Fate.CONFLICT: "yellow", Fate.UNCHANGED: ""}
_WORDS: Final = {Fate.REFUSED: "refused", Fate.CHANGED: "changed", Fate.CONFLICT: "left out in part"}


def document(findings: Findings) -> dict[str, Any]:
    """Return what programs read: every remembered pod."""
    return {
        "namespace": findings.namespace,
        "pods": {"judged": findings.judged, **_named(findings.fates), "leftOut": findings.left_out},
        "policies": [
            {
                "policy": tally.name,
                "mode": tally.mode.value,
                "selected": tally.selected,
                **{result.value: tally.counts.get(result, 0) for result in _COUNTED},
            }
            for tally in findings.tallies
        ],
        "findings": [
            {
                "namespace": one.namespace,
                "name": one.name,
                "owner": one.owner,
                "result": one.fate.value,
                "reasons": [{"policy": policy, "message": text} for policy, text in one.reasons],
            }
            for one in findings.listed
        ],
        "unlisted": findings.unlisted,
        "forTemplates": list(findings.for_templates),
        "notInEffect": list(findings.faulty),
        "notes": list(findings.notes),
    }


def _named(fates: Mapping[Fate, int]) -> dict[str, int]:
    return {fate.value: number for fate, number in fates.items()}


def show_table(findings: Findings) -> None:
    """Print a row a policy, whose pods would not stay as they are and why, and the counts."""
    console = Console(highlight=False)
    for fault in findings.faulty:
        console.print(Text(f"Not in effect: {fault}", style="yellow"), soft_wrap=True)
    for note in findings.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)
    if findings.for_templates:
        names = ", ".join(findings.for_templates)
        console.print(Text(f"Not judged, because they are for templates and not for pods: {names}"), soft_wrap=True)
    if not findings.tallies:
        console.print("No policies here: no pod would be refused or changed.", soft_wrap=True)
        return
    console.print(_policies(findings))
    if findings.groups:
        console.print(_groups(findings.groups))
    if findings.ungrouped:
        console.print(f"and {findings.ungrouped} more pods; --all lists them", soft_wrap=True)
    console.print(_summary(findings), soft_wrap=True)


def _policies(findings: Findings) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("POLICY", overflow="fold")
    for heading in ("MODE", "PODS", "REFUSED", "CHANGED", "LEFT OUT", "AS THEY ARE"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "MODE" else "right")
    for tally in findings.tallies:
        counts = (str(tally.counts.get(result, 0)) for result in _COUNTED)
        table.add_row(Text(tally.name), tally.mode, str(tally.selected), *counts)
    return table


def _groups(groups: list[Group]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("OWNER", overflow="fold")
    table.add_column("WOULD BE", no_wrap=True)
    table.add_column("PODS", no_wrap=True, justify="right")
    table.add_column("FIRST POD", overflow="fold")
    table.add_column("WHY", overflow="fold")
    for group in groups:
        one = group.first
        fate = Text(_WORDS[one.fate], style=_STYLES[one.fate])
        why = "\n".join(f"{policy}: {text}" for policy, text in one.reasons)
        table.add_row(Text(f"{one.namespace}/{one.owner}"), fate, str(group.pods), Text(one.name), Text(why))
    return table


def _summary(findings: Findings) -> str:
    where = f"in namespace {findings.namespace!r}" if findings.namespace else "in all namespaces"
    left_out = ", ".join(f"{number} {why}" for why, number in findings.left_out.items() if number)
    besides = f" ({left_out}: left out)" if left_out else ""
    if not findings.judged:
        return f"No pods {where}{besides}."
    fates = findings.fates
    return (
        f"{counted(findings.judged, 'pod')} {where}{besides}, were all policies enforced: "
        f"{fates[Fate.REFUSED]} refused, "
        f"{fates[Fate.CHANGED]} changed, {fates[Fate.CONFLICT]} with a policy left out in part, "
        f"{fates[Fate.UNCHANGED]} as they are."
    )
