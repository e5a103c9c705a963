"""Patches that let a pod or a Job go and do nothing else: for people who free them, as when Penstock goes.

The controller releases by `gate.release_patch` and `gate.job_release`, which narrow and stamp as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.core.gate.json_patch import Operations, sameness_tests
from controller.core.keys import GATE


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
    """A Job that is held as a whole: it names a queue itself, and is suspended."""

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str

    @property
    def key(self) -> str:
        """Namespace and name, for people, who do not take it for a pod."""
        return f"Job {self.namespace}/{self.name}"


Waiting = GatedPod | HeldJob
"""What people free."""


def opening_patch(one: Waiting) -> Operations:
    """Build the operations that remove our gate from a pod, or let a Job begin.

    They are refused (422) when the pod or Job is another one or was edited meanwhile.
    """
    same = sameness_tests(one.uid, one.generation, one.resource_version)
    if isinstance(one, HeldJob):
        path = "/spec/suspend"
        return [*same, {"op": "test", "path": path, "value": True}, {"op": "add", "path": path, "value": False}]
    path = f"/spec/schedulingGates/{one.index}"
    return [*same, {"op": "test", "path": f"{path}/name", "value": GATE}, {"op": "remove", "path": path}]
