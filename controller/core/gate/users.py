"""Who is the user of a pod: whom admission saw create its controlling owner, or the pod itself; never what it says.

A controller of Kubernetes makes pods from the template of their owner. So the template carries a note of who wrote it
(`keys.USER`), which goes over to the pods. `config/policy` says the same in CEL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.core.keys import USER

_ACCOUNTS: Final = "system:serviceaccount:kube-system:"
ALL_CONTROLLERS: Final = "system:kube-controller-manager"
"""Who makes what controllers of Kubernetes make where they have no accounts of their own."""

POD_MAKERS: Final = (
    *(f"{_ACCOUNTS}{kind}-controller" for kind in ("daemon-set", "job", "replicaset", "replication", "statefulset")),
    ALL_CONTROLLERS,
)
"""Accounts whose pods come from templates: `replication` is the controller of replication controllers."""


JOB_MAKERS: Final = (f"{_ACCOUNTS}job-controller", ALL_CONTROLLERS)
"""Those of them whose pods come from the template of a Job."""


def noted_user(annotations: Mapping[str, str], creator: str, *, is_from_template: bool) -> str:
    """Return the user of a pod that is being created: who creates it, or who wrote the template that it is made from.

    A template without a note is older than Penstock, or came by while admission was away: its pods share a user.
    """
    return annotations.get(USER) or creator if is_from_template else creator


def noted_on_template(
    old: Mapping[str, str] | None, new: Mapping[str, str], writer: str, *, is_written: bool
) -> str | None:
    """Return what a template has to note, None: nothing. `old`: annotations of the template so far, None at create.

    Once noted it stays: the user is who created the owner. `is_written`: this request gives the template, or changes
    it, and its pods belong to a queue. An old template that is left as it is gets no note, which would start a rollout.
    """
    if old is None:
        return writer if is_written or USER in new else None
    return old.get(USER) or (writer if is_written else None)
