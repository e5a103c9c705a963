"""Who makes pods: the owner that a pod names, and of Jobs what bears on the order, size and return of theirs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """The ownerReference with `controller: true` (metav1.OwnerReference)."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A batch/v1 Job. `created` in epoch seconds; `completions` None: one success ends it, whoever has it.

    `failed` counts those with it that its status has not counted in yet. `is_limited_per_index`: `backoff_limit` says
    nothing, as each index has retries of its own. `ignores_disruption`: its podFailurePolicy does not count a pod that
    was evicted (condition DisruptionTarget). `deadline`: its activeDeadlineSeconds, counted from `started`; 0: none.
    `failed_indexes`: of an Indexed Job with backoffLimitPerIndex how many indexes are not tried again.
    `priority_class` names the WorkloadPriorityClass that its pods go by, whatever their own label says; None: by that.
    """

    uid: str
    namespace: str
    name: str
    created: float = 0.0
    parallelism: int = 1
    completions: int | None = None
    succeeded: int = 0
    failed: int = 0
    backoff_limit: int = 6
    is_limited_per_index: bool = False
    ignores_disruption: bool = False
    held: str | None = None
    is_on_top: bool = False
    started: float = 0.0
    deadline: int = 0
    priority_class: str | None = None
    failed_indexes: int = 0

    @property
    def key(self) -> str:
        """namespace/name, as people write it."""
        return f"{self.namespace}/{self.name}"

    @property
    def width(self) -> int:
        """How many of its pods are to live at the same time from now on, as the job controller counts it."""
        if self.completions is None:
            return self.parallelism
        return max(0, min(self.parallelism, self.completions - self.succeeded - self.failed_indexes))

    @property
    def most(self) -> int:
        """How many of its pods ever live at the same time, with the parallelism that it has now."""
        return self.parallelism if self.completions is None else min(self.parallelism, self.completions)
