"""Targets of questions on the command line, pod/NAME and the like: read, and told where there is none."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import click

from controller.runtime.operator_action_targets import QUEUES, BadTarget, Target


def read_target(text: str) -> Target:
    """Read `kind/name`; a name alone is a pod's. Raises UsageError."""
    try:
        return Target.read(text if "/" in text else f"pod/{text}")
    except BadTarget as error:
        raise click.UsageError(str(error)) from None


def nothing_named(wanted: Target, known: Sequence[str], namespaces: Sequence[str] | None) -> click.ClickException:
    """Return the fault that nothing of that name is in a queue, with what may have been meant of what is known."""
    similar = difflib.get_close_matches(str(wanted), known, n=1) or [one for one in known if one.endswith(wanted.name)]
    where = "" if namespaces is None else f" in namespace {namespaces[0]}"
    is_queue = wanted.kind in QUEUES
    lists = "penstock queues lists the queues" if is_queue else "penstock pods -A lists what there is"
    hint = f"; did you mean {similar[0]}?" if similar else f"; {lists}"
    what = "there is no such queue" if is_queue else "nothing of that name is in a queue"
    return click.ClickException(f"{wanted}: {what}{where}{hint}")
