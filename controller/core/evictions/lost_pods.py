"""Pods that are being deleted and whose node cannot say that they are gone: when their quota goes to others.

A deleted pod stays until its kubelet has ended it. Where the node is dead nobody does, until somebody deletes the pod
by force or Kubernetes finds the node gone; its quota would be held for nothing until then.
"""

from __future__ import annotations

from controller.core.kubernetes.nodes import Node
from controller.core.workloads.pods import Pod

LOST_SECONDS = 60
"""How much later than its grace period ends a kubelet that lives has told that a pod is gone."""


def lost_at(pod: Pod) -> float | None:
    """Return from when on, epoch seconds, the pod is lost while its node is not Ready; None: it never is.

    One that is on no node, or not being deleted, or has ended, is none.
    """
    if not pod.gone_by or pod.node is None or not pod.is_admitted:
        return None
    return pod.gone_by + LOST_SECONDS


def cannot_tell(node: Node | None) -> bool:
    """Say whether a node (None: there is none of that name) does not tell what becomes of its pods."""
    return node is None or not node.is_ready
