"""Whether the history is written, where the leader keeps one: it says so itself, on its Lease.

Admission does not wait for the history: what is found here costs accounting, and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from controller.cli.doctor_checks.cluster import Cluster
from controller.cli.doctor_checks.findings import Check, Finding, Need, NotToBeSeen, error, warning
from controller.cli.doctor_checks.leader import lease_path
from controller.core.calendar.durations import format_duration
from controller.history.health import HistoryHealth, health_of

_PATIENCE: Final = 10
"""Seconds within which a database that was restarted takes changes again, as a rule."""
_SLOW: Final = 60
"""Seconds for which a database that works may be behind: at its start the controller writes all pods."""
_SUBJECT: Final = "the history"


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    lease = await cluster.get(lease_path(cluster)) or {}
    health = health_of((lease.get("metadata") or {}).get("annotations") or {})
    if not (lease.get("spec") or {}).get("holderIdentity") or health is None:
        raise NotToBeSeen("no controller leads that keeps a history")
    for finding in _found(health):
        yield finding


def _found(health: HistoryHealth) -> list[Finding]:
    behind = f"for {format_duration(health.behind_seconds)}; {health.unwritten} changes wait"
    found = []
    if health.error and health.behind_seconds > _PATIENCE:
        remedy = "make the database available: the controller tries again, and admission goes on; see docs/history.md"
        found.append(error(_SUBJECT, f"was not written {behind}: {health.error}", remedy))
    elif health.behind_seconds > _SLOW:
        remedy = "look at the load of the database: it takes less than there is to write"
        found.append(warning(_SUBJECT, f"is behind {behind}", remedy))
    if health.lost:
        remedy = "usage and history lack these; see penstock_history_lost in docs/history.md"
        found.append(warning(_SUBJECT, f"has lost {health.lost} changes since the leader started", remedy))
    return found


HISTORY: Final = Check("history", _run, lambda cluster: (Need("get", "leases", "coordination.k8s.io", cluster.home),))
