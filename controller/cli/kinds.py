"""`penstock kinds`: the kinds of objects that can be held as a whole, and what is to be applied for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import orjson
import yaml
from click.shell_completion import CompletionItem

from controller.api.parse import InvalidObject, parse_workload_kind
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workload_kinds.policies import Installed, documents_of
from controller.core.workload_kinds.reading import written
from controller.kube.manifests import ManifestError, load_documents
from controller.objects.workload_kinds import to_workload_kind
from controller.sandbox.shipped import manifests


@click.group()
def kinds() -> None:
    """See which kinds of objects Penstock can hold as a whole, and print what is to be applied for them.

    \b
    Example:
      penstock kinds list
      penstock kinds render rayjobs.ray.io | kubectl apply -f -
    """


@kinds.command("list")
def list_kinds() -> None:
    """List the kinds that come with Penstock."""
    shipped = {name: _read(document) for name, document in _shipped().items()}
    width = max(map(len, shipped))
    for name, one in shipped.items():
        click.echo(f"{name:<{width}}  {one.kind} of {one.api_version}, suspended by {written(one.suspend)}")


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(_shipped()) if name.startswith(incomplete)]


@kinds.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_complete)
@click.option(
    "--filename",
    "-f",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=True),
    help="A file or folder with WorkloadKinds of your own.",
)
@click.option(
    "--penstock-namespace",
    default=Installed().namespace,
    show_default=True,
    help="The namespace in which Penstock runs.",
)
@click.option(
    "--break-glass-group",
    default=Installed().break_glass,
    show_default=True,
    help="The group whose members may do what only Penstock may.",
)
def render(names: tuple[str, ...], files: tuple[Path, ...], penstock_namespace: str, break_glass_group: str) -> None:
    """Print all that is to be applied for kinds: those called NAME that come with Penstock, or those of files.

    That is the WorkloadKind, admission policies that suspend its objects and protect them, and a role for Penstock's
    controller. The account that creates the pods of the kind also needs the ClusterRole penstock-admits-pods; bind it
    yourself: docs/workload-kinds.md.

    \b
    Example:
      penstock kinds render rayjobs.ray.io rayclusters.ray.io | kubectl apply -f -
      penstock kinds render -f my-kind.yaml --penstock-namespace queues
    """
    if not names and not files:
        raise click.UsageError("name a kind that `penstock kinds list` lists, or give a file with -f")
    installed = Installed(penstock_namespace, break_glass_group)
    found = [*map(_by_name, names), *(one for file in files for one in _in_file(file))]
    documents = [part for one in found for part in (one, *documents_of(_read(one), installed))]
    plain = orjson.loads(orjson.dumps(documents))  # what several have in common would be written as a YAML anchor
    click.echo(yaml.safe_dump_all(plain, sort_keys=False, allow_unicode=True, width=120), nl=False)


def _shipped() -> dict[str, dict[str, Any]]:
    """By the names of their files: two operators may have a kind of the same name, and a cluster one of them."""
    return {file.stem: one for file in sorted(manifests("kinds").glob("*.yaml")) for one in load_documents(file)}


def _by_name(name: str) -> dict[str, Any]:
    shipped = _shipped()
    if name not in shipped:
        known = ", ".join(sorted(shipped))
        raise click.UsageError(f"no kind {name!r} comes with Penstock, which has {known}; give your own file by -f")
    return shipped[name]


def _in_file(file: Path) -> list[dict[str, Any]]:
    try:
        documents = [one for one in load_documents(file) if one.get("kind") == "WorkloadKind"]
    except ManifestError as error:
        raise click.ClickException(str(error)) from None
    if not documents:
        raise click.ClickException(f"{file}: holds no WorkloadKind")
    return documents


def _read(document: dict[str, Any]) -> WorkloadKind:
    try:
        return to_workload_kind(parse_workload_kind(document))
    except InvalidObject as error:
        raise click.ClickException(str(error)) from None
