"""`penstock policy test`: suites of cases against policies in files, without a cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from controller.cli.policy import junit, suite_output
from controller.cli.policy.expectations import misses
from controller.cli.policy.faults import EXIT_BAD, NoAnswer
from controller.cli.policy.suite_files import ReadySuite, suites_below
from controller.cli.policy.suite_output import CaseResult, SuiteResult
from controller.cli.policy.trace import trace


@click.command(name="test")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, path_type=Path))
@click.option("--junit", "report", metavar="FILE", type=click.Path(path_type=Path), help="Write JUnit XML as well.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--fail-only", is_flag=True, help="List only failed cases; all are counted.")
@click.option("--require-tests", is_flag=True, help="Exit with 2 if there is no suite below DIR.")
def run_tests(folder: Path, report: Path | None, output: str, fail_only: bool, require_tests: bool) -> int:
    """Run the policy tests below DIR, without a cluster.

    A suite is a file named policy-test.yaml or NAME.policy-test.yaml: policies, pods, and the expected results. The
    command runs the webhook's own code. Exit code: 0 all cases pass, 1 some fail, 2 the input is wrong.

    \b
    Example:
      penstock policy test policies/
      penstock policy test policies/ --junit policies.xml --fail-only
    """
    suites = suites_below(folder)
    if not suites and require_tests:
        raise NoAnswer(f"{folder}: holds no suite, which is a file named policy-test.yaml or NAME.policy-test.yaml")
    results = [_run(suite) for suite in suites]
    if report is not None:
        try:
            junit.write(report, results)
        except OSError as error:
            raise NoAnswer(f"--junit {report}: cannot be written: {error.strerror or error}") from None
    if output == "json":
        suite_output.show_json(results, fail_only=fail_only)
    else:
        suite_output.show_table(results, folder, fail_only=fail_only)
    return EXIT_BAD if _failed(results) else 0


def _failed(results: Sequence[SuiteResult]) -> bool:
    return any(not case.passed for result in results for case in result.cases)


def _run(suite: ReadySuite) -> SuiteResult:
    cases = []
    for case in suite.cases:
        began = time.perf_counter()
        missed = tuple(misses(case.expect, trace(case.candidate, suite.surroundings)))
        cases.append(CaseResult(case.name, missed, time.perf_counter() - began))
    return SuiteResult(suite.name, suite.file, tuple(cases))
