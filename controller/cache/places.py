"""Where each waiting pod stands in the order, as far as other objects say so, and who moves when those change."""

from __future__ import annotations

from collections.abc import Sequence

from controller.core.pods import Pod
from controller.core.reasons import Reason
from controller.core.workloads import Hold, OrderKey, order_key

_Source = tuple[str, str]
"""(kind of object, its name or uid): what a pod's place rests on beside the pod itself."""


class Places:
    """`classes` are the values of the WorkloadPriorityClasses by name."""

    def __init__(self) -> None:
        self.classes: dict[str, int] = {}
        self._sources: dict[str, tuple[_Source, ...]] = {}
        self._resting: dict[_Source, dict[str, None]] = {}

    def take(self, pod: Pod) -> tuple[OrderKey, Hold | None]:
        """Return a waiting pod's place, and what keeps it from having one; remember on what that rests."""
        self._rest(pod.uid, tuple(_sources(pod)))
        key = order_key(priority=self.priority(pod), created=pod.created, name=pod.key, uid=pod.uid)
        return key, self._fault(pod)

    def leave(self, uid: str) -> None:
        """Forget a pod that waits no longer."""
        self._rest(uid, ())

    def priority(self, pod: Pod) -> int:
        """Return the pod's priority in its queue: that of its WorkloadPriorityClass, else its own."""
        if pod.priority_class is None:
            return pod.priority
        return self.classes.get(pod.priority_class, pod.priority)

    def set_class(self, name: str, value: int | None) -> Sequence[str]:
        """Take in the value of a WorkloadPriorityClass, or forget it; return the waiting pods that this moves."""
        if self.classes.get(name) == value:
            return ()
        if value is None:
            del self.classes[name]
        else:
            self.classes[name] = value
        return tuple(self._resting.get((_CLASS, name), ()))

    def count(self, name: str) -> int:
        """Return how many pods wait that name this WorkloadPriorityClass."""
        return len(self._resting.get((_CLASS, name), ()))

    def _fault(self, pod: Pod) -> Hold | None:
        if pod.priority_class is None or pod.priority_class in self.classes:
            return None
        text = f"WorkloadPriorityClass {pod.priority_class} does not exist: create it, or correct the pod's label"
        return Hold(Reason.PRIORITY_CLASS_NOT_FOUND, text)

    def _rest(self, uid: str, sources: tuple[_Source, ...]) -> None:
        former = self._sources.get(uid, ())
        if former == sources:
            return
        for source in former:
            resting = self._resting[source]
            del resting[uid]
            if not resting:
                del self._resting[source]
        for source in sources:
            self._resting.setdefault(source, {})[uid] = None
        if sources:
            self._sources[uid] = sources
        else:
            del self._sources[uid]


_CLASS = "WorkloadPriorityClass"


def _sources(pod: Pod) -> list[_Source]:
    return [(_CLASS, pod.priority_class)] if pod.priority_class is not None else []
