"""Completion of targets, pod/NAME and the like, from the file or the cluster that a command would ask."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import click
import orjson
from click.shell_completion import CompletionItem

from controller.core.keys import QUEUE_NAME
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import KubeError

_MOST: Final = "500"
_SECONDS: Final = 3.0


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the targets that begin so; none where nobody can be asked: a shell shows no errors."""
    del param
    found: list[str] = []
    with suppress(KubeError, click.ClickException, TimeoutError, OSError):
        found = _targets(ctx.params)
    return [CompletionItem(one) for one in found if one.startswith(incomplete)]


def _targets(options: dict[str, Any]) -> list[str]:
    if options.get("file"):
        # what reads snapshots takes long to import, and every command comes past here
        from controller.cli.snapshot_input import read_file
        from controller.visibility.targets import all_targets

        namespace = options.get("namespace")
        running = read_file(options["file"]).snapshot.running
        return all_targets(running.pods.values(), running.jobs, None if namespace is None else [namespace])
    return asyncio.run(_of_cluster(options))


async def _of_cluster(options: dict[str, Any]) -> list[str]:
    kubeconfig, context = options.get("kubeconfig"), options.get("context")
    namespace = options.get("namespace") or config.namespace(kubeconfig, context)
    path = f"/api/v1/namespaces/{namespace}/pods"
    async with Client(await config.load(kubeconfig, context), user_agent="penstock-cli") as client:
        asked = {"labelSelector": QUEUE_NAME, "limit": _MOST}
        answer = orjson.loads(await client.get(path, asked, seconds=_SECONDS))
    found: dict[str, None] = {}
    for pod in answer.get("items", ()):
        metadata = pod["metadata"]
        owners = (one for one in metadata.get("ownerReferences", ()) if one.get("controller"))
        found |= {f"{one['kind'].lower()}/{one['name']}": None for one in owners}
        found[f"pod/{metadata['name']}"] = None
    return sorted(found)
