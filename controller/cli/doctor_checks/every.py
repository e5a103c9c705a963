"""All checks in the order in which their findings matter, and how they are run: at a time, each for itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from controller.cli.doctor_checks.cache import CACHE
from controller.cli.doctor_checks.cluster import Cluster
from controller.cli.doctor_checks.crds import CRDS
from controller.cli.doctor_checks.default_queues import DEFAULT_QUEUES
from controller.cli.doctor_checks.findings import Check, Finding, NotToBeSeen, warning
from controller.cli.doctor_checks.gate import GATE_KEPT
from controller.cli.doctor_checks.history import HISTORY
from controller.cli.doctor_checks.kueue import KUEUE
from controller.cli.doctor_checks.leader import LEADER
from controller.cli.doctor_checks.objects import OBJECTS
from controller.cli.doctor_checks.pods import PODS
from controller.cli.doctor_checks.rights import RIGHTS
from controller.cli.doctor_checks.versions import VERSIONS
from controller.cli.doctor_checks.visibility import VISIBILITY
from controller.cli.doctor_checks.webhook import WEBHOOK
from controller.kube.errors import ApiError, one_line

CHECKS: Final = (
    VISIBILITY,
    VERSIONS,
    CRDS,
    RIGHTS,
    LEADER,
    CACHE,
    GATE_KEPT,
    WEBHOOK,
    PODS,
    DEFAULT_QUEUES,
    KUEUE,
    OBJECTS,
    HISTORY,
)
"""First what keeps others from working: an APIService that does not answer is of the whole cluster's concern."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one check found; `is_done`: it was not left out. `unseen` says why there was nothing to look at."""

    check: str
    findings: tuple[Finding, ...]
    is_done: bool = True
    unseen: str = ""


async def examine(cluster: Cluster, checks: tuple[Check, ...] = CHECKS) -> list[Result]:
    """Run the checks; return what each found, in their order. Raises KubeError where nobody answers."""
    return await asyncio.gather(*(_examine(cluster, check) for check in checks))


async def _examine(cluster: Cluster, check: Check) -> Result:
    needs = check.needs(cluster)
    allowed = await asyncio.gather(*(cluster.i_may(need.attributes) for need in needs))
    missing = [need.text for need, is_allowed in zip(needs, allowed, strict=True) if not is_allowed]
    if missing:
        remedy = "run it as a cluster administrator, or ask for these rights"
        left_out = warning("you", f"may not {', '.join(missing)}, so this was not checked", remedy)
        return Result(check.name, (left_out,), is_done=False)
    try:
        return Result(check.name, tuple([finding async for finding in check.run(cluster)]))
    except NotToBeSeen as why:
        return Result(check.name, (), is_done=False, unseen=str(why))
    except ApiError as error:
        remedy = "try again; if it stays so, look at the apiserver"
        left_out = warning("the apiserver", f"did not let this be checked to its end: {one_line(error)}", remedy)
        return Result(check.name, (left_out,), is_done=False)
