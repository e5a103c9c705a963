"""Objects of WorkloadKinds that people name on the command line: `rayjob/train`."""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from urllib.parse import quote

import orjson

from controller.api.parse import InvalidObject, parse_workload_kind
from controller.core.keys import GROUP, VERSION
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.kube.client import Client
from controller.kube.errors import Forbidden, NotFound
from controller.objects.workload_kinds import to_workload_kind

_KINDS: Final = f"/apis/{GROUP}/{VERSION}/workloadkinds"


async def known_kinds(client: Client) -> list[WorkloadKind]:
    """Return the WorkloadKinds of a cluster; none where they may not be read. Raises KubeError."""
    try:
        items = orjson.loads(await client.get(_KINDS))["items"]
    except (Forbidden, NotFound):
        return []
    found = []
    for item in items:
        with suppress(InvalidObject):
            found.append(to_workload_kind(parse_workload_kind(item)))
    return found


async def path_of(client: Client, named: str, namespace: str, name: str) -> str | None:
    """Return where an object is whose kind a WorkloadKind names; None where none does that may be read.

    `named`: the kind in lower case, perhaps with its API group. Raises KubeError.
    """
    for kind in await known_kinds(client):
        if named in (kind.kind.lower(), f"{kind.kind.lower()}.{kind.group}", kind.resource, kind.name):
            return kind.path(quote(namespace, safe=""), name)
    return None
