"""More pods for an admitted Job: how many are wanted, and the patch that grants them.

More pods than were admitted are decided on, like a new workload. So an update that raises the parallelism of an
admitted Job leaves it as it is and notes what is wanted (`WANTED_PARALLELISM`); one that lowers it withdraws the wish
(`job_protection`). Users may write the note themselves: nothing is granted for it but a place in the queue.
"""

from __future__ import annotations

from typing import Final

from controller.core.gate.json_patch import Operations, annotate, guards
from controller.core.keys import ADMITTED_BY, WANTED_PARALLELISM
from controller.core.kubernetes.pointers import escape
from controller.core.workloads.pods import Pod

_DIGITS: Final = 10
_NOTE: Final = f"/metadata/annotations/{escape(WANTED_PARALLELISM)}"
_PARALLELISM: Final = "/spec/parallelism"
_COMPLETIONS: Final = "/spec/completions"


def read_count(text: str) -> int:
    """Return a number of pods that is written without zeros in front; 0 where it is none."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS and not text.startswith("0")
    return int(text) if is_number else 0


def widening_patch(job: Pod, count: int, *, by: str) -> Operations:
    """Build the operations that let an admitted Job keep `count` more pods alive, in the name of the leader `by`.

    The apiserver refuses them (422) when the Job is another one, its spec was edited after we read it, it was
    suspended, or something else is wanted by now. Where fewer pods are admitted than wanted, the wish stays. A Job that
    would keep more pods alive with more parallelism keeps as many alive as its parallelism says: `job.count`. One that
    `grows_by_index` gets as many completions more.
    """
    is_all = count >= job.more
    parallelism = job.parallelism if is_all else (job.indexes or job.count) + count
    operations: Operations = [
        *guards(job),
        {"op": "test", "path": "/spec/suspend", "value": False},
        {"op": "test", "path": _NOTE, "value": str(job.parallelism)},
        *annotate(job, {ADMITTED_BY: by}),
        {"op": "add", "path": _PARALLELISM, "value": parallelism},
    ]
    if job.indexes:
        operations.append({"op": "add", "path": _COMPLETIONS, "value": parallelism})
    return [*operations, {"op": "remove", "path": _NOTE}] if is_all else operations
