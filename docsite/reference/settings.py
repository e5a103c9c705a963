"""The page of the settings of both programs: options and variables of the environment."""

from __future__ import annotations

import click

from controller.__main__ import main as controller
from controller.telemetry.program import CONTEXT_SETTINGS
from docsite.reference.options import about, options
from docsite.reference.tables import WRITTEN
from webhook.__main__ import main as webhook

_HEAD = f"""{WRITTEN}
# Settings of the programs

The options of the controller and the webhook. Each can also be given as a variable of the environment; an option on
the command line counts more. Where Penstock is installed by Helm, the values of
[the chart](../../deploy/chart/values.yaml) set them.
"""


def page() -> str:
    """The text of the page."""
    return _HEAD + _section("The controller", controller) + _section("The webhook", webhook)


def _section(title: str, command: click.Command) -> str:
    settings = {**CONTEXT_SETTINGS, **command.context_settings}
    context = click.Context(command, info_name=command.name, **settings)
    return f"\n## {title}\n\n{about(command)}\n\n{options(command, context, has_variables=True)}"
