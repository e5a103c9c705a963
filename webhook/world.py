"""What a review may look up: the world beside the pod, kept in memory so that no request waits for the apiserver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class World(Protocol):
    """Read-only look-ups; all answers come from memory."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Labels of a namespace; empty when it is not known."""

    def has_local_queue(self, namespace: str, name: str) -> bool:
        """Whether this LocalQueue exists."""
