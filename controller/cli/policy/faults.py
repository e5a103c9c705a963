"""Exit codes of `penstock policy`, the same for its three commands."""

from __future__ import annotations

import click

EXIT_BAD = 1
"""An answer, and not a good one: a case failed, a pod is refused."""


class NoAnswer(click.ClickException):
    """There is no answer: the input is wrong, or the cluster cannot be asked. The text is one line a fault."""

    exit_code = 2
