"""`penstock import kueue`: Kueue's queues as ours, from YAML to YAML."""

from __future__ import annotations

from typing import Any, NamedTuple, TextIO, get_args

import click
import yaml

from controller.cli.files import files_option
from controller.cli.imports.documents import ConversionError, is_foreign, objects, tell_foreign, without_nulls
from controller.cli.imports.kueue_configuration import config_map, is_configuration, quota_resources, warnings
from controller.cli.imports.kueue_conversion import convert
from controller.cli.imports.kueue_documents import GROUP, Found, read
from controller.cli.imports.kueue_flavors import Capacity
from controller.cli.imports.kueue_report import Report
from controller.core.kubernetes.quota_resources import QuotaResources

_TOLD: dict[Capacity, str] = {
    "Nodes": "there quota alone admits; here a pod is admitted only when a node of its flavor has room for it too "
    "(--capacity Static for quota alone, as where nodes are made for pods that wait)",
    "Static": "capacity.static of a flavor is what all queues own of it together: raise it with their quotas",
}
_LABEL = (
    "pods name their queue by the label penstock.dev/queue-name; that of Kueue, kueue.x-k8s.io/queue-name, counts in "
    "namespaces with the label penstock.dev/kueue-labels=Accepted; pods and Jobs that run already, and Jobs that wait "
    "suspended, are taken over by penstock import kueue-pods"
)
_PARTIAL = "nothing is written; change the objects, or accept this by --partial"


@click.command()
@files_option("YAML or JSON; give all objects of a tree at once.")
@click.option(
    "--capacity",
    type=click.Choice(get_args(Capacity)),
    default="Nodes",
    show_default=True,
    help="How flavors know their capacity. Nodes: from the existing nodes. Static: quota alone decides, as in Kueue.",
)
@click.option(
    "--partial", is_flag=True, help="Write what can be converted, even if pods are then admitted differently."
)
@click.option(
    "--fair-sharing",
    is_flag=True,
    help="Enable fair sharing in every tree, as fairSharing in Kueue's configuration does.",
)
def kueue(files: tuple[TextIO, ...], capacity: Capacity, partial: bool, fair_sharing: bool) -> None:
    """Convert Kueue's queues, cohorts, flavors and WorkloadPriorityClasses to Penstock's, on stdout.

    Reads v1beta1 and v1beta2, and Cohorts and Topologies of v1alpha1. Of Kueue's own configuration file, it reads
    transformations, excludeResourcePrefixes and deviceClassMappings of resources, and writes them as a ConfigMap.
    Leaves out objects of other projects. Reports each difference on stderr, one per line. Writes nothing if an object
    is faulty, or if something was left out that changes which pods are admitted.

    \b
    Example:
      kubectl get clusterqueues.kueue.x-k8s.io,cohorts.kueue.x-k8s.io -o yaml > queues.yaml
      kubectl get resourceflavors.kueue.x-k8s.io -o yaml > flavors.yaml
      kubectl get localqueues.kueue.x-k8s.io -A -o yaml > local-queues.yaml
      kubectl get workloadpriorityclasses.kueue.x-k8s.io -o yaml > priorities.yaml
      penstock import kueue -f queues.yaml -f flavors.yaml -f local-queues.yaml -f priorities.yaml | kubectl apply -f -
    """
    report = Report()
    try:
        read_of = _read(files)
        documents = convert(read_of.objects, capacity, report, fair_sharing=fair_sharing)
        documents = [*_resources(read_of.configurations, documents, report), *documents]
    except ConversionError as error:
        raise click.ClickException(str(error)) from None
    left_out = report.losses if partial else []
    for warning in (_LABEL, _TOLD[capacity], *report.warnings, *left_out):
        click.echo(f"Warning: {warning}", err=True)
    if report.losses and not partial:
        raise click.ClickException("\n".join([*report.losses, _PARTIAL]))
    click.echo(yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True), nl=False)


class _Input(NamedTuple):
    """Objects of the files, and by where it stands Kueue's own configuration."""

    objects: list[Found]
    configurations: dict[str, dict[str, Any]]


def _resources(
    configurations: dict[str, dict[str, Any]], documents: list[dict[str, Any]], report: Report
) -> list[dict[str, Any]]:
    """Return the ConfigMap of a configuration that says which resources quota counts. Raises ConversionError."""
    if len(configurations) > 1:
        raise ConversionError(f"{' and '.join(configurations)}: two configurations of Kueue; leave one of them out")
    made = list[dict[str, Any]]()
    for where, body in configurations.items():
        told = quota_resources(where, body, report.losses)
        queues = [one for one in documents if one["kind"] == "ClusterQueue"]
        report.warnings += warnings(where, body, told, queues)
        made += [config_map(body)] if told != QuotaResources() else []
    return made


def _read(files: tuple[TextIO, ...]) -> _Input:
    """Return every object of the files. Raises ConversionError with the faults of all of them."""
    found: list[Found] = []
    configurations: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for file in files:
        for where, body in objects(file):
            if isinstance(body, dict) and is_configuration(body):
                configurations[where] = without_nulls(body)
                continue
            if is_foreign(body, GROUP):
                tell_foreign(where, body)
                continue
            try:
                found.append(read(where, body))
            except ConversionError as error:
                faults.append(str(error))
    if not found and not configurations and not faults:
        faults.append(f"{', '.join(file.name for file in files)}: {'hold' if len(files) > 1 else 'holds'} no object")
    if faults:
        raise ConversionError("\n".join(faults))
    return _Input(found, configurations)
