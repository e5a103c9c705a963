"""Where in the API a pod set is that is held as a whole: in a Job, or in an object of a WorkloadKind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from controller.core.workloads.pods import Pod

SUSPEND_OF_JOBS: Final = "/spec/suspend"
TEMPLATE_OF_JOBS: Final = "/spec/template"


@dataclass(frozen=True, slots=True)
class Place:
    """Path of the object in the API, its uid, and JSON pointers in it: to the pod template, and what suspends it."""

    path: str
    uid: str
    template: str
    suspend: str


def place_of(pod: Pod) -> Place:
    """Return where the record of what is held as a whole comes from."""
    held = pod.held_set
    if held is None:
        path = f"/apis/batch/v1/namespaces/{pod.namespace}/jobs/{pod.name}"
        return Place(path, pod.uid, TEMPLATE_OF_JOBS, SUSPEND_OF_JOBS)
    return Place(held.path, held.uid, held.template, held.suspend)


def uid_of_set(object_uid: str, name: str) -> str:
    """Return the uid of the record of a pod set, which its pods name in `penstock.dev/admitted-job`."""
    return f"{object_uid}/{name}"


def object_of_set(uid: str) -> str | None:
    """Return the uid of the object of a pod set with this uid; None where it is the uid of a Job."""
    found, slash, _ = uid.partition("/")
    return found if slash else None


def is_first(pod: Pod) -> bool:
    """Whether this record speaks for its object: the object is told things once."""
    return pod.held_set is None or pod.held_set.is_first
