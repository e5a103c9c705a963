"""Releases that were refused: how often for each pod, and while it must not be tried again, why."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from controller.core.reasons import Reason
from controller.core.workloads.workload import Hold


class Rejections:
    """By the pods' uids. The count stays until the pod is released or gone, so that pauses grow."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}
        self._holds: dict[str, Hold] = {}

    def add(self, uid: str, text: str) -> int:
        """Hold the pod for this refusal; return how many there were."""
        self._holds[uid] = Hold(Reason.PATCH_REJECTED, text)
        self._times[uid] = self._times.get(uid, 0) + 1
        return self._times[uid]

    def hold_of(self, uid: str) -> Hold | None:
        """Return why the pod must not be tried now; None when it may."""
        return self._holds.get(uid)

    def lift(self, uid: str) -> bool:
        """Let the pod be tried again; say whether it was refused before at all."""
        self._holds.pop(uid, None)
        return uid in self._times

    @property
    def ever(self) -> AbstractSet[str]:
        """Pods that were refused, and neither released nor gone since."""
        return self._times.keys()

    def forget(self, uid: str) -> None:
        """Drop a pod that was released, or is gone."""
        self._holds.pop(uid, None)
        self._times.pop(uid, None)
