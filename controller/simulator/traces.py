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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from controller.core.keys import GATE
from controller.core.kubernetes.amounts import PODS, QuantityError, as_requests, demand_amount
from controller.core.kubernetes.owners import Job, Owner
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Constraints, Shape
from controller.core.workloads.workload import QueueKey
from controller.simulator import trace_values as values

_COLUMNS: Final = frozenset({"submit", "seconds", "pods", "stated", "priority", "user", "queue"})
_SWF_FIELDS: Final = 18
_SWF_NUMBERS: Final = {"run time": 3, "processors used": 4, "processors requested": 7, "requested time": 8}
_SWF_USER: Final = 11


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
        if len(fields) <= _SWF_USER:
            raise TraceError(f"line {number}: must have {_SWF_FIELDS} numbers")
        try:
            job = _of_swf(fields)
        except ValueError as error:
            raise TraceError(f"line {number}: {error}") from None
        if job is not None:
            yield job


def _of_swf(fields: Sequence[str]) -> TracedJob | None:
    """Return a job; None: it never ran, or nobody knows on how many processors. -1 is what nobody knows."""
    ran, used, wanted, stated = (values.number(name, fields[at]) for name, at in _SWF_NUMBERS.items())
    pods = used if used > 0 else wanted
    if ran <= 0 or pods <= 0:
        return None
    return TracedJob(
        values.seconds("submit time", fields[1]),
        values.duration("run time", fields[3]),
        {"cpu": "1"},
        values.pods("number of processors", f"{pods:g}"),
        values.stated("requested time", f"{max(0, int(stated))}"),
        user=f"user-{fields[_SWF_USER]}",
    )


def read_csv(lines: Iterable[str]) -> Iterator[TracedJob]:
    """Read comma-separated values. Raises TraceError."""
    rows = csv.DictReader(lines)
    try:
        lacking = [name for name in ("submit", "seconds") if name not in (rows.fieldnames or ())]
        if lacking:
            raise TraceError(f"line 1: must name the columns, and has no {' and no '.join(lacking)}")
        for row in rows:
            yield _of_csv(row, len(rows.fieldnames or ()))
    except csv.Error as error:  # raised before the line counts
        raise TraceError(f"line {rows.line_num + 1}: {error}") from None
    except (TraceError, UnicodeDecodeError):
        raise
    except ValueError as error:
        raise TraceError(f"line {rows.line_num}: {error}") from None


def _of_csv(row: Mapping[str | None, Any], columns: int) -> TracedJob:
    surplus, lacking = row.get(None, ()), [name for name, text in row.items() if text is None]
    if surplus:
        told = f"{columns + len(surplus)} cells, and line 1 names {columns} columns: remove {', '.join(surplus)}"
        raise ValueError(f"has {told}; a cell with a comma in it stands in quotes")
    if lacking:
        raise ValueError(f"has no cell for {lacking[0]}: write as many commas as line 1 has")
    requests = {str(name): text for name, text in row.items() if name not in _COLUMNS and text}
    for name, text in requests.items():
        try:
            demand_amount(name, text)
        except QuantityError as error:
            raise ValueError(f"{name or 'a column without a name'}: {error}") from None
    return TracedJob(
        values.seconds("submit", row["submit"]),
        values.duration("seconds", row["seconds"]),
        requests,
        values.pods("pods", row.get("pods") or "1"),
        values.stated("stated", row.get("stated") or "0"),
        values.priority("priority", row.get("priority") or "0"),
        row.get("user") or "",
        row.get("queue") or "",
    )


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
        if not 0 < job.pods <= values.MOST_PODS or job.seconds <= 0:
            told = f"both must be above 0, and pods at most {values.MOST_PODS}"
            raise TraceError(f"a job of {job.pods} pods for {job.seconds:g} s: {told}")
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
