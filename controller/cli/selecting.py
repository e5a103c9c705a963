"""-l: which pods have some labels. A snapshot has no labels of pods, so the apiserver is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import click

from controller.cli.asking import Source
from controller.kube import config
from controller.kube.client import Client

_C = TypeVar("_C", bound=Callable[..., Any])

PodName = tuple[str, str]
"""(namespace, name)."""


def selector_option(command: _C) -> _C:
    """Add -l; the command gets it as `selector`."""
    told = "Only pods with these labels, as kubectl has it: app=web,tier!=cache."
    return click.option("-l", "--selector", metavar="SELECTOR", help=told)(command)


def selected(source: Source, selector: str | None) -> frozenset[PodName] | None:
    """Return the pods of the cluster that a selector selects; None: it was not given. Raises UsageError, KubeError."""
    if selector is None:
        return None
    if source.file is not None:
        raise click.UsageError("-l asks the apiserver for labels, which a file of a snapshot does not have")
    return asyncio.run(_list(source, selector))


async def _list(source: Source, selector: str) -> frozenset[PodName]:
    # imported by who selects: to decode objects takes a good part of a second more to import
    from controller.kube.decode import decode_metadata
    from controller.kube.listing import list_all

    spaces = source.namespaces
    paths = ["/api/v1/pods"] if spaces is None else [f"/api/v1/namespaces/{one}/pods" for one in spaces]
    found: list[PodName] = []
    async with Client(await config.load(source.kubeconfig, source.context), user_agent="penstock-cli") as client:
        for path in paths:
            those = await list_all(client, path, decode_metadata, {"labelSelector": selector})
            found += [(one.namespace or "", one.name) for one in those]
    return frozenset(found)
