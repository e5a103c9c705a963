"""When the priority of which waiting pod grows next: at these steps its place is worked out anew, and only then."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf


class Steps:
    """The next step of each pod whose priority will grow, by its uid; times in epoch seconds."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._due: list[tuple[float, str]] = []

    def put(self, uid: str, at: float) -> None:
        """Note a pod's next step; inf: it has none."""
        if self._next.get(uid, inf) == at:
            return
        if at == inf:
            del self._next[uid]
            return
        self._next[uid] = at
        heappush(self._due, (at, uid))

    def take(self, now: float) -> list[str]:
        """Return the pods whose step has come; whoever waits on has to be put again."""
        taken = []
        while self._due and self._due[0][0] <= now:
            at, uid = heappop(self._due)
            if self._next.get(uid) == at:
                del self._next[uid]
                taken.append(uid)
        return taken

    @property
    def next(self) -> float:
        """When the next step comes, or sooner: what was taken back since is found out then."""
        return self._due[0][0] if self._due else inf
