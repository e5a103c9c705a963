"""Whether a controller leads: one that renews its Lease. Judged by whether the Lease changes, not by two clocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from controller.cli.doctor_checks.cluster import Cluster, Json
from controller.cli.doctor_checks.findings import Check, Finding, Need, error
from controller.kube import clock
from controller.kube.clock import epoch

LEASE: Final = "penstock-controller"
_USUAL_SECONDS: Final = 15
_LOOKED_AT_AGAIN: Final = 6.0
"""Seconds after which a leader has surely renewed; asked only where its clock or ours may be wrong."""


async def no_leader(cluster: Cluster) -> str | None:
    """Say why no controller leads; None when one does. Raises KubeError."""
    lease = await cluster.get(lease_path(cluster))
    if lease is None:
        return "does not exist: no controller has led yet"
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity"):
        return "has no holder: the last controller gave it up, and no other has taken it"
    if _age(spec) <= spec.get("leaseDurationSeconds", _USUAL_SECONDS):
        return None
    await asyncio.sleep(_LOOKED_AT_AGAIN)
    again = await cluster.get(lease_path(cluster)) or {}
    if (again.get("spec") or {}).get("renewTime") != spec.get("renewTime"):
        return None
    return f"was renewed last at {spec.get('renewTime')}, by {spec['holderIdentity']}, which is gone or cannot write"


def _age(spec: Json) -> float:
    return clock.now() - epoch(spec.get("renewTime"))


def lease_path(cluster: Cluster) -> str:
    """Return the path of the Lease of the controllers."""
    return f"/apis/coordination.k8s.io/v1/namespaces/{cluster.home}/leases/{LEASE}"


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    why = await no_leader(cluster)
    if why is not None:
        remedy = f"start the controller: its pods and their logs in namespace {cluster.home} say what keeps it"
        yield error(f"Lease {cluster.home}/{LEASE}", f"{why}; nothing is admitted", remedy)


LEADER = Check("leader", _run, lambda cluster: (Need("get", "leases", "coordination.k8s.io", cluster.home),))
