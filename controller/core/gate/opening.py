"""The patch that takes our gate off a pod and does nothing else: for people who free pods, as when Penstock goes.

The controller releases by `gate.release_patch`, which narrows and stamps as well.
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


def opening_patch(pod: GatedPod) -> Operations:
    """Build the operations that remove our gate; refused (422) when the pod is another one or was edited meanwhile."""
    path = f"/spec/schedulingGates/{pod.index}"
    return [
        *sameness_tests(pod.uid, pod.generation, pod.resource_version),
        {"op": "test", "path": f"{path}/name", "value": GATE},
        {"op": "remove", "path": path},
    ]
