"""`penstock policy report`: what would become of the pods that exist now if every policy were enforced."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from controller.cli.output import show_document
from controller.cli.policy import report_output
from controller.cli.policy.candidates import of_cluster
from controller.cli.policy.faults import EXIT_BAD, NoAnswer
from controller.cli.policy.findings import Findings
from controller.cli.policy.from_cluster import connected, current_namespace, pods_in, surroundings_in
from controller.cli.policy.from_files import documents_of, surroundings_of
from controller.cli.policy.kinds import (
    ACCESS,
    CLUSTER_POLICIES,
    NAMESPACES,
    POLICIES,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    SCHEDULING_POLICIES,
)
from controller.cli.policy.options import objects_option, scheduling_options
from controller.cli.policy.surroundings import Settings
from controller.core.scheduling_policies.policy import MergeOption
from controller.kube import fields
from controller.telemetry.options import connection_options

_LISTED = 20
_KINDS = (
    NAMESPACES,
    CLUSTER_POLICIES,
    POLICIES,
    SCHEDULING_POLICIES,
    *ACCESS,
    # pods that exist have what the apiserver gave them by these: without SchedulingPolicies nobody asks for them
    *(replace(kind, is_wanted=lambda s: s.judges_accounts) for kind in (RUNTIME_CLASSES, PRIORITY_CLASSES)),
)
"""What pods that exist are judged by."""


@click.command()
@click.option("-n", "--namespace", metavar="NAME", help="The namespace; default: the current one.")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@objects_option
@scheduling_options
@connection_options
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@click.option("--all", "list_all", is_flag=True, help=f"List all that is found, not {_LISTED} of each kind.")
@click.option("--fail", is_flag=True, help="Exit with 1 when a pod would be refused.")
def report(
    namespace: str | None,
    all_namespaces: bool,
    objects: tuple[Path, ...],
    scheduling_policies: bool | None,
    scheduling_policy_merge: str,
    kubeconfig: str | None,
    context: str | None,
    output: str,
    list_all: bool,
    fail: bool,
) -> int:
    """Show which pods that exist now would be refused or changed if all policies were enforced.

    The table has a row for each owner and reason, with the number of its pods; -o json and yaml have every pod.

    Policies of mode Warn and Audit count as enforced. Each pod is checked as if it were created again, without the node
    that the scheduler gave it; finished pods are left out. Nothing is written. Exit code: 0 there is an answer, 1 with
    --fail when a pod would be refused, 2 there is no answer.

    \b
    Example:
      penstock policy report -n team-a
      penstock policy report --all-namespaces --all -o json
      penstock policy report --all-namespaces --objects pods.yaml --objects policies/
    """
    if namespace and all_namespaces:
        raise click.UsageError("--namespace and --all-namespaces exclude each other")
    merge = MergeOption(scheduling_policy_merge)
    settings = Settings(scheduling_policies=scheduling_policies, scheduling_policy_merge=merge)
    bound = None if list_all else _LISTED
    if objects:
        findings = _of_files(objects, settings, None if all_namespaces else namespace, bound)
    else:
        wanted = None if all_namespaces else namespace or current_namespace(kubeconfig, context)
        findings = asyncio.run(_of_cluster(settings, wanted, bound, kubeconfig, context))
    _show(findings, output)
    return EXIT_BAD if fail and findings.refused else 0


def _show(findings: Findings, output: str) -> None:
    if output == "table":
        report_output.show_table(findings)
    else:
        show_document(report_output.document(findings), output)


def _of_files(objects: tuple[Path, ...], settings: Settings, namespace: str | None, bound: int | None) -> Findings:
    """Without a namespace, the pods of all: files have no current one."""
    documents = documents_of(objects)
    surroundings = surroundings_of(documents, settings)
    findings = Findings(surroundings, namespace, bound)
    faults: list[str] = []
    for document in documents:
        if (document["apiVersion"], document["kind"]) != ("v1", "Pod"):
            continue
        wrong = fields.faults(document, "V1Pod")
        if not wrong and not (document.get("metadata") or {}).get("name"):
            wrong = ["metadata.name: is required"]
        if not wrong:
            candidate = of_cluster(document)
            if namespace in (None, candidate.namespace):
                findings.add(document, candidate)
        faults += [f"{document.where}: Pod: {fault}" for fault in wrong]
    if faults:
        raise NoAnswer("\n".join(faults))
    return findings


async def _of_cluster(
    settings: Settings, namespace: str | None, bound: int | None, kubeconfig: str | None, context: str | None
) -> Findings:
    # on a terminal alone: elsewhere nobody waits for it
    progress = Console(stderr=True)
    async with connected(kubeconfig, context) as client:
        surroundings, notes = await surroundings_in(client, settings, namespace, _KINDS)
        findings = Findings(surroundings, namespace, bound, notes)
        with progress.status("Reading pods") as status:
            async for page in pods_in(client, namespace):
                for pod in page:
                    findings.add(pod, of_cluster(pod))
                status.update(f"{findings.seen} pods read")
    return findings
