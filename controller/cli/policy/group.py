"""`penstock policy`: its commands."""

from __future__ import annotations

import click

from controller.cli.policy.explain import explain
from controller.cli.policy.report import report
from controller.cli.policy.run_suites import run_tests


@click.group()
def policy() -> None:
    """See what policies do to pods before they do it.

    \b
    Example:
      penstock policy explain -f job.yaml -n team-a
      penstock policy report --all-namespaces
      penstock policy test policies/
    """


policy.add_command(explain)
policy.add_command(report)
policy.add_command(run_tests)
