"""Whose places are kept: those of gang members that ended without success, or were deleted, and not by an eviction of
ours. A controller that starts anew knows of none that are gone already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from controller.core.kubernetes.owners import Job
from controller.core.workloads.groups import GroupKey
from controller.core.workloads.kept_places import KeptPlace
from controller.core.workloads.pods import Pod


class LostMembers:
    """By gang. `returned` are pods whose eviction was sent: what they held is for whom they went."""

    def __init__(self, jobs: Mapping[str, Job], loose: set[GroupKey], seconds: float) -> None:
        """`jobs` and `loose` groups are the cache's own; places are kept for so many seconds."""
        self._jobs = jobs
        self._loose = loose
        self.seconds = seconds
        self._now = 0.0
        self._members: dict[str, Pod] = {}
        """Members that are admitted, as they were seen last."""
        self.of: dict[GroupKey, list[KeptPlace]] = {}
        self.returned: set[str] = set()

    def observe(self, uid: str, pod: Pod | None) -> None:
        """Take in a pod as it is now; None: it is gone."""
        former = self._members.get(uid)
        if pod is not None and pod.is_admitted:
            if pod.group is not None and self.seconds:
                self._members[uid] = pod
                if former is None:
                    self._is_back(pod)
            return
        is_returned = uid in self.returned
        if pod is None:
            self.returned.discard(uid)
        if former is None:
            return
        del self._members[uid]
        group = former.group
        if group is None or is_returned or (pod is not None and pod.has_succeeded):
            return
        if self._is_made_anew(group.key):
            self.of.setdefault(group.key, []).append(KeptPlace(former, self._now + self.seconds))

    def _is_made_anew(self, key: GroupKey) -> bool:
        """Whether another member may come; nobody but its Job makes one of a Job's gang."""
        return key not in self._loose and (not key.is_job or key.name in self._jobs)

    def _is_back(self, pod: Pod) -> None:
        """Let a place go for a member that was admitted, one of its shape if there is any."""
        key = None if pod.group is None else pod.group.key
        places = self.of.get(key, []) if key is not None else []
        if key is None or not places:
            return
        alike = (number for number, one in enumerate(places) if one.pod.shape == pod.shape)
        del places[next(alike, 0)]
        if not places:
            del self.of[key]

    def advance(self, now: float) -> bool:
        """Let it be this time, epoch seconds; say whether any place is kept no longer."""
        self._now, is_any = now, False
        for key, places in list(self.of.items()):
            left = [one for one in places if one.until > now] if self._is_made_anew(key) else []
            is_any = is_any or len(left) < len(places)
            self.of[key] = left
            if not left:
                del self.of[key]
        return is_any

    def next_change(self) -> float:
        """Return when the next place is kept no longer."""
        return min((one.until for places in self.of.values() for one in places), default=inf)

    def places(self) -> Iterator[KeptPlace]:
        """Yield all of them."""
        for places in self.of.values():
            yield from places
