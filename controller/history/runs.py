"""What is kept of a pod: who is charged for it, and when it was where. Read from the pod alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from controller.core.kubernetes.amounts import Requests
from controller.core.workloads.pods import Pod


class Outcome(StrEnum):
    """How a run ended; of one that goes on, or has not begun, `GOES_ON`."""

    GOES_ON = ""
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    EVICTED = "Evicted"
    """Penstock evicted it."""
    DELETED = "Deleted"
    """Its pod is gone, and had not ended by itself."""


class State(StrEnum):
    """Where a run stands that has not ended."""

    PENDING = "Pending"
    ADMITTED = "Admitted"
    RUNNING = "Running"


STATES: Final = (*(one.value for one in State), *(one.value for one in Outcome if one))
"""All that `state_of` may return."""


@dataclass(frozen=True, slots=True)
class ChargedTo:
    """What a run is charged to, and what it uses: the same of all pods of one make, so it is kept once.

    `price`: what the flavor costs, as `core.budgets.budget.rate_of_cost` takes it, when the pod was admitted. Before
    the admission `cluster_queue`, `flavor` and `price` are empty. `labels` are those that are kept, by their keys.
    """

    namespace: str
    local_queue: str
    cluster_queue: str
    flavor: str
    user: str
    requests: Requests
    price: tuple[tuple[str, int], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One pod from its creation to its end. Times are whole seconds since 1970; 0: that has not happened.

    `bound` is when it was seen to have a node, and 0 of a pod that had one before anybody looked; `started` and
    `ended` are as its node reports them, or `ended` is when it was seen to be gone. `planned` is when its first
    forecast expected its admission. `reason` is why it waits, or why it was evicted, with `message`. `admitted_by` is
    the leader, as its Lease names it. `group` is a gang that is not its Job.
    """

    uid: str
    name: str
    charged_to: ChargedTo
    owner_kind: str = ""
    owner: str = ""
    group: str = ""
    priority: int = 0
    node: str = ""
    created: int
    admitted: int = 0
    bound: int = 0
    started: int = 0
    ended: int = 0
    outcome: Outcome = Outcome.GOES_ON
    reason: str = ""
    message: str = ""
    admitted_by: str = ""
    planned: int = 0


def state_of(run: Run) -> str:
    """Return where a run stands, in one word: a State, or its Outcome."""
    if run.outcome is not Outcome.GOES_ON:
        return run.outcome.value
    return (State.RUNNING if run.started else State.ADMITTED if run.admitted else State.PENDING).value


def run_of(pod: Pod, price_of: Callable[[str], Mapping[str, int]]) -> Run | None:
    """Return what is kept of a pod; None: it names no queue. `price_of` says what a flavor costs, by its name."""
    if pod.queue is None:
        return None
    flavor = pod.flavor or ""
    charged_to = ChargedTo(
        namespace=pod.namespace,
        local_queue=pod.queue,
        cluster_queue=pod.cluster_queue or "",
        flavor=flavor,
        user=pod.user,
        requests=pod.shape.requests,
        price=tuple(sorted(price_of(flavor).items())),
        labels=pod.labels,
    )
    return Run(
        uid=pod.uid,
        name=pod.name,
        charged_to=charged_to,
        owner_kind="" if pod.owner is None else pod.owner.kind,
        owner="" if pod.owner is None else pod.owner.name,
        group="" if pod.group is None or (pod.group.key.is_job or pod.group.key.is_object) else pod.group.key.name,
        priority=pod.priority,
        node=pod.node or "",
        created=int(pod.created),
        admitted=int(pod.admitted_at),
        started=pod.started,
        ended=pod.ended if pod.is_finished else 0,
        outcome=_outcome(pod),
        admitted_by=pod.admitted_by,
    )


def _outcome(pod: Pod) -> Outcome:
    if not pod.is_finished:
        return Outcome.GOES_ON
    return Outcome.SUCCEEDED if pod.has_succeeded else Outcome.FAILED


def merged(known: Run, new: Run) -> Run:
    """Return what is known of a run after `new` came: what somebody saw stays, though who looks now did not see it.

    Who was charged when it was admitted stays, with the price of that time, unless it is another queue or flavor now.
    """
    old, now = known.charged_to, new.charged_to
    is_same = (old.cluster_queue, old.flavor) == (now.cluster_queue, now.flavor) or not now.cluster_queue
    was_evicted = known.outcome is Outcome.EVICTED and new.outcome in (Outcome.FAILED, Outcome.DELETED)
    is_told = bool(new.reason) or not (known.message or known.outcome is Outcome.EVICTED)
    return replace(
        new,
        charged_to=old if is_same else now,
        node=new.node or known.node,
        admitted=new.admitted or known.admitted,
        admitted_by=new.admitted_by or known.admitted_by,
        bound=known.bound or new.bound,
        planned=known.planned or new.planned,
        started=new.started or known.started,
        ended=known.ended or new.ended,
        outcome=known.outcome if was_evicted or new.outcome is Outcome.GOES_ON else new.outcome,
        reason=new.reason if is_told else known.reason,
        message=new.message if is_told else known.message,
    )
