"""Whether the cluster is recent enough, and whether the programs that run there are those of this command."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib import metadata
from typing import Final

from controller.cli.doctor_checks.cluster import Cluster, Json
from controller.cli.doctor_checks.findings import Check, Finding, Need, error, warning

_LEAST_MINOR: Final = 34
_PROGRAMS: Final = ("penstock-controller", "penstock-webhook")


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    version = await cluster.get("/version") or {}
    minor = int("".join(filter(str.isdecimal, str(version.get("minor", "")))) or 0)
    if minor < _LEAST_MINOR:
        what = f"is {version.get('gitVersion', 'unknown')}; Penstock needs 1.{_LEAST_MINOR}"
        yield error("the apiserver's version", what, "upgrade the cluster")
    for name in _PROGRAMS:
        found = await cluster.get(f"/apis/apps/v1/namespaces/{cluster.home}/deployments/{name}")
        if found is not None:
            async for finding in _of_program(f"Deployment {cluster.home}/{name}", found):
                yield finding


async def _of_program(where: str, deployment: Json) -> AsyncIterator[Finding]:
    wanted, available = deployment["spec"].get("replicas", 1), deployment.get("status", {}).get("availableReplicas", 0)
    if not available:
        remedy = "scale it up" if not wanted else "look at its pods: kubectl describe, and their logs"
        yield error(where, f"has no available replica of {wanted}", remedy)
    own = await asyncio.to_thread(_own_version)  # it reads files
    tags = {tag for one in deployment["spec"]["template"]["spec"]["containers"] if (tag := _tag(one["image"]))}
    others = sorted(tag for tag in tags if own and tag.removeprefix("v") != own)
    if others:
        what = f"runs version {', '.join(others)}; this is penstock {own}"
        yield warning(where, what, "use the penstock command of the version that runs, or upgrade what runs")


def _tag(image: str) -> str:
    """Return the tag of an image; empty where a digest alone names it."""
    return image.partition("@")[0].rpartition("/")[-1].partition(":")[2]


def _own_version() -> str:
    try:
        return metadata.version("penstock")
    except metadata.PackageNotFoundError:
        return ""  # run from its source: of no version


VERSIONS = Check("versions", _run, lambda cluster: (Need("get", "deployments", "apps", cluster.home),))
