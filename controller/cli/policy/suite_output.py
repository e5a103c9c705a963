"""Results of policy tests as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.cli.counts import counted
from controller.cli.policy.changes import as_json
from controller.cli.policy.expectations import Miss


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case that was run; it passed when nothing was missed."""

    name: str
    misses: tuple[Miss, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether all was as expected."""
        return not self.misses


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """A suite that was run."""

    name: str
    file: Path
    cases: tuple[CaseResult, ...]

    @property
    def failures(self) -> int:
        """How many cases failed."""
        return sum(not case.passed for case in self.cases)


def show_json(results: Sequence[SuiteResult], *, fail_only: bool) -> None:
    """Print one object with counts and an entry a suite."""
    total, failed = _totals(results)
    suites = [
        {
            "name": result.name,
            "file": str(result.file),
            "cases": [
                {
                    "name": case.name,
                    "passed": case.passed,
                    "failures": [{"path": m.path, "expected": m.expected, "got": m.got} for m in case.misses],
                }
                for case in result.cases
                if not (fail_only and case.passed)
            ],
        }
        for result in results
    ]
    click.echo(as_json({"cases": total, "passed": total - failed, "failed": failed, "suites": suites}))


def show_table(results: Sequence[SuiteResult], root: Path, *, fail_only: bool) -> None:
    """Print a row a case, what failed and how, and the counts."""
    console = Console(highlight=False)
    if not results:
        console.print(
            f"No policy tests in {root}: a suite is a file named policy-test.yaml or NAME.policy-test.yaml.",
            markup=False,
            soft_wrap=True,
        )
        return
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("RESULT", no_wrap=True)
    table.add_column("SUITE", overflow="fold")
    table.add_column("CASE", overflow="fold")
    for result in results:
        for case in result.cases:
            if not (fail_only and case.passed):
                # Text: names may hold what rich takes for markup
                table.add_row(_word(case), Text(result.name), Text(case.name))
    if table.row_count:
        console.print(table)
    for result in results:
        for case in result.cases:
            for line in _failure(result, case):
                console.print(line, soft_wrap=True)
    console.print(_summary(results), soft_wrap=True)


def _word(case: CaseResult) -> Text:
    return Text("PASS", style="green") if case.passed else Text("FAIL", style="red")


def _failure(result: SuiteResult, case: CaseResult) -> list[Text]:
    if case.passed:
        return []
    title = Text(f"{result.file}: {result.name}: {case.name}", style="red")
    return [title, *(Text(f"  {miss}") for miss in case.misses), Text("")]


def _summary(results: Sequence[SuiteResult]) -> Text:
    total, failed = _totals(results)
    cases, suites = counted(total, "case"), counted(len(results), "suite")
    text = f"{cases} in {suites}: {total - failed} passed, {failed} failed"
    return Text(text, style="red" if failed else "green")


def _totals(results: Sequence[SuiteResult]) -> tuple[int, int]:
    return sum(len(result.cases) for result in results), sum(result.failures for result in results)
