"""Objects of WorkloadKinds that people name on the command line: `rayjob/train`."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import orjson

from controller.api.parse import InvalidObject, parse_workload_kind
from controller.core.keys import GROUP, VERSION
from controller.kube.client import Client
from controller.kube.errors import Forbidden, NotFound
from controller.objects.workload_kinds import to_workload_kind

_KINDS: Final = f"/apis/{GROUP}/{VERSION}/workloadkinds"


async def path_of(client: Client, named: str, namespace: str, name: str) -> str | None:
    """Return where an object is whose kind a WorkloadKind names; None where none does that may be read.

    `named`: the kind in lower case, perhaps with its API group. Raises KubeError.
    """
    try:
        items = orjson.loads(await client.get(_KINDS))["items"]
    except (Forbidden, NotFound):
        return None
    for item in items:
        try:
            kind = to_workload_kind(parse_workload_kind(item))
        except InvalidObject:
            continue
        if named in (kind.kind.lower(), f"{kind.kind.lower()}.{kind.group}", kind.resource, kind.name):
            return kind.path(quote(namespace, safe=""), name)
    return None
