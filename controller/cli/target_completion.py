"""Completion of targets, pod/NAME and the like, from the file or the cluster that a command would ask."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import click
import orjson
from click.shell_completion import CompletionItem

from controller.core.keys import GROUP, QUEUE_NAME, VERSION
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import KubeError

_OURS: Final = f"/apis/{GROUP}/{VERSION}"
_MOST: Final = "500"
_SECONDS: Final = 3.0


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the targets that begin so; none where nobody can be asked: a shell shows no errors.

    Queues are returned once their kind is written out, and the names of pods without a kind as long as there is none.
    """
    del param
    found: list[str] = []
    with suppress(KubeError, click.ClickException, TimeoutError, OSError):
        found = _targets(ctx.params, incomplete)
    return [CompletionItem(one) for one in found if one.startswith(incomplete)]


def complete_namespace(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the namespaces that begin so; none where nobody can be asked, or where they may not be listed."""
    del param
    found: list[str] = []
    if not ctx.params.get("file"):
        with suppress(KubeError, click.ClickException, TimeoutError, OSError):
            found = asyncio.run(_names(ctx.params, "/api/v1/namespaces"))
    return [CompletionItem(one) for one in found if one.startswith(incomplete)]


def _targets(options: dict[str, Any], incomplete: str) -> list[str]:
    kind, slash, _ = incomplete.partition("/")
    found = _of_file(options, kind) if options.get("file") else asyncio.run(_of_cluster(options, kind))
    pods = [] if slash else [one.removeprefix("pod/") for one in found if one.startswith("pod/")]
    return sorted({*found, *pods})


def _of_file(options: dict[str, Any], kind: str) -> list[str]:
    # what reads snapshots takes long to import, and every command comes past here
    from controller.cli.snapshot_input import read_file
    from controller.visibility.targets import all_targets

    namespace = options.get("namespace")
    snapshot = read_file(options["file"]).snapshot
    match kind:
        case "queue":
            known = snapshot.queues.local_queues
            return [f"queue/{name}" for space, name in known if namespace in (None, space)]
        case "clusterqueue":
            return [f"clusterqueue/{name}" for name in snapshot.queues.cluster_queues]
        case _:
            running = snapshot.running
            return all_targets(running.pods.values(), running.jobs, None if namespace is None else [namespace])


async def _of_cluster(options: dict[str, Any], kind: str) -> list[str]:
    if kind == "clusterqueue":
        return [f"clusterqueue/{one}" for one in await _names(options, f"{_OURS}/clusterqueues")]
    namespace = options.get("namespace") or config.namespace(options.get("kubeconfig"), options.get("context"))
    if kind == "queue":
        return [f"queue/{one}" for one in await _names(options, f"{_OURS}/namespaces/{namespace}/localqueues")]
    return await _pods(options, namespace)


async def _pods(options: dict[str, Any], namespace: str) -> list[str]:
    found: dict[str, None] = {}
    for pod in await _items(options, f"/api/v1/namespaces/{namespace}/pods", labelSelector=QUEUE_NAME):
        metadata = pod["metadata"]
        owners = (one for one in metadata.get("ownerReferences", ()) if one.get("controller"))
        found |= {f"{one['kind'].lower()}/{one['name']}": None for one in owners}
        found[f"pod/{metadata['name']}"] = None
    return list(found)


async def _names(options: dict[str, Any], path: str) -> list[str]:
    return [one["metadata"]["name"] for one in await _items(options, path)]


async def _items(options: dict[str, Any], path: str, **asked: str) -> list[dict[str, Any]]:
    loaded = await config.load(options.get("kubeconfig"), options.get("context"))
    async with Client(loaded, user_agent="penstock-cli") as client:
        return list(orjson.loads(await client.get(path, {**asked, "limit": _MOST}, seconds=_SECONDS)).get("items", ()))
