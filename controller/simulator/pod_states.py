"""What becomes of a pod: the state that the apiserver, kube-scheduler, the kubelet and its owner give it, at once.

In a cluster each of these takes from milliseconds to minutes. Here nothing does, so a simulation says what the queues
cost, and not what nodes, images and grace periods do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from controller.core.forecasts.runtimes import least
from controller.core.keys import GATE
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Shape

UNKNOWN_NODE: Final = "/simulated"
"""Ends the name of the node that a pod is on whose flavor has room by its sums: no such node needs to exist."""


def started(pod: Pod, admit: Admit, now: float, run_time: int = 0) -> Pod:
    """Return a queued pod as it is once it was admitted, bound to the node where room was found, and started there.

    It may run for `run_time` seconds; 0: nobody limits it.
    """
    limit = {"ends_by": now + run_time} if pod.is_job else {"deadline": least(pod.deadline, run_time)}
    return replace(
        pod,
        gates=(),
        cluster_queue=admit.cluster_queue,
        flavor=admit.flavor,
        flavors=admit.flavors,
        is_landed=False,
        pinned=admit.node,
        node=admit.node or f"{admit.flavor}{UNKNOWN_NODE}",
        admitted_at=now,
        admitted_by="simulator",
        preemptions=admit.preemptions,
        count=admit.count if pod.is_job else pod.count,
        started=int(now),
        generation=pod.generation + 1,
        resource_version="",
        unscheduled="",
        **(limit if run_time else {}),
    )


def bound(pod: Pod, now: float) -> Pod:
    """Return an admitted pod that was on no node as it is once it has started on the one that was planned for it."""
    node = pod.pinned or f"{pod.flavor}{UNKNOWN_NODE}"
    return replace(pod, node=node, started=int(now), resource_version="", unscheduled="")


def succeeded(pod: Pod, now: float) -> Pod:
    """Return a pod that runs as it is once it has succeeded."""
    return replace(pod, is_finished=True, has_succeeded=True, ended=int(now), resource_version="")


def created_again(pod: Pod, uid: str, shape: Shape, now: float) -> Pod:
    """Return the pod that its owner creates in the place of one that is gone: queued, and with nothing done."""
    return replace(
        pod,
        uid=uid,
        shape=shape,
        gates=(GATE,),
        created=now,
        node=None,
        is_finished=False,
        is_terminating=False,
        has_succeeded=False,
        cluster_queue=None,
        flavor=None,
        flavors=(),
        is_landed=False,
        pinned=None,
        said=None,
        admitted_at=0.0,
        admitted_by="",
        preemptions=0,
        unscheduled="",
        started=0,
        ended=0,
        gone_by=0.0,
        generation=1,
        resource_version="",
    )
