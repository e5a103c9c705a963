"""`penstock explain`: why a workload waits, who holds what it waits for, and which change would admit it."""

from __future__ import annotations

import asyncio

import click
import msgspec
from msgspec import structs

from controller.cli.asking import Source, source_options, without_api_option
from controller.cli.evicted import Evicted, evicted, evicted_text
from controller.cli.explain_by_api import explain_by_api, explain_queue_by_api, known_targets, remedies_of
from controller.cli.explained import Explained
from controller.cli.output import show_document
from controller.cli.target_completion import complete_target
from controller.cli.targets import nothing_named, read_target
from controller.cli.visibility_client import VisibilityClient
from controller.runtime.operator_action_targets import QUEUES, Target
from controller.visibility.explanation_rows import Explanation, QueueExplanation
from controller.visibility.explanation_text import explanation_text, queue_text, remedies_text


@click.command("explain")
@click.argument("target", metavar="TARGET", shell_complete=complete_target)
@click.option("-o", "--output", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@without_api_option
@source_options
def explain_command(target: str, form: str, source: Source) -> None:
    """Say why a pod, Job or group waits, who holds what it waits for, and which change would admit it.

    TARGET is pod/NAME (or just NAME), job/NAME, group/NAME, queue/NAME (a LocalQueue) or clusterqueue/NAME. Each change
    in the answer was tried: the controller's own decision was made on the cluster as it is now, with that change. For a
    Job, the command explains the first waiting pod; for a queue, the reasons for which its pods wait. On a cluster, it
    also lists evictions in the last hour, with the workload and the rule that caused them.

    Exit code: 0 there is an answer, 1 there is no such workload, 130 interrupted.

    \b
    Example:
      penstock explain pod/train-7 -n team-a
      penstock explain job/train -o json
      penstock explain pod/train-7 --snapshot now.json.gz
    """
    wanted = read_target(target)
    is_asked = source.from_api(lambda api: _by_api(api, source, wanted, form))
    if is_asked is None:
        _by_snapshot(source, wanted, form)


async def _by_api(api: VisibilityClient, source: Source, wanted: Target, form: str) -> bool:
    """Show what the API says; the remedies a moment after the rest."""
    if wanted.kind in QUEUES:
        _show_queue(await explain_queue_by_api(api, source, wanted), form)
        return True
    told = await explain_by_api(api, source, wanted)
    before = await asyncio.to_thread(evicted, source, wanted)
    if told is None and not before:
        raise nothing_named(wanted, await known_targets(api, source), source.namespaces)
    first = _show_first(wanted, told, before, form)
    if first is not None:
        whole = structs.replace(first, remedies=await remedies_of(api, first.namespace, wanted))
        _show_rest(whole, before, form)
    return True


def _by_snapshot(source: Source, wanted: Target, form: str) -> None:
    """Decide on the cluster, or on a file, and show what that says."""
    from controller.cli.explain_by_snapshot import explain_by_snapshot, explain_queue_by_snapshot

    if wanted.kind in QUEUES:
        _show_queue(explain_queue_by_snapshot(source, wanted), form)
        return
    before = evicted(source, wanted)
    told = explain_by_snapshot(source, wanted, was_evicted=bool(before))
    first = _show_first(wanted, told, before, form)
    if first is not None:
        _show_rest(first, before, form)


def _show_first(wanted: Target, told: Explained | None, before: list[Evicted], form: str) -> Explanation | None:
    """Print why the first waits, and return that; of what does not wait print all. `told` None: it is gone."""
    if told is None or told.explanation is None:
        message = f"{wanted} is gone" if told is None else told.message
        _show_admitted(wanted, None if told is None else told.namespace, message, before, form)
        return None
    if form == "text":
        click.echo("\n".join(explanation_text(told.explanation, told.waiting)))
    return told.explanation


def _show_rest(told: Explanation, before: list[Evicted], form: str) -> None:
    """Print what would admit it and who was evicted before; for programs all of it."""
    if form == "text":
        click.echo("\n".join((*remedies_text(told), *evicted_text(before))))
    else:
        show_document({**msgspec.to_builtins(told), "evicted": msgspec.to_builtins(before)}, form)


def _show_queue(told: QueueExplanation, form: str) -> None:
    if form == "text":
        click.echo("\n".join(queue_text(told)))
    else:
        show_document(msgspec.to_builtins(told), form)


def _show_admitted(wanted: Target, namespace: str | None, message: str, before: list[Evicted], form: str) -> None:
    if form == "text":
        click.echo("\n".join((message, *evicted_text(before))))
    else:
        where = {} if namespace is None else {"namespace": namespace}
        evictions = msgspec.to_builtins(before)
        show_document({"target": str(wanted), **where, "message": message, "evicted": evictions}, form)
