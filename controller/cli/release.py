"""`penstock release`: asks, shows how far it is, and counts; what is sent is `runtime.gate_opener`'s business."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
from rich.console import Console

from controller.cli.main import EXIT_FAULT
from controller.core.keys import BREAK_GLASS, GATE
from controller.core.names import is_dns_label
from controller.core.opening import GatedPod
from controller.kube import config
from controller.kube.client import ActingAs, Client
from controller.kube.errors import KubeError, one_line
from controller.runtime.gate_opener import GateOpener, Tally, gated_pods, is_protection, webhook_away
from controller.telemetry.program import connection_options

_AS_BREAK_GLASS = f"add --as NAME --as-group {BREAK_GLASS}"
_TOLD_PODS = 5


@dataclass(frozen=True, slots=True)
class _Where:
    """Which pods of which cluster, and in whose name."""

    kubeconfig: str | None
    context: str | None
    acting_as: ActingAs | None
    namespace: str | None

    def __str__(self) -> str:
        return f"in namespace {self.namespace}" if self.namespace else "in the cluster"

    async def connect(self) -> Client:
        settings = await config.load(self.kubeconfig, self.context)
        return Client(settings, user_agent="penstock-cli", acting_as=self.acting_as)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Every pod that has the gate; has to be said.")
@click.option("-n", "--namespace", metavar="NAME", help="Only in this namespace; default: in all.")
@click.option("--dry-run", is_flag=True, help="List the pods and release none.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--as", "user", metavar="NAME", help="Act as this user, with the user's rights; needs the right to.")
@click.option("--as-group", "groups", metavar="GROUP", multiple=True, help="Act as a member; repeatable; with --as.")
@connection_options
def release(
    everything: bool,
    namespace: str | None,
    dry_run: bool,
    yes: bool,
    user: str | None,
    groups: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Take Penstock's gate off pods, whatever the quotas say: for uninstalling, or when it cannot run.

    Removes the gate and nothing else. It is no admission: these pods get no flavor, no nodes and no stamps. Gates of
    others stay, and hold. While the gate is protected, only the break-glass group may do this (--as, --as-group).

    Exit code: 0 none is left of those that were there, 1 some could not be released, 130 interrupted.

    \b
    Example:
      penstock release --all --dry-run
      penstock release --all --namespace team-a
      penstock release --all --yes --as jane --as-group penstock:break-glass
    """
    if not everything:
        raise click.UsageError("say --all: every pod that has the gate is released, with -n those of one namespace")
    if namespace is not None and not is_dns_label(namespace):  # an empty one would mean all
        raise click.UsageError(f"--namespace: {namespace!r} is no name of a namespace")
    where = _Where(kubeconfig, context, _acting_as(user, groups), namespace)
    pods = asyncio.run(_find(where))
    if dry_run:
        for pod in pods:
            click.echo(pod.key)
    if dry_run or not pods:
        click.echo(f"{_count(len(pods))} {where} {'has' if len(pods) == 1 else 'have'} the gate {GATE}.", err=dry_run)
        return 0
    if not yes and not _agreed(f"Release {_count(len(pods))} {where}, whatever the quotas say?"):
        click.echo("None was released.")
        return EXIT_FAULT
    tally, interrupted = asyncio.run(_open(where, pods))
    return _told(tally, len(pods), interrupted)


def _acting_as(user: str | None, groups: tuple[str, ...]) -> ActingAs | None:
    if groups and not user:
        raise click.UsageError("--as-group needs --as NAME too: Kubernetes takes groups only along with a user")
    return ActingAs(user, groups) if user else None


async def _find(where: _Where) -> list[GatedPod]:
    async with await where.connect() as client:
        with Console(stderr=True).status("Looking for pods at the gate"):
            return await gated_pods(client, where.namespace)


def _agreed(question: str) -> bool:
    try:
        return click.confirm(question)
    except click.Abort:
        if sys.stdin.isatty():
            raise  # Ctrl-C
        raise click.UsageError("there is nobody to ask: add --yes") from None


async def _open(where: _Where, pods: Sequence[GatedPod]) -> tuple[Tally, bool]:
    """Release the pods; Ctrl-C ends it after the requests that are under way, a second one at once."""
    loop = asyncio.get_running_loop()
    interrupted = False
    # on a terminal alone: elsewhere nobody waits for it
    with Console(stderr=True).status("Releasing") as status:
        async with await where.connect() as client:
            opener = GateOpener(client, on_progress=lambda tally: status.update(f"{tally.done} of {len(pods)} pods"))

            def stop() -> None:
                nonlocal interrupted
                interrupted = True
                loop.remove_signal_handler(signal.SIGINT)
                opener.stop()

            loop.add_signal_handler(signal.SIGINT, stop)
            try:
                return await opener.open(pods), interrupted
            finally:
                loop.remove_signal_handler(signal.SIGINT)


def _told(tally: Tally, expected: int, interrupted: bool) -> int:
    for line in _refusals(tally):
        click.echo(line, err=True)
    needless = f"; {_count(tally.needless)} had no gate any more" if tally.needless else ""
    left = f"; {_count(expected - tally.done)} not tried" if tally.done < expected else ""
    refused = f"; {_count(len(tally.refused))} could not be" if tally.refused else ""
    click.echo(f"Released {tally.opened} of {_count(expected)}{needless}{refused}{left}.")
    if interrupted and tally.done < expected:
        raise KeyboardInterrupt
    return EXIT_FAULT if tally.refused else 0


def _refusals(tally: Tally) -> Iterator[str]:
    """One line a pod for the first few of each reason, then how many more; the pod's name makes no other reason."""
    alike: dict[str, list[str]] = {}
    for pod, error in tally.refused:
        reason = _reason(error)
        line = f"Error: {pod.key}: not released: {reason}"
        alike.setdefault(reason.replace(f'"{pod.name}"', '""'), []).append(line)
    for lines in alike.values():
        yield from lines[:_TOLD_PODS]
        if len(lines) > _TOLD_PODS:
            yield f"and {len(lines) - _TOLD_PODS} more, for the same reason"


def _reason(error: KubeError) -> str:
    """One line; for what is ours, how to do it."""
    if is_protection(error):
        return f"only Penstock and the break-glass group may open the gate: {_AS_BREAK_GLASS}"
    if webhook := webhook_away(error):
        return f"the webhook {webhook} does not answer: {_AS_BREAK_GLASS}"  # which none of ours is asked about
    return one_line(error)


def _count(number: int) -> str:
    return f"{number} pod" if number == 1 else f"{number} pods"
