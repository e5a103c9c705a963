"""Whether what the controller knows is kept up: while a watch is broken it decides by what was known before.

The replica that answers the visibility API says so of itself. Its metrics would say the same, but to reach them through
the apiserver takes the right to the proxy of pods, which is as good as all rights of what runs in them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from controller.cli.doctor_checks.cluster import Cluster
from controller.cli.doctor_checks.findings import Check, Finding, Need, NotToBeSeen, Severity, warning
from controller.core.reasons import first_few
from controller.extension_api.paths import ROOT
from controller.extension_api.resources import GROUP
from controller.kube.errors import ServerError, one_line

_RESOURCE: Final = "cachesources"
_PATIENCE: Final = 10.0
"""Seconds within which a watch that has ended is opened again, as a rule."""
_TOO_OLD: Final = 60.0
"""Seconds after which to raise the alarm, as docs/operations.md advises."""


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    log = f"look for watch_trouble in the log of the controllers in namespace {cluster.home}"
    try:
        found = await cluster.get(f"{ROOT}/{_RESOURCE}")
    except ServerError as error:
        what = f"does not say how old what the controller knows is: {one_line(error)}"
        yield warning("the visibility API", what, f"if it stays so, {log}")
        return
    if found is None:
        raise NotToBeSeen(
            "the visibility API, which says how old what the controller knows is, is not enabled or of an older version"
        )
    ages = {_name(one): float(one["status"]["staleSeconds"]) for one in found["items"]}
    too_old = {name: age for name, age in ages.items() if age > _TOO_OLD}
    old = {name: age for name, age in ages.items() if _PATIENCE < age <= _TOO_OLD}
    for severity, those in ((Severity.ERROR, too_old), (Severity.WARNING, old)):
        if those:
            what = f"may be out of date for {max(those.values()):.0f} s: no watch keeps it up, and decisions rest on it"
            remedy = f"{log}: a right, a CRD or the connection is missing; the checks rights and crds say more"
            yield Finding(severity, f"what the controller knows of {first_few(list(those))}", what, remedy)


def _name(source: dict[str, Any]) -> str:
    return str(source["metadata"]["name"])


CACHE: Final = Check("cache", _run, lambda _: (Need("list", _RESOURCE, GROUP),))
