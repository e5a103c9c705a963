"""Kubernetes Events, built by one named function each. Publishing is the runtime's."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from controller.core.calendar.durations import format_duration
from controller.core.keys import GROUP, VERSION
from controller.core.kubernetes.owners import Owner
from controller.core.quota.used_up import UsedUp
from controller.core.reasons import NEEDS_A_CHANGE
from controller.core.workloads.decisions import Admit, Evict
from controller.core.workloads.held_sets import uid_of_object
from controller.core.workloads.pods import Pod
from controller.kube.clock import rfc3339, rfc3339_micro

COMPONENT = "penstock.dev/controller"
_NAME_ROOM = 180
_DIGEST_ROOM = 10


def admitted(pod: Pod, admit: Admit, *, instance: str, now: float, others: Sequence[Admit] = ()) -> dict[str, Any]:
    """Say that a pod was released, onto what, and how long it had waited. `others`: of other pod sets of its object.

    A pod is released at most once, so its uid makes the Event's name: sending it twice makes one Event.
    """
    where = f", room planned on node {admit.node}" if admit.node else ""
    waited = max(0, int(now - pod.created))
    some = f" with {admit.count} of {pod.count} pods" if pod.is_job and admit.count < pod.count else ""
    onto = f"{_onto(admit, others)}{some}"
    message = f"Admitted by ClusterQueue {admit.cluster_queue} onto {onto} after {waited} s{where}"
    passed_over = _passed_over(admit)
    return {
        **_event(pod, _once(pod, "admitted", now), instance=instance, now=now),
        "reason": "Admitted",
        "action": "Admit",
        "message": message + passed_over,
    }


def _onto(admit: Admit, others: Sequence[Admit]) -> str:
    if not others:
        return admit.onto
    return ", ".join(f"{one.onto} ({one.uid.partition('/')[2]})" for one in (admit, *others))


def widened(job: Pod, admit: Admit, *, instance: str, now: float) -> dict[str, Any]:
    """Say that an admitted Job got more pods; `job` is as it was before."""
    count = job.count + admit.count
    some = f" of {job.count + job.more}" if admit.count < job.more else ""
    message = f"{admit.count} more pods admitted by ClusterQueue {admit.cluster_queue} onto {admit.onto}: {count}{some}"
    name = f"{job.uid}.widened.{job.generation}"
    return {
        **_event(job, name, instance=instance, now=now),
        "reason": "Widened",
        "action": "Admit",
        "message": message,
    }


def _passed_over(admit: Admit) -> str:
    """Say which flavors were not tried since a pod of the same owner came back from them."""
    told = {one.flavor: one.text for pod_set in admit.workload.kind.pod_sets for one in pod_set.shape.unschedulable}
    return "".join(f"; flavor {flavor} was not tried: {text}" for flavor, text in told.items())


def _once(pod: Pod, what: str, now: float) -> str:
    """Return the name of an Event of what happens to a pod once; a Job that was suspended is admitted once more."""
    if pod.is_job:
        return f"{uid_of_object(pod.uid)}.{what}.{int(now)}"
    return pod.uid if what == "admitted" else f"{pod.uid}.{what}"


def evicted(evict: Evict, *, instance: str, now: float) -> dict[str, Any]:
    """Say that a pod was evicted, why, and why that costs its owner nothing. A pod is evicted at most once."""
    event = _event(evict.pod, _once(evict.pod, "evicted", now), instance=instance, now=now)
    return {**event, "reason": "Evicted", "action": "Evict", "message": f"{evict.cause}: {evict.text}"}


def ends_soon(job: Pod, *, instance: str, now: float) -> dict[str, Any]:
    """Say that an admitted Job is ended soon, since it was admitted to run no longer. Said again it is the same."""
    event = _event(job, f"{job.uid}.ends-soon.{int(job.ends_by)}", instance=instance, now=now)
    left = max(0, int(job.ends_by - now))
    limit = format_duration(round(job.ends_by - job.admitted_at))
    message = f"Kubernetes ends the Job in {left} s, at {rfc3339(job.ends_by)}: it was admitted to run for {limit}"
    return {**event, "type": "Warning", "reason": "RunTimeEnds", "action": "Warn", "message": message}


def waits(pod: Pod, reason: str, message: str, *, instance: str, now: float) -> dict[str, Any]:
    """Say why a pod waits, on the owner that controls it, or on the pod itself where there is none.

    The Events of all pods of an owner that wait for the same reason have the same name, so they are one Event.
    """
    involved = pod.owner or Owner("v1", "Pod", pod.name, pod.uid)
    return {
        **_event_on(involved, pod.namespace, f"{involved.uid}.{reason.lower()}", instance=instance, now=now),
        "type": "Warning" if reason in NEEDS_A_CHANGE else "Normal",
        "reason": reason,
        "action": "Wait",
        "message": message,
    }


def _event(pod: Pod, suffix: str, *, instance: str, now: float) -> dict[str, Any]:
    involved = pod.owner if pod.is_job and pod.owner is not None else Owner("v1", "Pod", pod.name, pod.uid)
    return _event_on(involved, pod.namespace, suffix, instance=instance, now=now)


def _event_on(involved: Owner, namespace: str, suffix: str, *, instance: str, now: float) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{involved.name[:_NAME_ROOM].rstrip('-.')}.{suffix}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": involved.api_version,
            "kind": involved.kind,
            "namespace": namespace,
            "name": involved.name,
            "uid": involved.uid,
        },
        "type": "Normal",
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": instance,
        "eventTime": rfc3339_micro(now),
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "count": 1,
    }


def budget_exhausted(used_up: UsedUp, uid: str, message: str, *, instance: str, now: float) -> dict[str, Any]:
    """Say that a budget of a ClusterQueue is used up, and what follows from that.

    The message makes the Event's name: sending it twice makes one Event. Events of what is in no namespace are in
    `default`, as Kubernetes' own are.
    """
    digest = sha256(message.encode()).hexdigest()[:_DIGEST_ROOM]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{used_up.queue}.{uid}.{digest}", "namespace": "default"},
        "involvedObject": {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "ClusterQueue",
            "name": used_up.queue,
            "uid": uid,
        },
        "type": "Warning",
        "reason": "BudgetExhausted",
        "action": "Count",
        "message": message,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": instance,
        "eventTime": rfc3339_micro(now),
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "count": 1,
    }
