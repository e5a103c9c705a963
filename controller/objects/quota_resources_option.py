"""FILE of --quota-resources on the command line. What the file means: `objects.quota_resources`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from controller.core.kubernetes.quota_resources import QuotaResources


class QuotaResourcesFile(click.ParamType[QuotaResources]):
    """A file that says which resources quota counts."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> QuotaResources:
        """Read the file, or fail with what is wrong with it."""
        # who gives no file does not pay for what reads it
        from controller.objects.quota_resources import QuotaResourcesError, read

        if isinstance(value, QuotaResources):
            return value
        try:
            return read(Path(value))
        except QuotaResourcesError as error:
            self.fail(str(error), param, ctx)
