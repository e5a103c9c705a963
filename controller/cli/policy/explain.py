"""`penstock policy explain`: what the webhook does to a pod, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click

from controller.cli.files import files_option
from controller.cli.policy import explain_output
from controller.cli.policy.candidates import JudgedPod, of_document
from controller.cli.policy.faults import EXIT_BAD, NoAnswer
from controller.cli.policy.from_cluster import connected, current_namespace, surroundings_in
from controller.cli.policy.from_files import documents_of, surroundings_of
from controller.cli.policy.kueue_unsupported import unsupported
from controller.cli.policy.options import objects_option, scheduling_options, webhook_options
from controller.cli.policy.other_kinds import makes_pods_unqueued, unqueued
from controller.cli.policy.surroundings import Settings
from controller.cli.policy.trace import Result, Trace, trace
from controller.cli.policy.workloads import KINDS, Unusable, makes_pods
from controller.core.scheduling_policies.policy import MergeOption
from controller.kube.manifests import Document, ManifestError, parse_documents, read_stream
from controller.telemetry.options import connection_options


@click.command()
@files_option("Pods or workloads;")
@click.option(
    "-n", "--namespace", metavar="NAME", help="Where the pod is created; default: the file's, else the current one."
)
@objects_option
@webhook_options
@scheduling_options
@connection_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(
    files: tuple[TextIO, ...],
    namespace: str | None,
    objects: tuple[Path, ...],
    runtime_classes: bool,
    default_runtime_class: str | None,
    scheduling_policies: bool | None,
    scheduling_policy_merge: str,
    kubeconfig: str | None,
    context: str | None,
    output: str,
) -> int:
    """Show what happens to a pod when it is created: which policy does what, and why others do nothing.

    For a Deployment, Job or other workload, the command explains the pod that it will create. Policies come from the
    cluster, or from files with --objects; nothing is written. Exit code: 0 the pod is created, 1 it is refused, 2 there
    is no answer.

    \b
    Example:
      penstock policy explain -f job.yaml -n team-a
      penstock policy explain -f job.yaml --objects policies/
    """
    settings = Settings(
        runtime_classes=runtime_classes,
        default_runtime_class=default_runtime_class,
        scheduling_policies=scheduling_policies,
        scheduling_policy_merge=MergeOption(scheduling_policy_merge),
    )
    documents = _pods_in(files)
    if objects:
        candidates = _candidates(documents, namespace, "default")
        surroundings = surroundings_of(documents_of(objects), settings)
        traces = [trace(candidate, surroundings) for candidate in candidates]
    else:
        candidates = _candidates(documents, namespace, namespace or current_namespace(kubeconfig, context))
        traces = asyncio.run(_ask(candidates, settings, kubeconfig, context))
    show = explain_output.show_json if output == "json" else explain_output.show_text
    show(traces)
    return EXIT_BAD if any(one.result is Result.REFUSED for one in traces) else 0


def _pods_in(files: Sequence[TextIO]) -> list[Document]:
    """The objects of the files that make pods; what others they hold is told on stderr."""
    documents: list[Document] = []
    for file in files:
        try:
            documents += parse_documents(read_stream(file), file.name)
        except ManifestError as error:
            raise NoAnswer(str(error)) from None
    found = [document for document in documents if makes_pods(document)]
    left_out = [f"{one.where}: {line}" for one in documents if not makes_pods(one) for line in _left_out(one)]
    if not found:
        held = ", ".join(dict.fromkeys(str(document["kind"]) for document in documents)) or "no object"
        names = ", ".join(file.name for file in files)
        text = f"{names}: {'hold' if len(files) > 1 else 'holds'} {held}; needed is one of {', '.join(KINDS)}"
        raise NoAnswer("\n".join([text, *left_out]))
    for line in left_out:
        click.echo(line, err=True)
    return found


def _left_out(document: Document) -> tuple[str, ...]:
    if makes_pods_unqueued(document):
        return (*unqueued(document), *unsupported(document))
    return (f"{document['kind']}: makes no pods, left out",)


def _candidates(documents: Sequence[Document], namespace: str | None, default: str) -> list[JudgedPod]:
    found, faults = [], []
    for document in documents:
        try:
            found.append(of_document(document, namespace=namespace, default=default))
        except Unusable as error:
            faults += [f"{document.where}: {document['kind']}: {line}" for line in str(error).splitlines()]
    if faults:
        raise NoAnswer("\n".join(faults))
    return found


async def _ask(
    candidates: Sequence[JudgedPod], settings: Settings, kubeconfig: str | None, context: str | None
) -> list[Trace]:
    async with connected(kubeconfig, context) as client:
        known = {}
        for namespace in dict.fromkeys(candidate.namespace for candidate in candidates):
            known[namespace] = await surroundings_in(client, settings, namespace)
    traces = []
    for candidate in candidates:
        surroundings, notes = known[candidate.namespace]
        traces.append(trace(candidate, surroundings, notes))
    return traces
