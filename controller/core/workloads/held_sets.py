"""Where in the API a pod set is that is held as a whole: in a Job, or in an object of a WorkloadKind."""

from __future__ import annotations

from typing import Final

from controller.core.workloads.pods import HeldSet, Pod

SUSPEND_OF_JOBS: Final = "/spec/suspend"
TEMPLATE_OF_JOBS: Final = "/spec/template"


def path_of_job(namespace: str, name: str) -> str:
    """Return where a Job is in the API."""
    return f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"


def place_of(pod: Pod) -> HeldSet:
    """Return where the record of what is held as a whole comes from; a Job has one pod set, without a name."""
    if pod.held_set is not None:
        return pod.held_set
    return HeldSet("", path_of_job(pod.namespace, pod.name), pod.uid, "", TEMPLATE_OF_JOBS, SUSPEND_OF_JOBS)


def uid_of_set(object_uid: str, name: str) -> str:
    """Return the uid of the record of a pod set, which its pods name in `penstock.dev/admitted-job`."""
    return f"{object_uid}/{name}"


def object_of_set(uid: str) -> str | None:
    """Return the uid of the object of a pod set with this uid; None where it is the uid of a Job."""
    found, slash, _ = uid.partition("/")
    return found if slash else None


def uid_of_object(uid: str) -> str:
    """Return the uid of the pod, Job or other object that has a record of this uid."""
    return uid.partition("/")[0]


def is_first(pod: Pod) -> bool:
    """Whether this record speaks for its object: the object is told things once."""
    return pod.held_set is None or pod.held_set.is_first
