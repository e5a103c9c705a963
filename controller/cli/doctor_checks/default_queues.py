"""Whether the default queues that namespaces name exist: every pod that names no queue itself waits for them."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator
from typing import Final

from controller.cli.doctor_checks.cluster import OURS, Cluster
from controller.cli.doctor_checks.findings import Check, Finding, Need, error
from controller.cli.policy.surroundings import NOT_ASKED
from controller.core.keys import DEFAULT_QUEUE, GROUP


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    queues: dict[str, list[str]] = {}
    async for one in cluster.items(f"{OURS}/localqueues"):
        queues.setdefault(one["metadata"]["namespace"], []).append(one["metadata"]["name"])
    async for one in cluster.items("/api/v1/namespaces", {"labelSelector": DEFAULT_QUEUE}):
        metadata = one["metadata"]
        name, named = metadata["name"], metadata["labels"][DEFAULT_QUEUE]
        known = queues.get(name, [])
        # where the webhook is never asked the label means nothing
        if name not in {*NOT_ASKED, cluster.home} and not metadata.get("deletionTimestamp") and named not in known:
            yield _missing(name, named, known)


def _missing(namespace: str, named: str, known: list[str]) -> Finding:
    what = (
        f"names the default queue {named!r} ({DEFAULT_QUEUE}) and has no LocalQueue of that name: "
        "pods that name no queue wait until there is one (QueueNotFound)"
    )
    similar = difflib.get_close_matches(named, known, n=1) or sorted(known)[:1]
    label = f"{DEFAULT_QUEUE}={similar[0]} --overwrite" if similar else f"{DEFAULT_QUEUE}-"
    remedy = f"create the LocalQueue, or correct the label, such as: kubectl label namespace {namespace} {label}"
    return error(f"Namespace {namespace}", what, remedy)


DEFAULT_QUEUES: Final = Check(
    "default-queues", _run, lambda _: (Need("list", "namespaces"), Need("list", "localqueues", GROUP))
)
