"""Runs as people and programs see them."""

from __future__ import annotations

from msgspec import Struct

from controller.core.kubernetes.amounts import PODS, format_amount
from controller.history.runs import state_of
from controller.history.used import SAMPLED, Used
from controller.history.wanted import FoundRun
from controller.kube.clock import rfc3339


class UsedRow(Struct, frozen=True, rename="camel"):
    """What a pod used of one resource, as quantities: the mean of its samples, and the largest."""

    mean: str
    peak: str


class RunRow(Struct, frozen=True, rename="camel"):
    """One pod from its creation to its end. Times are RFC 3339; empty: that has not happened, or nobody saw it.

    `planned` is when its first forecast expected it to be admitted, the median; empty: there was none. `waited` and
    `ran` are seconds, of what goes on until now; `waited_for` is how long of it for which reason, as far as the pod's
    condition said so. `labels` are those that the history keeps. `used` is what it used by resource, as far as
    `samples` of it say. `state` is Pending, Admitted, Running, Succeeded, Failed, Evicted or Deleted.
    """

    namespace: str
    name: str
    state: str
    owner: str
    group: str
    local_queue: str
    cluster_queue: str
    flavor: str
    node: str
    user: str
    priority: int
    requests: dict[str, str]
    created: str
    admitted: str
    admitted_by: str
    bound: str
    started: str
    ended: str
    waited: int
    ran: int
    waited_for: dict[str, int]
    reason: str
    message: str
    planned: str = ""
    labels: dict[str, str] = {}
    samples: int = 0
    used: dict[str, UsedRow] = {}


def run_row(found: FoundRun, now: int) -> RunRow:
    """Return a run as it is shown at a time, in seconds since 1970."""
    run, made = found.run, found.run.charged_to
    end = run.ended or now
    return RunRow(
        namespace=made.namespace,
        name=run.name,
        state=state_of(run),
        owner=f"{run.owner_kind}/{run.owner}" if run.owner else "",
        group=run.group,
        local_queue=made.local_queue,
        cluster_queue=made.cluster_queue,
        flavor=made.flavor,
        node=run.node,
        user=made.user,
        priority=run.priority,
        requests={name: format_amount(name, amount) for name, amount in made.requests if name != PODS},
        created=rfc3339(run.created),
        admitted=_time(run.admitted),
        admitted_by=run.admitted_by,
        bound=_time(run.bound),
        started=_time(run.started),
        ended=_time(run.ended),
        waited=max(0, (run.admitted or end) - run.created),
        ran=max(0, end - run.started) if run.started else 0,
        waited_for=dict(found.waited),
        reason=run.reason,
        message=run.message,
        planned=_time(run.planned),
        labels=dict(made.labels),
        samples=0 if found.used is None else found.used.samples,
        used={} if found.used is None else _used(found.used),
    )


def _used(used: Used) -> dict[str, UsedRow]:
    return {
        name: UsedRow(format_amount(name, used.mean(name)), format_amount(name, used.peaks[name]))
        for name in SAMPLED
        if name in used.peaks
    }


def _time(at: int) -> str:
    return rfc3339(at) if at else ""
