"""`penstock release --all`: asks, shows how far it is, and counts; what is sent is `runtime.gate_opener`'s business."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
from rich.console import Console

from controller.cli.acting import Where
from controller.cli.counts import counted
from controller.cli.interrupts import gently
from controller.cli.main import EXIT_FAULT
from controller.cli.refusals import told
from controller.core.gate.opening import HeldJob, Waiting
from controller.core.keys import BREAK_GLASS, GATE
from controller.kube.errors import KubeError
from controller.runtime import admission_removal, shutdown
from controller.runtime.gate_opener import GateOpener, Tally, is_protection, waiting, webhook_away

_AS_BREAK_GLASS = f"add --as NAME --as-group {BREAK_GLASS}"
_TOLD = 5


@dataclass(frozen=True, slots=True)
class Everything(Where):
    """Which pods besides, and whether the controller, and what gates and protects pods, is removed first."""

    namespace: str | None
    remove_admission: bool

    def __str__(self) -> str:
        return f"in namespace {self.namespace}" if self.namespace else "in the cluster"


def open_all(where: Everything, *, dry_run: bool, yes: bool) -> int:
    """Open every gate; return the exit code."""
    stopped, admission = asyncio.run(_in_the_way(where)) if where.remove_admission else ([], [])
    found = asyncio.run(_waiting(where))
    if dry_run:
        for name in (*stopped, *admission, *(one.key for one in found)):
            click.echo(name)
    if dry_run or not (stopped or admission or found):
        click.echo(_summary(found, where), err=dry_run)
        return 0
    if not yes and not _agreed(f"{_intent(stopped, admission, found)} {where}, whatever the quotas say?"):
        click.echo("None was released.")
        return EXIT_FAULT
    if stopped or admission:
        asyncio.run(_remove_admission(where))
        deleted = f"deleted {counted(len(admission), 'admission object')}."
        click.echo(_sentence(f"stopped the controller, and {deleted}" if stopped else deleted))
        found = asyncio.run(_waiting(where))
    return _open_until_none(where, found)


def _open_until_none(where: Everything, found: Sequence[Waiting]) -> int:
    """Open those found; where nothing gates pods any more, also those that came meanwhile."""
    code = 0
    while found and code == 0:
        tally, interrupted = asyncio.run(_open(where, found))
        code = _told(tally, found, interrupted)
        found = asyncio.run(_waiting(where)) if where.remove_admission else ()
    return code


def _intent(stopped: Sequence[str], admission: Sequence[str], found: Sequence[Waiting]) -> str:
    first = ["stop the controller"] if stopped else []
    if admission:
        first.append(f"delete {counted(len(admission), 'admission object')} of Penstock")
    released = f"release {_counted(found) if found else 'all that waits'}"
    return _sentence(f"{', '.join(first)}, and {released}" if first else released)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _summary(found: Sequence[Waiting], where: Everything) -> str:
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


async def _in_the_way(where: Everything) -> tuple[list[str], list[str]]:
    """Return what is to be stopped, and which admission objects are to go."""
    async with await where.connect() as client:
        return await shutdown.names(client), await admission_removal.names(client)


async def _waiting(where: Everything) -> list[Waiting]:
    async with await where.connect() as client:
        with Console(stderr=True).status("Looking for what waits"):
            return await waiting(client, where.namespace)


async def _remove_admission(where: Everything) -> None:
    """Remove what adds the gate, the controller, and what protects the gate, in this order."""
    async with await where.connect() as client:
        with Console(stderr=True).status("Deleting what adds the gate") as status:
            await admission_removal.remove_what_adds(client)
            status.update("Stopping the controller")
            if left := await shutdown.shut_down(client):
                raise click.ClickException(_still_there(left))
            status.update("Deleting what protects the gate")
            await admission_removal.remove_what_protects(client)


def _still_there(pods: Sequence[str]) -> str:
    return (
        f"the controller was scaled to 0, but {', '.join(pods)} did not end in {shutdown.LONGEST_SECONDS:.0f} s: see "
        "whether something scales it up again (Argo CD, Flux) or a node is away, then repeat this command"
    )


def _agreed(question: str) -> bool:
    try:
        return click.confirm(question)
    except click.Abort:
        if sys.stdin.isatty():
            raise  # Ctrl-C
        raise click.UsageError("there is no terminal to ask on: add --yes") from None


async def _open(where: Everything, found: Sequence[Waiting]) -> tuple[Tally, bool]:
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
