"""Shapes with their user, where queues tell users apart: else pods of one make are one class, whosever they are."""

from __future__ import annotations

from dataclasses import replace

from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Shape

_REMEMBERED = 10_000


class OwnedShapes:
    """Which queues tell users apart, and one shape for each make and user."""

    def __init__(self) -> None:
        self._limiting: set[str] = set()
        self._known: dict[tuple[Shape, str], Shape] = {}

    def limits(self, queue: str, *, users: bool) -> bool:
        """Take in whether a queue tells users apart; say whether classes must now be told apart by them, or no more."""
        former = bool(self._limiting)
        if users:
            self._limiting.add(queue)
        else:
            self._limiting.discard(queue)
        return former != bool(self._limiting)

    def owned(self, pod: Pod) -> Pod:
        """Return the pod with the shape of its class."""
        if not self._limiting or not pod.user:
            return pod
        known = self._known.get((pod.shape, pod.user))
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[pod.shape, pod.user] = replace(pod.shape, user=pod.user)
        return replace(pod, shape=known)
