"""Whether the apiserver serves our kinds as this version of Penstock writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from controller.api.crd import KINDS, render
from controller.cli.doctor_checks.cluster import Cluster, Json, condition_of
from controller.cli.doctor_checks.findings import Check, Finding, Need, error, warning
from controller.core.keys import VERSION

_GROUP = "apiextensions.k8s.io"
_APPLY = "apply config/crd of the version of Penstock that runs"


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    for kind in KINDS:
        name = kind.definition.resource
        found = await cluster.get(f"/apis/{_GROUP}/v1/customresourcedefinitions/{name}")
        where = f"CustomResourceDefinition {name}"
        if found is None:
            yield error(where, "does not exist", _APPLY)
            continue
        established = condition_of(found, "Established")
        if established.get("status") != "True":
            why = condition_of(found, "NamesAccepted").get("message") or established.get("message") or "it is new"
            yield error(where, f"is not served: {why}", f"remove what has the same names, and {_APPLY}")
        elif _schema(found) != _schema(render(kind)):
            what = "is not that of this version of penstock: fields may be missing, or mean something else"
            yield warning(where, what, f"{_APPLY}, and use the penstock command of that version")


def _schema(definition: Json) -> object:
    served = (one for one in definition["spec"]["versions"] if one["name"] == VERSION and one["served"])
    return _pruned(next((one["schema"] for one in served), None))


def _pruned(value: Any) -> Any:
    """Leave out what says nothing, as the apiserver does: fields that are null or empty objects."""
    if isinstance(value, dict):
        return {name: pruned for name, one in value.items() if (pruned := _pruned(one)) is not None and pruned != {}}
    return [_pruned(one) for one in value] if isinstance(value, list | tuple) else value


CRDS = Check("crds", _run, lambda _: (Need("get", "customresourcedefinitions", _GROUP),))
