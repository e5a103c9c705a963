"""Notifications in tests: pods that were admitted or evicted, and a file of receivers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.core.kubernetes.owners import Owner
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.notifications.notices import LateStart, Notice, Range
from tests.support.builders import a_pod, a_released_pod

NOON = 1_772_625_600.0
"""2026-03-04T12:00:00Z"""
TRAIN = Owner("batch/v1", "Job", "train", "uid-of-train")
GANG = Membership(GroupKey("default", "mpi"), 2)


def an_admitted_pod(name: str = "train-0", *, at: float = NOON, **fields: Any) -> Pod:
    """A pod of the Job train, admitted at a time, after a minute."""
    given = {"owner": TRAIN, "admitted_at": at, "created": at - 60, "node": None, **fields}
    return a_released_pod(name, **given)


def an_eviction(pod: Pod, text: str = "team-b/urgent needs 4 cpu of flavor spot") -> Evict:
    return Evict(pod, EvictionCause.PREEMPTED, text)


def a_late_start(name: str = "train-0", *, p90: float = NOON, latest: Range | None = None, **fields: Any) -> LateStart:
    """A pod of the Job train that was to start by a time."""
    return LateStart(
        pod=a_pod(name, **{"owner": TRAIN, "created": p90 - 3600, **fields}),
        cluster_queue="team-a",
        first=Range(p90 - 3000, p90 - 1200, p90 - 900, p90),
        latest=latest,
        reason="QuotaExceeded",
        message="flavor spot: quota of cpu is used up",
    )


def by_id(notices: Iterable[Notice]) -> dict[str, Notice]:
    """Notices by their id; none has that of another."""
    listed = list(notices)
    found = {one.id: one for one in listed}
    assert len(found) == len(listed)
    return found


def a_receiver(name: str = "hook", **fields: Any) -> dict[str, Any]:
    return {"name": name, "format": "CloudEvents", "url": "https://hooks.example.com/penstock", **fields}


def a_route(*receivers: str, **fields: Any) -> dict[str, Any]:
    return {"receivers": list(receivers or ("hook",)), "events": ["Admitted"], **fields}


def a_file(folder: Path, body: Mapping[str, Any] | str) -> Path:
    """Write a file of receivers, whole or not at all, as a Secret's mount is replaced."""
    file, fresh = folder / "notifications.yaml", folder / "fresh.yaml"
    fresh.write_text(body if isinstance(body, str) else yaml.safe_dump(dict(body)), encoding="utf-8")
    fresh.replace(file)
    return file
