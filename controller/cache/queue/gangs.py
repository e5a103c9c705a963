"""Which pods belong to which group, and which groups have to be put together anew before the next decision.

Events only mark a group: a group of a thousand pods is put together once for all that happened to it, not a thousand
times. The rule is `core.workloads.gangs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from math import inf

from controller.cache.keyed import put_or_drop
from controller.cache.queue.kept_places import LostMembers
from controller.core.kubernetes.owners import Job
from controller.core.workloads.groups import GroupKey, PodGroup
from controller.core.workloads.pods import Pod


class Gangs:
    """Members by group, wherever they stand; and the uids of the workloads that each group is in the backlog as."""

    def __init__(self, jobs: Mapping[str, Job], *, keeps_places: float) -> None:
        """`jobs` are the cache's own. `keeps_places`: for so many seconds those of members that were lost."""
        self._members: dict[GroupKey, dict[str, None]] = {}
        self._group_of: dict[str, GroupKey] = {}
        self._waiting_as: dict[GroupKey, set[str]] = {}
        self._changed: dict[GroupKey, None] = {}
        self._due: list[tuple[float, str, str, bool, bool, bool]] = []
        self._pod_groups: dict[GroupKey, PodGroup] = {}
        self.loose: set[GroupKey] = set()
        """PodGroups each of whose pods stands alone."""
        self.lost = LostMembers(jobs, self.loose, keeps_places)

    def take_in(self, uid: str, pod: Pod | None) -> GroupKey | None:
        """Note where a pod belongs now, mark the groups that this concerns, and return its group.

        A Job that is held as a whole waits as one, and its pods do not: there is nothing to put together, unless what
        is held has several pod sets.
        """
        if pod is not None and (pod.is_of_admitted_job or (pod.is_job and pod.held_set is None)):
            return None
        if pod is None or not pod.is_job:
            self.lost.observe(uid, pod)
        now = pod.group.key if pod is not None and pod.group is not None else None
        former = self._group_of.get(uid)
        if former is not None and former != now:
            self._leave(uid, former)
        if now is not None:
            self._group_of[uid] = now
            self._members.setdefault(now, {})[uid] = None
            self._changed[now] = None
        return now

    def _leave(self, uid: str, key: GroupKey) -> None:
        del self._group_of[uid]
        members = self._members[key]
        del members[uid]
        # what waits under the pod's own uid is the pod's, wherever it belongs now
        self._waiting_as.get(key, set()).discard(uid)
        self._changed[key] = None
        if not members:
            del self._members[key]

    def job_changed(self, namespace: str, uid: str) -> None:
        """Mark the group of a Job's pods, if they are one."""
        key = GroupKey(namespace, uid, is_job=True)
        if key in self._members:
            self._changed[key] = None

    def pod_group(self, key: GroupKey) -> PodGroup | None:
        """Return the PodGroup that the pods of a group name."""
        return self._pod_groups.get(key)

    def native(self) -> list[GroupKey]:
        """All PodGroups that are known."""
        return list(self._pod_groups)

    def set_pod_group(self, key: GroupKey, pod_group: PodGroup | None) -> None:
        """Take in a PodGroup, or forget it, and mark the group of its pods."""
        put_or_drop(self._pod_groups, key, pod_group)
        (self.loose.add if pod_group is not None and not pod_group.min_count else self.loose.discard)(key)
        if key in self._members:
            self._changed[key] = None

    def advance(self, now: float) -> None:
        """Mark the groups that time alone has made others."""
        while self._due and self._due[0][0] <= now:
            key = GroupKey(*heappop(self._due)[1:])
            if key in self._members:
                self._changed[key] = None

    def next_change(self) -> float:
        """Return when the next one is due."""
        return self._due[0][0] if self._due else inf

    def changed(self) -> Iterator[tuple[GroupKey, tuple[str, ...]]]:
        """Take the marked groups, one by one, each with the uids of its members."""
        while self._changed:
            key = next(iter(self._changed))
            del self._changed[key]
            yield key, tuple(self._members.get(key, ()))

    def wait_as(self, key: GroupKey, uids: set[str], *, again_at: float) -> set[str]:
        """Note as what a group waits now, and when to look at it again; return what it no longer waits as."""
        former = self._waiting_as.pop(key, set())
        if uids:
            self._waiting_as[key] = uids
        if again_at < inf:
            heappush(self._due, (again_at, key.namespace, key.name, key.is_job, key.is_native, key.is_object))
        return former - uids

    def waiting_as(self, key: GroupKey) -> set[str]:
        """Return the uids of the workloads as which the group is in the backlog."""
        return self._waiting_as.get(key, set())

    def waits_as(self, key: GroupKey, uid: str) -> bool:
        """Whether the group is in the backlog as a workload of this uid."""
        return uid in self._waiting_as.get(key, ())
