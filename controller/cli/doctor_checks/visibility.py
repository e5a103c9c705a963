"""Whether an APIService of ours that is registered is served: while one is not, namespaces cannot be deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from controller.cli.doctor_checks.cluster import Cluster, condition_of, name_of
from controller.cli.doctor_checks.findings import Check, Finding, Need, error
from controller.core.keys import GROUP

_REGISTRATION: Final = "apiregistration.k8s.io"


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    async for found in cluster.items(f"/apis/{_REGISTRATION}/v1/apiservices"):
        group = str(found["spec"].get("group", ""))
        available = condition_of(found, "Available")
        # a group that a CustomResourceDefinition serves has no service
        if not group.endswith(f".{GROUP}") or not found["spec"].get("service") or available.get("status") == "True":
            continue
        what = f"is not available ({available.get('message', 'not looked at yet')}): namespaces stay Terminating"
        remedy = f"start the controller, or delete it: kubectl delete apiservice {found['metadata']['name']}"
        yield error(f"APIService {name_of(found)}", what, remedy)


VISIBILITY = Check("visibility", _run, lambda _: (Need("list", "apiservices", _REGISTRATION),))
