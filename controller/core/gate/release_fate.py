"""What became of a release patch that got no answer, and the patch that ends the doubt.

A release patch that was sent may arrive late, so its quota is kept until one of three things is known: the pod was
released by it, no copy of it can apply any more, or it was revoked. Each release patch tests the number in the
annotation `penstock.dev/release-attempt`; writing the next number revokes every copy that was sent before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from controller.core.gate.json_patch import Operations, annotate, attempt_test
from controller.core.keys import GATE, RELEASE_ATTEMPT, REVOKED_BY
from controller.core.workloads.held_sets import uid_of_object
from controller.core.workloads.pods import Pod

_DIGITS = 18


class Fate(Enum):
    """What a state of the pod says of a release patch that was sent."""

    RELEASED = "released"
    """The pod was released by just this patch."""
    IMPOSSIBLE = "impossible"
    """No copy of the patch can apply any more."""
    OPEN = "open"
    """A copy of the patch may still apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamps:
    """What a release patch writes on a pod: where it is charged, when it was admitted (epoch seconds), and by whom.

    `flavors`: all that are open to the pod; one of them, or several in order.
    """

    cluster_queue: str
    flavors: tuple[str, ...]
    admitted_at: float
    admitted_by: str

    def are_on(self, pod: Pod) -> bool:
        """Whether the pod has exactly these."""
        flavors = pod.flavors if len(self.flavors) > 1 else (pod.flavor,)
        return (pod.cluster_queue, flavors, pod.admitted_at, pod.admitted_by) == (
            self.cluster_queue,
            self.flavors,
            self.admitted_at,
            self.admitted_by,
        )


def fate(sent: Pod, stamps: Stamps, now: Pod) -> Fate:
    """Return what became of the patch that was built from the state `sent`, as the state `now` shows it.

    `now` must not come from before the apiserver's history began anew, as after a restore of etcd.
    """
    if now.uid != sent.uid:
        return Fate.IMPOSSIBLE
    if GATE not in now.gates:
        # no gate can be added to a pod again, and the patch tests that ours is there. A Job that was suspended since
        # has its stamps until its template is put back, which gives it another generation
        return Fate.RELEASED if stamps.are_on(now) else Fate.IMPOSSIBLE
    if sent.generation:
        is_edited = now.generation > sent.generation
    else:
        is_edited = _number(now.resource_version) > _number(sent.resource_version)
    is_revoked = _number(now.release_attempt) > _number(sent.release_attempt)
    return Fate.IMPOSSIBLE if is_edited or is_revoked else Fate.OPEN


def fate_of_widening(sent: Pod, by: str, now: Pod) -> Fate:
    """Return what became of the patch that lets a Job have more pods, sent in the name of the leader `by`.

    It tests the generation, which each change of the Job's spec raises: with another one it can apply no more.
    """
    if now.uid != sent.uid:
        return Fate.IMPOSSIBLE
    if now.generation > sent.generation:
        is_by_us = now.is_admitted and now.admitted_by == by and now.parallelism == sent.parallelism
        is_wider = is_by_us and now.count > sent.count
        return Fate.RELEASED if is_wider else Fate.IMPOSSIBLE
    is_revoked = _number(now.release_attempt) > _number(sent.release_attempt)
    return Fate.IMPOSSIBLE if is_revoked else Fate.OPEN


def revocation(sent: Pod, now: Pod, *, by: str) -> Operations:
    """Build the operations that revoke every release patch built from the state `sent`; `now` is the pod as known.

    They apply whether the pod is gated or not: the answer shows which. They change metadata alone, so that the pod's
    generation stays. `by` is the leader, as the Lease names it.
    """
    number = str(max(_number(sent.release_attempt), _number(now.release_attempt)) + 1)
    notes = {RELEASE_ATTEMPT: number, REVOKED_BY: by}
    guards: Operations = [
        {"op": "test", "path": "/metadata/uid", "value": uid_of_object(sent.uid)},
        *attempt_test(now),
    ]
    return [*guards, *annotate(now, notes)]


def _number(text: str | None) -> int:
    """Read a number that we or the apiserver wrote; what the break-glass group may have made of it counts as 0."""
    return int(text) if text and len(text) <= _DIGITS and text.isascii() and text.isdecimal() else 0
