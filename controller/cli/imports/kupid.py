"""`penstock import kupid`: kupid's policies as ours, from YAML to YAML."""

from __future__ import annotations

from typing import Any, TextIO

import click
import yaml

from controller.api.parse import InvalidObject, parse_cluster_pod_scheduling_policy, parse_pod_scheduling_policy
from controller.cli.files import files_option
from controller.cli.imports.documents import (
    ConversionError,
    is_foreign,
    kept_metadata,
    not_one_of,
    objects,
    tell_foreign,
    toleration,
    without_nulls,
)
from controller.core.keys import GROUP, VERSION
from controller.kube.manifests import form

_GROUP = "kupid.gardener.cloud"
_KUPID = f"{_GROUP}/v1alpha1"
_PARSERS = {
    "PodSchedulingPolicy": parse_pod_scheduling_policy,
    "ClusterPodSchedulingPolicy": parse_cluster_pod_scheduling_policy,
}
_TOLD = {
    "Pods": "kupid changed the templates in Deployments, StatefulSets, DaemonSets, Jobs and CronJobs by the templates' "
    "labels; here pods are changed when they are created: podSelector has to match the labels of the pods "
    "(--target PodTemplates keeps kupid's way)",
    "PodTemplates": "templates are changed only with config/components/pod-template-policies installed; ReplicaSets "
    "and Jobs that have a controller are left alone, since they are made from a template that was changed",
}
_DIFFERENCES = {
    "schedulerName": "takes effect here, on pods that name no scheduler or default-scheduler; in kupid it never did, "
    "since the apiserver writes default-scheduler into every pod first",
    "nodeName": "becomes a required node affinity on pods that wait at a scheduling gate",
}


@click.command()
@files_option("YAML or JSON.")
@click.option(
    "--target",
    type=click.Choice(list(_TOLD)),
    default="Pods",
    show_default=True,
    help="What the policies change. PodTemplates is what kupid did; templates then differ from those in Git.",
)
def kupid(files: tuple[TextIO, ...], target: str) -> None:
    """Convert kupid's PodSchedulingPolicies and ClusterPodSchedulingPolicies to Penstock's, on stdout.

    Reports differences, and objects of other projects that it leaves out, on stderr. Writes nothing if a policy cannot
    be converted, or if two have the same name.

    \b
    Example:
      penstock import kupid -f policies.yaml | kubectl apply -f -
    """
    faults: list[str] = []
    warnings: list[str] = []
    converted: list[dict[str, Any]] = []
    first: dict[tuple[str, str, str], str] = {}
    for where, body in (one for file in files for one in objects(file)):
        if is_foreign(body, _GROUP):
            tell_foreign(where, body)
            continue
        try:
            document = convert(where, body, target=target)
        except ConversionError as error:
            faults.append(str(error))
            continue
        metadata = document["metadata"]
        key = document["kind"], metadata.get("namespace", ""), metadata["name"]
        if first.setdefault(key, where) != where:
            faults.append(f"{where}: {key[0]} {key[2]}: metadata.name: there is another at {first[key]}; leave one out")
        converted.append(document)
        spec = document["spec"]
        warnings += [f"{where}: spec.{name}: {text}" for name, text in _DIFFERENCES.items() if spec.get(name)]
    if faults or not converted:
        names = ", ".join(file.name for file in files)
        nothing = f"{names}: {'hold' if len(files) > 1 else 'holds'} no object of {_KUPID}"
        raise click.ClickException("\n".join(faults) or nothing)
    for warning in (_TOLD[target], *warnings):
        click.echo(f"Warning: {warning}", err=True)
    click.echo(yaml.safe_dump_all(converted, sort_keys=False, explicit_start=True), nl=False)


def convert(where: str, body: object, *, target: str) -> dict[str, Any]:
    """Return the object as one of ours, for pods or for their templates. Raises ConversionError."""
    if not isinstance(body, dict):
        raise ConversionError(f"{where}: must be an object, is {form(body)}")
    kind, version = body.get("kind"), body.get("apiVersion")
    if version != _KUPID:
        raise not_one_of([_KUPID], f"{where}: apiVersion", version)
    if not isinstance(kind, str) or kind not in _PARSERS:
        raise not_one_of(_PARSERS, f"{where}: kind", kind)
    document = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": kind,
        "metadata": kept_metadata(body.get("metadata")),
        "spec": _spec(body.get("spec"), target),
    }
    try:
        _PARSERS[kind](document)
    except InvalidObject as error:
        raise ConversionError("\n".join(f"{where}: {fault}" for fault in error.faults)) from None
    return document


def _spec(written: object, target: str) -> object:
    """Without what is null, or an empty name, which both say no more than absence; empty selectors stay."""
    spec = without_nulls(written)
    if not isinstance(spec, dict):
        return spec
    spec = {name: value for name, value in spec.items() if name not in _DIFFERENCES or value != ""}
    if isinstance(spec.get("tolerations"), list):
        spec["tolerations"] = [toleration(one) for one in spec["tolerations"]]
    return spec if target == "Pods" else {**spec, "target": target}
