"""What people are told when the apiserver refuses a request or does not answer: what, where, and what to do."""

from __future__ import annotations

from typing import Final

from controller.kube.errors import Forbidden, KubeError, Unauthorized, Unreachable, one_line
from controller.kube.rights import Right, what_to_ask_for

_ANOTHER: Final = "or name another cluster with --kubeconfig or --context"


def told(error: KubeError) -> str:
    """Return the text of a fault, on one line, with what to do about it where that is known."""
    text = one_line(error)
    if isinstance(error, Unreachable):
        return f"{text}; check that the cluster is running and that you can reach this address, {_ANOTHER}"
    if isinstance(error, Unauthorized):
        return f"the apiserver does not accept the credentials of the kubeconfig ({text}): log in again, {_ANOTHER}"
    if isinstance(error, Forbidden) and (right := Right.refused(error.message)) is not None:
        lacking = f"no right to {right}"
        if right.role:
            return f"{lacking}: {what_to_ask_for([right])}"
        return f"{lacking}: no role of Kubernetes or Penstock has it; ask a cluster administrator for it"
    return text
