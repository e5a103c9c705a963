"""`penstock hold`, `top`, `drain` and `open`, and of `release` what undoes a hold: options, words, exit code.

What is read and sent is the business of `runtime.operator_action_targets` and `runtime.operator_actions`; its meaning,
of `core.queueing.operator_actions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import click
from rich.console import Console

from controller.cli.acting import Where, acting_options
from controller.cli.interrupts import gently
from controller.cli.main import EXIT_FAULT
from controller.cli.refusals import told
from controller.cli.remaining import remaining
from controller.core.kubernetes.names import is_dns_label
from controller.core.queueing.operator_actions import NOTE_MOST, Verb, note
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import KubeError, Unreachable
from controller.runtime.operator_action_targets import QUEUES, BadTarget, NothingThere, Subject, Target, find
from controller.runtime.operator_actions import OperatorActions, Tally, who

_DONE: Final = {
    Verb.HOLD: "held",
    Verb.RELEASE: "released",
    Verb.TOP: "put on top",
    Verb.UNTOP: "on top no longer",
    Verb.DRAIN: "drained",
    Verb.OPEN: "opened",
}
_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants done, to what, where and why. `namespace` None: the context's."""

    verb: Verb
    targets: tuple[str, ...]
    namespace: str | None
    why: str = ""
    is_dry: bool = False


def _target_options(whose: str, would_be: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add what every verb asks: TARGET..., --namespace and --dry-run, with the words of the verb."""

    def added(command: Callable[..., int]) -> Callable[..., int]:
        is_dry = f"Let the apiserver say what would be {would_be}."
        command = click.option("--dry-run", is_flag=True, help=is_dry)(command)
        of = f"Namespace of {whose}; default: the context's."
        command = click.option("-n", "--namespace", metavar="NAME", help=of)(command)
        return click.argument("targets", metavar="TARGET...", nargs=-1, required=True)(command)

    return added


_reason_option = click.option("--reason", "why", metavar="TEXT", default="", help="Why; shown together with your name.")


@click.command()
@_target_options("pods and LocalQueues", "held, and hold nothing")
@_reason_option
@acting_options
def hold(
    targets: tuple[str, ...],
    namespace: str | None,
    why: str,
    dry_run: bool,
    where: Where,
) -> int:
    """Hold waiting workloads, or a queue, until `penstock release` releases them. Running pods continue.

    TARGET is pod/NAME, group/NAME, job/NAME, queue/NAME (a LocalQueue), clusterqueue/NAME, or an owner of pods such as
    statefulset/NAME. A Job is held with the pods that it creates later; of any other owner, and of a group, the pods
    that wait now are held. Penstock records your name and the reason, and shows both in the reason for waiting (Held).

    You need the right to patch what you hold: a pod, a Job, a queue. Everybody with that right may release it.

    Exit code: 0 all targets are held, 1 a target could not be held, 130 interrupted.

    \b
    Example:
      penstock hold job/train -n team-a --reason "the file server moves"
      penstock hold clusterqueue/research --reason "quarterly audit" --dry-run
      penstock release clusterqueue/research
    """
    asked = Asked(Verb.HOLD, targets, namespace, why, dry_run)
    return run_by_hand(asked, where)


@click.command()
@_target_options("the pods", "put on top, and change nothing")
@_reason_option
@click.option("--undo", is_flag=True, help="Undo it: the workload gets its former place back.")
@acting_options
def top(
    targets: tuple[str, ...],
    namespace: str | None,
    why: str,
    undo: bool,
    dry_run: bool,
    where: Where,
) -> int:
    """Let workloads that wait go before the others of their LocalQueue that have no higher priority.

    TARGET is pod/NAME, group/NAME, job/NAME, or an owner of pods such as statefulset/NAME. It passes only workloads of
    its own LocalQueue. Several workloads on top keep their order.

    Needs the right to patch the pod or Job.

    Exit code: 0 all targets are on top, 1 a target could not be moved, 130 interrupted.

    \b
    Example:
      penstock top job/report -n team-a --reason "the board meets at noon"
      penstock top job/report -n team-a --undo
    """
    if undo and why:
        raise click.UsageError("--reason is recorded when a workload is put on top; --undo removes the record")
    asked = Asked(Verb.UNTOP if undo else Verb.TOP, targets, namespace, why, dry_run)
    return run_by_hand(asked, where)


@click.command()
@_target_options("LocalQueues", "drained, and change nothing")
@_reason_option
@acting_options
def drain(
    targets: tuple[str, ...],
    namespace: str | None,
    why: str,
    dry_run: bool,
    where: Where,
) -> int:
    """Hold queues, and evict their admitted pods whose owner recreates them without counting a failure.

    TARGET is queue/NAME (a LocalQueue) or clusterqueue/NAME. Sets stopPolicy: HoldAndDrain; `penstock open` undoes it.
    Evicted pods wait in the queue until then. Pods that may not be evicted run to their end.

    Needs the right to patch the queue.

    Exit code: 0 all queues are drained, 1 a queue could not be drained, or pods stay, 130 interrupted.

    \b
    Example:
      penstock drain clusterqueue/research --reason "the nodes go away"
      penstock open clusterqueue/research
    """
    asked = Asked(Verb.DRAIN, targets, namespace, why, dry_run)
    return run_by_hand(asked, where)


@click.command("open")
@_target_options("LocalQueues", "opened, and change nothing")
@acting_options
def open_queues(
    targets: tuple[str, ...],
    namespace: str | None,
    dry_run: bool,
    where: Where,
) -> int:
    """Open queues again that `penstock drain` drained.

    TARGET is queue/NAME (a LocalQueue) or clusterqueue/NAME. A queue that is held, not drained, is released by
    `penstock release`.

    Exit code: 0 all queues are open, 1 a queue could not be opened, 130 interrupted.

    \b
    Example:
      penstock open clusterqueue/research
    """
    asked = Asked(Verb.OPEN, targets, namespace, is_dry=dry_run)
    return run_by_hand(asked, where)


def run_by_hand(asked: Asked, where: Where) -> int:
    """Do it and tell; return the exit code."""
    targets = _targets(asked)
    namespace = asked.namespace
    if namespace is None:
        namespace = config.namespace(where.kubeconfig, where.context)
    if not is_dns_label(namespace):
        raise click.UsageError(f"--namespace: {namespace!r} is no name of a namespace")
    if len(asked.why) > NOTE_MOST:
        raise click.UsageError(f"--reason: has {len(asked.why)} characters; write at most {NOTE_MOST}")
    return asyncio.run(_run(asked, targets, namespace, where))


def _targets(asked: Asked) -> list[Target]:
    try:
        targets = [Target.read(text) for text in asked.targets]
    except BadTarget as error:
        raise click.UsageError(str(error)) from None
    for target in targets:
        if target.kind in QUEUES and asked.verb in (Verb.TOP, Verb.UNTOP):
            raise click.UsageError(f"{target}: a queue has no place among others; name pods, a group or a Job")
        if target.kind not in QUEUES and asked.verb in (Verb.DRAIN, Verb.OPEN):
            raise click.UsageError(f"{target}: only queues are drained and opened: queue/NAME or clusterqueue/NAME")
    return targets


async def _run(asked: Asked, targets: Iterable[Target], namespace: str, where: Where) -> int:
    async with await where.connect() as client:
        subjects, missing = await _find(client, targets, namespace)
        for error in missing:
            click.echo(f"Error: {error}", err=True)
        noted = note(await who(client), asked.why) if asked.verb in (Verb.HOLD, Verb.TOP, Verb.DRAIN) else ""
        tally, interrupted = await _do(client, asked, noted, subjects)
        _tell(asked, tally, len(subjects))
        if interrupted and tally.count < len(subjects):
            raise KeyboardInterrupt
        pods_stay = await _tell_remaining(client, asked, tally)
    return EXIT_FAULT if missing or tally.refused or pods_stay else 0


async def _tell_remaining(client: Client, asked: Asked, tally: Tally) -> bool:
    """Tell which pods of held and drained queues go on; return whether some stay that a drain was to evict."""
    if asked.is_dry or asked.verb not in (Verb.HOLD, Verb.DRAIN):
        return False
    with Console(stderr=True).status("Looking at what goes on"):
        found = await remaining(client, asked.verb, tally.done)
    _list(found.lines, err=found.pods_stay)
    return found.pods_stay


async def _find(client: Client, targets: Iterable[Target], namespace: str) -> tuple[list[Subject], list[KubeError]]:
    """Return each object once, and why there are none of some targets."""
    subjects: dict[str, Subject] = {}
    missing: list[KubeError] = []
    with Console(stderr=True).status("Looking"):
        for target in targets:
            try:
                found = await find(client, target, namespace)
            except Unreachable:
                raise
            except NothingThere as error:
                missing.append(error)
            except KubeError as error:
                missing.append(KubeError(f"{target}: {told(error)}"))
            else:
                subjects.update((one.path, one) for one in found)
                _warn_of_jobs(target, found)
    return list(subjects.values()), missing


def _warn_of_jobs(target: Target, found: Iterable[Subject]) -> None:
    for one in found:
        if target.kind == "job" and not one.found.names_queue:
            text = "its template names no queue; this concerns only such of its pods as wait at Penstock's gate"
            click.echo(f"Warning: {one.label}: {text}", err=True)


async def _do(client: Client, asked: Asked, noted: str, subjects: Sequence[Subject]) -> tuple[Tally, bool]:
    with Console(stderr=True).status("Working") as status:

        def show(tally: Tally) -> None:
            status.update(f"{tally.count} of {len(subjects)}")

        actions = OperatorActions(client, asked.verb, noted, is_dry=asked.is_dry, on_progress=show)
        with gently(actions.stop) as interrupt:
            return await actions.do(subjects), interrupt.came


def _tell(asked: Asked, tally: Tally, expected: int) -> None:
    done = f"would be {_DONE[asked.verb]}" if asked.is_dry else _DONE[asked.verb]
    _list(f"{one.label}: {done}" for one in sorted(tally.done, key=lambda one: one.label))
    _list(f"{one.label}: {why}" for one, why in sorted(tally.spared, key=lambda one: one[0].label))
    _list(
        (f"Error: {one.label}: cannot be {_DONE[asked.verb]}: {told(error)}" for one, error in tally.refused),
        err=True,
    )
    if expected > 1:
        counts = [f"{len(tally.done)} of {expected} {done}"]
        counts += [f"{len(tally.spared)} needed nothing"] if tally.spared else []
        counts += [f"{len(tally.refused)} could not be"] if tally.refused else []
        counts += [f"{expected - tally.count} not tried"] if tally.count < expected else []
        click.echo(f"{'; '.join(counts)}.")


def _list(lines: Iterable[str], *, err: bool = False) -> None:
    listed = list(lines)
    for line in listed[:_TOLD]:
        click.echo(line, err=err)
    if len(listed) > _TOLD:
        click.echo(f"and {len(listed) - _TOLD} more", err=err)
