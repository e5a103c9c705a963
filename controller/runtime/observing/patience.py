"""Things that wait for something to happen, each for the same time: who has waited long enough is found at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from controller.kube import clock

T = TypeVar("T")

PATIENCE_SECONDS: Final = 10.0
"""How long the leader may take for what the shadow decided, and the shadow for what the leader did."""
AGAIN_SECONDS: Final = 60.0
"""After a decision that the leader did not carry out, the shadow leaves the pod alone for so long."""


class Patience(Generic[T]):
    """Values by the pods' uids, in the order in which they came; each is due `seconds` after it came."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[str, tuple[float, T]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, uid: str) -> bool:
        return uid in self._waiting

    def add(self, uid: str, value: T) -> None:
        """Let this wait from now on; what waited of the same pod is forgotten."""
        self._waiting.pop(uid, None)
        self._waiting[uid] = clock.monotonic() + self._seconds, value

    def take(self, uid: str) -> T | None:
        """Return what waits of this pod, which ends its wait."""
        found = self._waiting.pop(uid, None)
        return None if found is None else found[1]

    def due(self) -> Iterator[tuple[str, T]]:
        """Take out, one by one, those that have waited long enough."""
        now = clock.monotonic()
        while self._waiting:
            uid, (at, value) = next(iter(self._waiting.items()))
            if at > now:
                return
            del self._waiting[uid]
            yield uid, value
