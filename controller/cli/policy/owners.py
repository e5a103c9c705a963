"""Whose a pod is, as people name it: the Deployment, Job or other workload that they wrote, else the pod itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TEMPLATE_HASH: Final = "pod-template-hash"
"""Label that the Deployment controller gives a ReplicaSet and its pods; the name of the ReplicaSet ends in it."""


def owner_of(pod: Mapping[str, Any]) -> str:
    """Return Kind/name of the pod's controller, or Pod/name without one.

    Of a Deployment's ReplicaSet it is the Deployment. That is known by the names alone: nobody needs the right to read
    ReplicaSets for it.
    """
    metadata = pod["metadata"]
    owners = (one for one in metadata.get("ownerReferences") or () if one.get("controller"))
    owner = next(owners, None)
    if owner is None:
        return f"Pod/{metadata['name']}"
    kind, name = str(owner["kind"]), str(owner["name"])
    of_template = (metadata.get("labels") or {}).get(_TEMPLATE_HASH)
    deployment = name.removesuffix(f"-{of_template}")
    return f"Deployment/{deployment}" if kind == "ReplicaSet" and deployment != name else f"{kind}/{name}"
