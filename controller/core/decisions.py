"""What a decision may say about a workload or a class of workloads. Frozen values; the executor acts on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from controller.core.reasons import Reason
from controller.core.workloads import Workload, WorkloadClass


@dataclass(frozen=True, slots=True)
class Blocker:
    """Why one flavor did not take the workload. `need` and `free` are amounts of `resource`, in its unit.

    `detail` is a clause for what numbers do not say; with `resource` None it is the whole finding. `at` is the cluster
    queue whose quota or limit is too narrow. `flavor` empty: a limit on all flavors, of `user` where it is a user's.
    """

    flavor: str
    reason: Reason
    resource: str | None = None
    need: int = 0
    free: int = 0
    detail: str = ""
    at: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """A class of workloads stays queued: the reason, and what each flavor said (or `text` where none was asked)."""

    reason: Reason
    text: str = ""
    blockers: tuple[Blocker, ...] = ()


@dataclass(frozen=True, slots=True)
class Admit:
    """Release this workload onto this flavor; `node` is where room was found (None: a sum, not a node)."""

    workload: Workload
    cluster_queue: str
    flavor: str
    node: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one decision says. `waits` holds every class that was looked at and has workloads left waiting.

    `is_complete` is False when the limit on admissions ended the decision early: decide again. `again_at` is the
    earliest time, in seconds since 1970, at which what was decided may be another by the passing of time alone.
    """

    admits: tuple[Admit, ...]
    waits: Mapping[WorkloadClass, Wait]
    is_complete: bool
    again_at: float = inf
