"""Whether Penstock's own objects can be used: what their conditions say, and whether these are of the present spec."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from controller.api.base import Resource
from controller.api.crd import KINDS
from controller.cli.doctor_checks.cluster import OURS, Cluster, Json, condition_of, name_of
from controller.cli.doctor_checks.findings import Check, Finding, Need, error, warning
from controller.core.keys import GROUP
from controller.kube import clock
from controller.kube.clock import epoch

_BY_DESIGN: Final = frozenset(
    {"Stopped", "ParentStopped", "ClusterQueueStopped", "BudgetExhausted", "NamespaceNotSelected"}
)
"""Reasons that somebody wants to be so: a queue that is stopped is no fault."""
_PATIENCE: Final = 60.0
"""Seconds within which the controller has written what it makes of an object, however many there are."""


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    for kind in KINDS:
        async for found in cluster.items(f"{OURS}/{kind.definition.plural}"):
            finding = _judge(kind, found)
            if finding is not None:
                yield finding


def _judge(kind: type[Resource], found: Json) -> Finding | None:
    where = f"{kind.definition.kind} {name_of(found)}"
    active = condition_of(found, "Active")
    generation = found["metadata"].get("generation", 0)
    if not active or active.get("observedGeneration", 0) < generation:
        # how long ago the spec was written, nothing says: only of a new object it is known
        if active or clock.now() - epoch(found["metadata"].get("creationTimestamp")) > _PATIENCE:
            what = "has no condition Active for its present spec: no controller has processed it"
            return warning(where, what, "if that stays so, look at whether a controller leads, and at its log")
        return None
    reason, message = str(active.get("reason", "")), str(active.get("message", ""))
    if active.get("status") == "True" or reason in _BY_DESIGN:
        return None
    return error(where, f"cannot be used ({reason}): {message}", "correct what the message names")


OBJECTS = Check("objects", _run, lambda _: tuple(Need("list", kind.definition.plural, GROUP) for kind in KINDS))
