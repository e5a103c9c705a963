"""`penstock import`: the projects whose objects it converts."""

from __future__ import annotations

import click

from controller.cli.imports.kueue import kueue
from controller.cli.imports.kueue_pods import kueue_pods
from controller.cli.imports.kupid import kupid


@click.group(name="import")
def import_group() -> None:
    """Convert objects of other projects to Penstock's."""


import_group.add_command(kueue)
import_group.add_command(kueue_pods)
import_group.add_command(kupid)
