"""`penstock import kueue-pods`: options, words, exit code. What is read and sent: `runtime.kueue_pods`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator

import click

from controller.cli.acting import Where, acting_options
from controller.cli.counts import counted
from controller.cli.main import EXIT_FAULT
from controller.core.gate.adoption import Adoption, Orphan
from controller.core.gate.protection import Rule
from controller.core.keys import ACCEPTED, BREAK_GLASS, KUEUE_LABELS
from controller.kube.client import Client
from controller.kube.errors import Forbidden, KubeError, one_line
from controller.runtime.kueue_pods import Tally, accepting_namespaces, adopt_all, judged

_TOLD = 5


@click.command("kueue-pods")
@click.option("-n", "--namespace", metavar="NAME", help="Default: every namespace that accepts Kueue's labels.")
@click.option("--dry-run", is_flag=True, help="Say what would be adopted, and change nothing.")
@acting_options
def kueue_pods(
    namespace: str | None,
    dry_run: bool,
    where: Where,
) -> int:
    """Charge pods that Kueue admitted to Penstock's queues, so that both together admit no more than the quota.

    Handles namespaces with the label penstock.dev/kueue-labels=Accepted. Each pod gets the queue's label and the stamps
    of a pod that Penstock admitted. The queue is the one that Kueue's label names, on the pod or its Job. The flavor is
    the one whose labels are in the pod's node selector, else that of its node, but never one that the pod's own node
    selector or affinity contradicts: such a pod is reported and left as it is. The converted objects have to exist
    (penstock import kueue). Only the break-glass group may write these keys (--as, --as-group). You can repeat the
    command.

    Exit code: 0 all pods of Kueue are adopted, 1 some could not be adopted, 130 interrupted.

    \b
    Example:
      penstock import kueue-pods --dry-run
      penstock import kueue-pods --as jane --as-group penstock:break-glass
    """
    found, tally = asyncio.run(_run(where, namespace, is_dry=dry_run))
    adoptions = [one for one in found if isinstance(one, Adoption)]
    orphans = [one for one in found if isinstance(one, Orphan)]
    for line in _told([(one.pod.key, one.why) for one in orphans]):
        click.echo(line, err=True)
    if tally is None:
        for one in adoptions:
            click.echo(f"{one.pod.key}: LocalQueue {one.queue}, ClusterQueue {one.cluster_queue}, flavor {one.flavor}")
        click.echo(f"{counted(len(adoptions), 'pod')} would be adopted{_by_queue(adoptions)}.", err=True)
        return EXIT_FAULT if orphans else 0
    for line in _told([(one.pod.key, _reason(error)) for one, error in tally.refused]):
        click.echo(line, err=True)
    gone = f"; {counted(len(tally.gone), 'pod')} had gone or changed meanwhile" if tally.gone else ""
    click.echo(f"Adopted {counted(len(tally.adopted), 'pod')}{_by_queue(tally.adopted)}{gone}.")
    return EXIT_FAULT if orphans or tally.refused else 0


async def _run(where: Where, namespace: str | None, *, is_dry: bool) -> tuple[list[Adoption | Orphan], Tally | None]:
    async with await where.connect() as client:
        found = await judged(client, await _namespaces(client, namespace))
        if is_dry:
            return found, None
        return found, await adopt_all(client, [one for one in found if isinstance(one, Adoption)])


async def _namespaces(client: Client, namespace: str | None) -> list[str]:
    accepting = await accepting_namespaces(client)
    if namespace is None and not accepting:
        raise click.ClickException(f"no namespace has the label {KUEUE_LABELS}={ACCEPTED}: label those that move over")
    if namespace is not None and namespace not in accepting:
        raise click.ClickException(
            f"namespace {namespace} does not have the label {KUEUE_LABELS}={ACCEPTED}: label it, so that its new pods "
            "are queued here too"
        )
    return accepting if namespace is None else [namespace]


def _told(refused: Iterable[tuple[str, str]]) -> Iterator[str]:
    """One line a pod for the first few of each reason, then how many more."""
    alike: dict[str, list[str]] = {}
    for pod, reason in refused:
        alike.setdefault(reason, []).append(f"Error: {pod}: not adopted: {reason}")
    for lines in alike.values():
        yield from lines[:_TOLD]
        if len(lines) > _TOLD:
            yield f"and {len(lines) - _TOLD} more, for the same reason"


def _reason(error: KubeError) -> str:
    if isinstance(error, Forbidden) and f"{Rule.KEYS_ARE_OURS}: " in error.message:
        return f"only Penstock and the break-glass group write its keys: add --as NAME --as-group {BREAK_GLASS}"
    return one_line(error)


def _by_queue(adoptions: Iterable[Adoption]) -> str:
    counts = Counter((one.cluster_queue, one.flavor) for one in adoptions)
    text = ", ".join(f"{queue}/{flavor} {count}" for (queue, flavor), count in sorted(counts.items()))
    return f" ({text})" if text else ""
