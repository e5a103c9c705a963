"""A real local control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok for the nodes.

For trying queues and policies, for tests, the demo and benchmarks. Everything listens on loopback only. What
Penstock itself does in a cluster stands elsewhere; nothing here knows queues.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller.sandbox.errors import SandboxError
    from controller.sandbox.nodes import NodeShape
    from controller.sandbox.session import Sandbox
    from controller.telemetry.authority import KeyPair

__all__ = ["KeyPair", "NodeShape", "Sandbox", "SandboxError"]

_HOMES = {
    "KeyPair": "controller.telemetry.authority",
    "NodeShape": f"{__name__}.nodes",
    "Sandbox": f"{__name__}.session",
    "SandboxError": f"{__name__}.errors",
}


def __getattr__(name: str) -> Any:
    # imported on demand: the supervisor lives long, starts often and needs no Kubernetes client
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
