"""`penstock import kueue-pods`: options, words, exit code. What is read and sent: `runtime.kueue_pods`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import click

from controller.cli.acting import Where, acting_options
from controller.cli.counts import counted
from controller.cli.main import EXIT_FAULT
from controller.core.gate.adoption import Adoption, Orphan
from controller.core.gate.job_adoption import JobAdoption, JobHold, JobOrphan
from controller.core.gate.protection import Rule
from controller.core.keys import ACCEPTED, BREAK_GLASS, KUEUE_LABELS
from controller.kube.client import Client
from controller.kube.errors import Forbidden, KubeError, one_line
from controller.runtime.kueue_pods import Change, Found, Tally, accepting_namespaces, adopt_all, judged

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
    """Charge pods and Jobs that Kueue admitted to Penstock's queues, and let Jobs that wait in Kueue wait here.

    Handles namespaces with the label penstock.dev/kueue-labels=Accepted, which Kueue must not manage any more. Each
    running pod gets the queue's label and the stamps of a pod that Penstock admitted. The queue is the one that Kueue's
    label names, on the pod or its Job. The flavor is the one whose labels are in the pod's node selector, else that of
    its node, but never one that the pod's own node selector or affinity contradicts: such a pod is reported and left as
    it is. A running Job gets the same stamps, so that its queue is charged for the pods that it still creates. A Job
    that Kueue keeps suspended gets the queue's label, and waits here. The converted objects have to exist (penstock
    import kueue). Only the break-glass group may write these keys (--as, --as-group). You can repeat the command.

    Exit code: 0 all pods and Jobs of Kueue are adopted, 1 some could not be adopted, 130 interrupted.

    \b
    Example:
      penstock import kueue-pods --dry-run
      penstock import kueue-pods --as jane --as-group penstock:break-glass
    """
    found, tally = asyncio.run(_run(where, namespace, is_dry=dry_run))
    changes = [one for one in found if not isinstance(one, (Orphan, JobOrphan))]
    orphans = [one for one in found if isinstance(one, (Orphan, JobOrphan))]
    for line in _told([(_name(one), one.why) for one in orphans]):
        click.echo(line, err=True)
    if tally is None:
        for one in changes:
            click.echo(f"{_name(one)}: {_place(one)}")
        click.echo(f"{_counted(changes)} would be adopted{_by_queue(changes)}.", err=True)
        return EXIT_FAULT if orphans else 0
    for line in _told([(_name(one), _reason(error)) for one, error in tally.refused]):
        click.echo(line, err=True)
    gone = f"; {_counted(tally.gone)} had gone or changed meanwhile" if tally.gone else ""
    click.echo(f"Adopted {_counted(tally.done)}{_by_queue(tally.done)}{gone}.")
    return EXIT_FAULT if orphans or tally.refused else 0


async def _run(where: Where, namespace: str | None, *, is_dry: bool) -> tuple[list[Found], Tally | None]:
    async with await where.connect() as client:
        found = await judged(client, await _namespaces(client, namespace))
        if is_dry:
            return found, None
        return found, await adopt_all(client, [one for one in found if not isinstance(one, (Orphan, JobOrphan))])


async def _namespaces(client: Client, namespace: str | None) -> dict[str, bool]:
    accepting = await accepting_namespaces(client)
    if namespace is None and not accepting:
        raise click.ClickException(f"no namespace has the label {KUEUE_LABELS}={ACCEPTED}: label those that move over")
    if namespace is not None and namespace not in accepting:
        raise click.ClickException(
            f"namespace {namespace} does not have the label {KUEUE_LABELS}={ACCEPTED}: label it, so that its new pods "
            "are queued here too"
        )
    return accepting if namespace is None else {namespace: accepting[namespace]}


def _told(refused: Iterable[tuple[str, str]]) -> Iterator[str]:
    """One line each for the first few of each reason, then how many more."""
    alike: dict[str, list[str]] = {}
    for name, reason in refused:
        alike.setdefault(reason, []).append(f"Error: {name}: not adopted: {reason}")
    for lines in alike.values():
        yield from lines[:_TOLD]
        if len(lines) > _TOLD:
            yield f"and {len(lines) - _TOLD} more, for the same reason"


def _reason(error: KubeError) -> str:
    if isinstance(error, Forbidden) and f"{Rule.KEYS_ARE_OURS}: " in error.message:
        return f"only Penstock and the break-glass group write its keys: add --as NAME --as-group {BREAK_GLASS}"
    return one_line(error)


def _name(one: Found) -> str:
    return one.pod.key if isinstance(one, (Adoption, Orphan)) else f"Job {one.job.key}"


def _place(one: Change) -> str:
    if isinstance(one, JobHold):
        return f"LocalQueue {one.queue}, waits"
    return f"LocalQueue {one.queue}, ClusterQueue {one.cluster_queue}, flavor {one.flavor}"


def _counted(changes: Sequence[Change]) -> str:
    """Write how many pods, running Jobs and waiting Jobs there are; of what there is none nothing is said."""
    kinds = ((Adoption, "pod"), (JobAdoption, "running Job"), (JobHold, "waiting Job"))
    counts = [(sum(isinstance(one, kind) for one in changes), noun) for kind, noun in kinds]
    return ", ".join(counted(count, noun) for count, noun in counts if count) or counted(0, "pod")


def _by_queue(changes: Iterable[Change]) -> str:
    counts = Counter((one.cluster_queue, one.flavor) for one in changes if isinstance(one, Adoption))
    text = ", ".join(f"{queue}/{flavor} {count}" for (queue, flavor), count in sorted(counts.items()))
    return f" ({text})" if text else ""
