"""`penstock doctor`: asks the cluster and prints. What is looked at is the business of `doctor_checks`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
import orjson
import yaml
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.cli.counts import counted
from controller.cli.doctor_checks.cluster import Cluster
from controller.cli.doctor_checks.every import Result, examine
from controller.cli.doctor_checks.findings import Finding, Severity
from controller.cli.policy.faults import NoAnswer
from controller.cli.policy.from_cluster import connected
from controller.cli.refusals import told
from controller.kube.errors import KubeError
from controller.telemetry.options import connection_options

_EXIT_FAULTY = 1
_ONE_LINE = 100_000


@click.command()
@click.option(
    "--penstock-namespace",
    metavar="NAME",
    default="penstock-system",
    show_default=True,
    help="The namespace that Penstock runs in.",
)
@click.option(
    "--probe-namespace",
    metavar="NAME",
    default="default",
    show_default=True,
    help="Where pods are tried with a dry run; choose a namespace that Penstock manages.",
)
@connection_options
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def doctor(
    penstock_namespace: str, probe_namespace: str, kubeconfig: str | None, context: str | None, output: str
) -> int:
    """Find out what is wrong with Penstock in a cluster, and what to do about it.

    Checks versions, CRDs, permissions, the leader, the age of its data, the protection of the gate, the webhook and its
    certificates, stuck pods, default queues that do not exist, objects that cannot be used, and whether the history is
    written. Writes nothing: it tries pods only with a dry run.

    Exit code: 0 no errors (there may be warnings), 1 errors, 2 there is no answer, 130 interrupted.

    \b
    Example:
      penstock doctor
      penstock doctor -o json | jq '.findings[] | select(.severity == "Error")'
    """
    results = asyncio.run(_ask(kubeconfig, context, penstock_namespace, probe_namespace))
    _refuse_blindness(results)
    match output:
        case "json":
            click.echo(orjson.dumps(_document(results), option=orjson.OPT_INDENT_2))
        case "yaml":
            text = yaml.safe_dump(_document(results), sort_keys=False, allow_unicode=True, width=120)
            click.echo(text, nl=False)
        case _:
            _show_table(results)
    return _EXIT_FAULTY if _count(results, Severity.ERROR) else 0


async def _ask(kubeconfig: str | None, context: str | None, home: str, probed: str) -> list[Result]:
    async with connected(kubeconfig, context) as client:
        try:
            # on a terminal alone: elsewhere nobody waits for it
            with Console(stderr=True).status("Examining the cluster"):
                return await examine(Cluster(client, home, probed))
        except KubeError as error:
            raise NoAnswer(told(error)) from None


def _refuse_blindness(results: Sequence[Result]) -> None:
    """Give no answer where nothing could be looked at: it must not pass for a cluster without errors."""
    first = next((finding for one in results for finding in one.findings), None)
    if first is not None and not any(one.is_done for one in results):
        raise NoAnswer(f"no check could be done: {first.where} {first.what}, nor was anything else; {first.remedy}")


def _count(results: Iterable[Result], severity: Severity) -> int:
    return sum(finding.severity is severity for result in results for finding in result.findings)


# -- for programs --------------------------------------------------------------------------------------------------


def _document(results: Sequence[Result]) -> dict[str, Any]:
    return {
        "checks": [
            {"name": one.check, "done": one.is_done, "findings": len(one.findings), "unseen": one.unseen}
            for one in results
        ],
        "findings": [_row(one.check, finding) for one in results for finding in one.findings],
    }


def _row(check: str, finding: Finding) -> dict[str, str]:
    return {
        "severity": finding.severity.value,
        "check": check,
        "where": finding.where,
        "what": finding.what,
        "remedy": finding.remedy,
    }


# -- for people ----------------------------------------------------------------------------------------------------


def _show_table(results: Sequence[Result]) -> None:
    # into a file or pipe a finding is one line, which tools can search
    console = Console() if sys.stdout.isatty() else Console(width=_ONE_LINE)
    found = [(one.check, finding) for one in results for finding in one.findings]
    if found:
        table = Table(box=box.SIMPLE_HEAD)
        for heading in ("SEVERITY", "CHECK"):
            table.add_column(heading, no_wrap=True)
        for heading in ("WHAT IS WRONG", "WHAT TO DO"):
            table.add_column(heading, overflow="fold")
        for check, one in sorted(found, key=lambda row: row[1].severity is not Severity.ERROR):
            # Text: names and messages may hold what rich takes for markup
            table.add_row(*map(Text, (one.severity.value, check, f"{one.where} {one.what}", one.remedy)))
        console.print(table)
    console.print(_summary(results), markup=False, highlight=False, soft_wrap=True)


def _summary(results: Sequence[Result]) -> str:
    errors, warnings = (_count(results, severity) for severity in Severity)
    sentences = [f"{counted(errors, 'error')}, {counted(warnings, 'warning')}."]
    fine = [one.check for one in results if one.is_done and not one.findings]
    if fine:
        sentences.append(f"Nothing wrong with: {', '.join(fine)}.")
    sentences += [f"Not looked at: {one.check} ({one.unseen})." for one in results if one.unseen]
    return " ".join(sentences)
