"""`penstock release`: undoes a hold, or with --all opens gates and lets Jobs begin (`opening_all`)."""

from __future__ import annotations

import click

from controller.cli.acting import Where, acting_options
from controller.cli.by_hand import Asked, run_by_hand
from controller.cli.opening_all import Everything, open_all
from controller.core.kubernetes.names import is_dns_label
from controller.core.queueing.operator_actions import Verb


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Remove the gate from every pod, and let every held Job begin.")
@click.option("-n", "--namespace", metavar="NAME", help="Default: the context's; with --all every namespace.")
@click.option("--dry-run", is_flag=True, help="Say what would be released, and release nothing.")
@click.option("--yes", is_flag=True, help="With --all: do not ask.")
@click.option(
    "--remove-admission",
    is_flag=True,
    help="With --all: first stop the controller and delete all that adds and protects the gate; to uninstall.",
)
@acting_options
def release(
    targets: tuple[str, ...],
    everything: bool,
    namespace: str | None,
    dry_run: bool,
    yes: bool,
    remove_admission: bool,
    where: Where,
) -> int:
    """Release what `penstock hold` holds; with --all, let all pods and Jobs go that wait instead.

    TARGET is pod/NAME, group/NAME, job/NAME, queue/NAME (a LocalQueue), clusterqueue/NAME, or an owner of pods such as
    statefulset/NAME.

    With --all, the command removes Penstock's gate from every pod, and unsuspends all that is held as a whole,
    whatever the quotas say: to uninstall Penstock, or while it cannot run. This is no admission: pods and Jobs get no
    flavor, no nodes and no stamps. Gates of other controllers stay. While the gate is protected, only the break-glass
    group may do this (--as, --as-group). With --remove-admission this command first deletes all that would gate new
    pods, stops the controller, and deletes the protection: then Penstock itself can be removed.

    Exit code: 0 all targets are released, 1 a target could not be released, 130 interrupted.

    \b
    Example:
      penstock release job/train -n team-a
      penstock release --all --dry-run
      penstock release --all --namespace team-a
      penstock release --all --yes --as jane --as-group penstock:break-glass
      penstock release --all --remove-admission
    """
    _check(targets, everything=everything, yes=yes, remove_admission=remove_admission)
    if targets:
        asked = Asked(Verb.RELEASE, targets, namespace, is_dry=dry_run)
        return run_by_hand(asked, where)
    if namespace is not None and not is_dns_label(namespace):  # an empty one would mean all
        raise click.UsageError(f"--namespace: {namespace!r} is no name of a namespace")
    if namespace and remove_admission:
        raise click.UsageError("--remove-admission is for the whole cluster: leave out --namespace")
    there = Everything(where.kubeconfig, where.context, where.acting_as, namespace, remove_admission)
    return open_all(there, dry_run=dry_run, yes=yes)


def _check(targets: tuple[str, ...], *, everything: bool, yes: bool, remove_admission: bool) -> None:
    if targets and everything:
        raise click.UsageError("--all frees every pod and Job, and names none: leave it out to undo a hold")
    if targets and yes:
        raise click.UsageError("--yes answers the question of --all; undoing a hold asks nothing")
    if remove_admission and not everything:
        raise click.UsageError("--remove-admission needs --all: whoever is left would wait without protection")
    if not targets and not everything:
        raise click.UsageError(
            "name what is held (pod/NAME, job/NAME, queue/NAME, …), or say --all: every pod and Job that waits is then "
            "let run whatever the quotas say, with -n those of one namespace"
        )
