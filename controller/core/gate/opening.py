"""Patches that let a pod or a Job go and do nothing else: for people who free them, as when Penstock goes.

The controller releases by `gate.release_patch` and `gate.job_release`, which narrow and stamp as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.core.gate.json_patch import Operations, sameness_tests
from controller.core.keys import GATE
from controller.core.kubernetes.pointers import pointer
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workloads.held_sets import SUSPEND_OF_JOBS


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class GatedPod:
    """A pod with our gate at `index` among its gates. `generation` is 0 on pods from before Kubernetes had one."""

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    index: int

    @property
    def key(self) -> str:
        """Namespace and name, for people."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class HeldJob:
    """A Job, or an object of `kind`, that is held as a whole: it names a queue itself, and is suspended."""

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    kind: WorkloadKind | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """Namespace and name, for people, who do not take it for a pod."""
        return f"{'Job' if self.kind is None else self.kind.kind} {self.namespace}/{self.name}"


Waiting = GatedPod | HeldJob
"""What people free."""


def opening_patch(one: Waiting) -> Operations:
    """Build the operations that remove our gate from a pod, or let a Job begin.

    They are refused (422) when the pod or Job is another one or was edited meanwhile.
    """
    same = sameness_tests(one.uid, one.generation, one.resource_version)
    if isinstance(one, HeldJob):
        path = SUSPEND_OF_JOBS if one.kind is None else pointer(one.kind.suspend)
        return [*same, {"op": "test", "path": path, "value": True}, {"op": "add", "path": path, "value": False}]
    path = f"/spec/schedulingGates/{one.index}"
    return [*same, {"op": "test", "path": f"{path}/name", "value": GATE}, {"op": "remove", "path": path}]
