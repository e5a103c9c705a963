"""Jobs that are to get more pods after they were admitted: what is asked for in addition waits as a record of its own.

The wish is written on the Job, in an annotation; the record is made from that, and nothing is kept of it elsewhere. It
stands in line where the Job stands, can do with one pod, and goes to the flavor that the Job was admitted to. One patch
raises the parallelism of the Job by as many as were admitted (`gate.job_growth`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from controller.core.keys import GATE
from controller.core.workloads.pods import Pod

_MORE: Final = "/more"
IN_PART: Final = "AdmittedInPart"
"""Reason of the condition of an admitted Job of which more pods wait."""


def uid_of_more(job: str) -> str:
    """Return the uid of the record of the pods that a Job is to get in addition; no object has such a uid."""
    return f"{job}{_MORE}"


def more_of(job: Pod) -> Pod | None:
    """Return what waits of an admitted Job, as one record; None: nothing does.

    Nothing does of a Job that is being deleted or stopped, has ended, or that somebody else let begin.
    """
    flavors = job.flavors or ((job.flavor,) if job.flavor else ())
    if not job.more or not job.is_admitted or job.is_terminating or not job.cluster_queue or not flavors:
        return None
    shape = replace(job.shape, constraints=replace(job.shape.constraints, only=flavors))
    return replace(
        job,
        uid=uid_of_more(job.uid),
        of=job.uid,
        shape=shape,
        gates=(GATE,),
        count=job.more,
        least=1,
        more=0,
        cluster_queue=None,
        flavor=None,
        flavors=(),
        is_landed=False,
        admitted_at=0.0,
        admitted_by="",
        preemptions=0,
        # a condition that does not tell of it is written at once
        said=job.said if job.said is not None and job.said.reason == IN_PART else None,
    )


def may_still_grow(more: Pod, job: Pod) -> bool:
    """Whether a patch that was built for `more` may still apply to the Job: each change of its spec ends that."""
    return job.generation == more.generation and job.is_admitted
