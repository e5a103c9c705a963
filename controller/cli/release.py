"""`penstock release`: undoes a hold, or with --all opens gates and lets Jobs begin.

For these it asks, shows how far it is, and counts; what is sent is `runtime.gate_opener`'s business.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
from rich.console import Console

from controller.cli.acting import Where, acting_options
from controller.cli.by_hand import Asked, run_by_hand
from controller.cli.counts import counted
from controller.cli.interrupts import gently
from controller.cli.main import EXIT_FAULT
from controller.cli.refusals import told
from controller.core.gate.opening import HeldJob, Waiting
from controller.core.keys import BREAK_GLASS, GATE
from controller.core.kubernetes.names import is_dns_label
from controller.core.queueing.operator_actions import Verb
from controller.kube.errors import KubeError
from controller.runtime.gate_opener import GateOpener, Tally, is_protection, waiting, webhook_away

_AS_BREAK_GLASS = f"add --as NAME --as-group {BREAK_GLASS}"
_TOLD = 5


@dataclass(frozen=True, slots=True)
class _Where(Where):
    """Which pods besides."""

    namespace: str | None

    def __str__(self) -> str:
        return f"in namespace {self.namespace}" if self.namespace else "in the cluster"


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Remove the gate from every pod, and let every held Job begin.")
@click.option("-n", "--namespace", metavar="NAME", help="Default: the context's; with --all every namespace.")
@click.option("--dry-run", is_flag=True, help="Say what would be released, and release nothing.")
@click.option("--yes", is_flag=True, help="With --all: do not ask.")
@acting_options
def release(
    targets: tuple[str, ...],
    everything: bool,
    namespace: str | None,
    dry_run: bool,
    yes: bool,
    where: Where,
) -> int:
    """Release what `penstock hold` holds; with --all, let all pods and Jobs go that wait instead.

    TARGET is pod/NAME, group/NAME, job/NAME, queue/NAME (a LocalQueue), clusterqueue/NAME, or an owner of pods such as
    statefulset/NAME.

    With --all, the command removes Penstock's gate from every pod, and unsuspends all that is held as a whole,
    whatever the quotas say: to uninstall Penstock, or while it cannot run. This is no admission: pods and Jobs get no
    flavor, no nodes and no stamps. Gates of other controllers stay. While the gate is protected, only the break-glass
    group may do this (--as, --as-group).

    Exit code: 0 all targets are released, 1 a target could not be released, 130 interrupted.

    \b
    Example:
      penstock release job/train -n team-a
      penstock release --all --dry-run
      penstock release --all --namespace team-a
      penstock release --all --yes --as jane --as-group penstock:break-glass
    """
    _check(targets, everything=everything, yes=yes)
    if targets:
        asked = Asked(Verb.RELEASE, targets, namespace, is_dry=dry_run)
        return run_by_hand(asked, where)
    if namespace is not None and not is_dns_label(namespace):  # an empty one would mean all
        raise click.UsageError(f"--namespace: {namespace!r} is no name of a namespace")
    there = _Where(where.kubeconfig, where.context, where.acting_as, namespace)
    return _open_gates(there, dry_run=dry_run, yes=yes)


def _check(targets: tuple[str, ...], *, everything: bool, yes: bool) -> None:
    if targets and everything:
        raise click.UsageError("--all frees every pod and Job, and names none: leave it out to undo a hold")
    if targets and yes:
        raise click.UsageError("--yes answers the question of --all; undoing a hold asks nothing")
    if not targets and not everything:
        raise click.UsageError(
            "name what is held (pod/NAME, job/NAME, queue/NAME, …), or say --all: every pod and Job that waits is then "
            "let run whatever the quotas say, with -n those of one namespace"
        )


def _open_gates(where: _Where, *, dry_run: bool, yes: bool) -> int:
    found = asyncio.run(_find(where))
    if dry_run:
        for one in found:
            click.echo(one.key)
    if dry_run or not found:
        click.echo(_summary(found, where), err=dry_run)
        return 0
    if not yes and not _agreed(f"Release {_counted(found)} {where}, whatever the quotas say?"):
        click.echo("None was released.")
        return EXIT_FAULT
    tally, interrupted = asyncio.run(_open(where, found))
    return _told(tally, found, interrupted)


def _summary(found: Sequence[Waiting], where: _Where) -> str:
    jobs = [one for one in found if isinstance(one, HeldJob)]
    pods = len(found) - len(jobs)
    held = f", and {counted(len(jobs), _noun(jobs))} {'is' if len(jobs) == 1 else 'are'} held" if jobs else ""
    return f"{counted(pods, 'pod')} {where} {'has' if pods == 1 else 'have'} the gate {GATE}{held}."


def _counted(found: Sequence[Waiting]) -> str:
    """Write how many they are: pods, Jobs, or both."""
    jobs = [one for one in found if isinstance(one, HeldJob)]
    is_mixed = 0 < len(jobs) < len(found)
    return f"{len(found)} pods and {_noun(jobs)}s" if is_mixed else _part(len(found), found)


def _noun(of: Sequence[Waiting]) -> str:
    """Return what they are: pods, Jobs, or objects, where there are others than Jobs among them."""
    if not any(isinstance(one, HeldJob) for one in of):
        return "pod"
    return "Job" if all(isinstance(one, HeldJob) and one.kind is None for one in of) else "object"


def _part(number: int, of: Sequence[Waiting]) -> str:
    """Write so many of them, without a noun where they are pods and Jobs."""
    kinds = {isinstance(one, HeldJob) for one in of}
    return str(number) if len(kinds) > 1 else counted(number, _noun(of))


async def _find(where: _Where) -> list[Waiting]:
    async with await where.connect() as client:
        with Console(stderr=True).status("Looking for what waits"):
            return await waiting(client, where.namespace)


def _agreed(question: str) -> bool:
    try:
        return click.confirm(question)
    except click.Abort:
        if sys.stdin.isatty():
            raise  # Ctrl-C
        raise click.UsageError("there is no terminal to ask on: add --yes") from None


async def _open(where: _Where, found: Sequence[Waiting]) -> tuple[Tally, bool]:
    """Release what was found; Ctrl-C ends it after the requests that are under way, a second one at once."""
    # on a terminal alone: elsewhere nobody waits for it
    with Console(stderr=True).status("Releasing") as status:
        async with await where.connect() as client:
            every = _counted(found)
            opener = GateOpener(client, on_progress=lambda tally: status.update(f"{tally.done} of {every}"))
            with gently(opener.stop) as interrupt:
                return await opener.open(found), interrupt.came


def _told(tally: Tally, found: Sequence[Waiting], interrupted: bool) -> int:
    for line in _refusals(tally):
        click.echo(line, err=True)
    untried = len(found) - tally.done
    needless = f"; {_part(tally.needless, found)} needed nothing any more" if tally.needless else ""
    left = f"; {_part(untried, found)} not tried" if untried else ""
    refused = f"; {_part(len(tally.refused), found)} could not be" if tally.refused else ""
    click.echo(f"Released {tally.opened} of {_counted(found)}{needless}{refused}{left}.")
    if interrupted and untried:
        raise KeyboardInterrupt
    return EXIT_FAULT if tally.refused else 0


def _refusals(tally: Tally) -> Iterator[str]:
    """One line each for the first few of each reason, then how many more; a name makes no other reason."""
    alike: dict[str, list[str]] = {}
    for one, error in tally.refused:
        reason = _reason(error)
        line = f"Error: {one.key}: not released: {reason}"
        alike.setdefault(reason.replace(f'"{one.name}"', '""'), []).append(line)
    for lines in alike.values():
        yield from lines[:_TOLD]
        if len(lines) > _TOLD:
            yield f"and {len(lines) - _TOLD} more, for the same reason"


def _reason(error: KubeError) -> str:
    """One line; for what is ours, how to do it."""
    if is_protection(error):
        return f"only Penstock and the break-glass group may open the gate: {_AS_BREAK_GLASS}"
    if webhook := webhook_away(error):
        return f"the webhook {webhook} does not answer: {_AS_BREAK_GLASS}"  # which none of ours is asked about
    return told(error)
