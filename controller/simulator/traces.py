"""What comes, from a trace instead of by chance: the Standard Workload Format, or comma-separated values.

Standard Workload Format (Feitelson's Parallel Workloads Archive): a job is a gang of as many pods of one cpu as it has
processors. Comma-separated values: a first line names the columns; `submit` and `seconds` are needed, `pods` (a gang
where there are several), `stated`, `priority`, `user` and `queue` are not; each other column is a resource of one pod.
Configurations of Kueue's generator are read by `simulator.kueue_configs`.

Pods of a trace are of Jobs that make a pod anew when it is evicted, and do not count it as failed: so it may be
preempted, where queues preempt, and comes again with nothing done.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from controller.core.keys import GATE
from controller.core.kubernetes.amounts import PODS, QuantityError, as_requests, demand_amount
from controller.core.kubernetes.owners import Job, Owner
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Constraints, Shape
from controller.core.workloads.workload import QueueKey

_COLUMNS: Final = frozenset({"submit", "seconds", "pods", "stated", "priority", "user", "queue"})
_SWF_FIELDS: Final = 18
_MOST_PODS: Final = 100_000


class TraceError(ValueError):
    """A trace that cannot be read; the text says in which line, and why."""


@dataclass(frozen=True, slots=True)
class TracedJob:
    """Pods that come `submit` seconds after the start of the trace and run so many seconds; `stated` 0: nothing."""

    submit: float
    seconds: float
    requests: Mapping[str, str]
    pods: int = 1
    stated: int = 0
    priority: int = 0
    user: str = ""
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Pods with their times, epoch seconds and ascending; by uid their Jobs, and how many seconds pods of these run."""

    arrivals: list[tuple[float, Pod]] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def seconds_of(self, pod: Pod) -> float | None:
        """Return how long a pod runs, one too that came again; None: it is not of this trace."""
        return None if pod.owner is None else self.seconds.get(pod.owner.uid)


def read_swf(lines: Iterable[str]) -> Iterator[TracedJob]:
    """Read the Standard Workload Format; jobs that never ran are left out. Raises TraceError."""
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        fields = line.split()
        try:
            submit, seconds, used = float(fields[1]), float(fields[3]), int(fields[4])
            wanted, stated, user = int(fields[7]), int(float(fields[8])), fields[11]
        except (IndexError, ValueError):
            raise TraceError(f"line {number}: must have {_SWF_FIELDS} numbers") from None
        pods = used if used > 0 else wanted
        if seconds > 0 and pods > 0:
            yield TracedJob(submit, seconds, {"cpu": "1"}, pods, max(0, stated), 0, f"user-{user}")


def read_csv(lines: Iterable[str]) -> Iterator[TracedJob]:
    """Read comma-separated values. Raises TraceError."""
    rows = csv.DictReader(lines)
    lacking = [name for name in ("submit", "seconds") if name not in (rows.fieldnames or ())]
    if lacking:
        raise TraceError(f"line 1: must name the columns, and has no {' and no '.join(lacking)}")
    for row in rows:
        try:
            yield TracedJob(
                float(row["submit"]),
                float(row["seconds"]),
                {name: value for name, value in row.items() if name not in _COLUMNS and value},
                int(row.get("pods") or 1),
                int(row.get("stated") or 0),
                int(row.get("priority") or 0),
                row.get("user") or "",
                row.get("queue") or "",
            )
        except (TypeError, ValueError) as error:
            raise TraceError(f"line {rows.line_num}: {error}") from None


def trace_of(jobs: Iterable[TracedJob], now: float, queue: QueueKey | None) -> Trace:
    """Return the pods of jobs whose first comes at `now`, epoch seconds; `queue` is of those that name none.

    Raises TraceError.
    """
    made, shapes = Trace(), dict[tuple[tuple[str, str], ...], Shape]()
    ordered = sorted(jobs, key=lambda job: job.submit)
    for number, job in enumerate(ordered):
        namespace, name = _queue(job, queue)
        key = tuple(job.requests.items())
        shape = shapes[key] if key in shapes else shapes.setdefault(key, _shape(job))
        if not 0 < job.pods <= _MOST_PODS or job.seconds <= 0:
            raise TraceError(f"a job of {job.pods} pods for {job.seconds:g} s: both must be above 0")
        at, uid = now + job.submit - ordered[0].submit, f"trace-{number}"
        made.seconds[uid] = job.seconds
        made.jobs[uid] = Job(
            uid=uid,
            namespace=namespace,
            name=uid,
            created=at,
            parallelism=job.pods,
            completions=job.pods,
            ignores_disruption=True,
        )
        made.arrivals.extend((at, pod) for pod in _pods(job, made.jobs[uid], shape, name))
    return made


def _pods(job: TracedJob, owner: Job, shape: Shape, queue: str) -> Iterator[Pod]:
    member = Membership(GroupKey(owner.namespace, owner.name), job.pods) if job.pods > 1 else None
    controller = Owner("batch/v1", "Job", owner.name, owner.uid)
    for index in range(job.pods):
        yield Pod(
            uid=f"{owner.uid}-{index}",
            namespace=owner.namespace,
            name=f"{owner.name}-{index}",
            shape=shape,
            generation=1,
            queue=queue,
            gates=(GATE,),
            priority=job.priority,
            created=owner.created,
            group=member,
            owner=controller,
            expected_runtime=job.stated,
            user=job.user,
        )


def _queue(job: TracedJob, queue: QueueKey | None) -> tuple[str, str]:
    namespace, _, name = job.queue.partition("/") if job.queue else ("", "", "")
    if job.queue and namespace and name:
        return namespace, name
    if job.queue or queue is None:
        raise TraceError(f"queue {job.queue!r}: name a LocalQueue as NAMESPACE/NAME, in the trace or for all of it")
    return queue[0], queue[1]


def _shape(job: TracedJob) -> Shape:
    try:
        amounts = {name: demand_amount(name, text) for name, text in job.requests.items()}
    except QuantityError as error:
        raise TraceError(f"a job asks for {dict(job.requests)}: {error}") from None
    return Shape(as_requests({**amounts, PODS: 1}), Constraints())
