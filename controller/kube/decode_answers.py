"""What the apiserver answers about a pod, or about what is held as a whole, in the form it is known by."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Raw

from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workloads.pods import HeldSet, Pod
from controller.kube.decode import PodDecoder
from controller.kube.decode_jobs import JobDecoder
from controller.kube.decode_workload_objects import WorkloadObjectDecoder
from controller.kube.errors import UnreadableObject

_NO_KINDS: Mapping[str, WorkloadKind] = {}


class AnswerDecoder:
    """Decode answers. An answer about one pod set shows the others of its object, too."""

    def __init__(
        self,
        pods: PodDecoder,
        kinds: Mapping[str, WorkloadKind] = _NO_KINDS,
        take_other: Callable[[Pod], None] | None = None,
    ) -> None:
        """`kinds` by name, as they are at the time; `take_other` takes the records of other pod sets."""
        self._pods = pods
        self._jobs = JobDecoder(pods)
        self._kinds = kinds
        self._take_other = take_other

    def __call__(self, raw: bytes | Raw, asked: Pod) -> Pod:
        """Return what `asked` is now; raise UnreadableObject when the bytes are none such."""
        if asked.held_set is not None:
            return self._set(raw, asked, asked.held_set)
        return self._jobs.pods_of(raw) if asked.is_job else self._pods(raw)

    def _set(self, raw: bytes | Raw, asked: Pod, held: HeldSet) -> Pod:
        kind = self._kinds.get(held.kind)
        if kind is None:
            raise UnreadableObject(f"{asked.key}: WorkloadKind {held.kind} does not exist any more")
        found: Pod | None = None
        for one in WorkloadObjectDecoder(kind, self._pods)(raw).sets:
            if one.uid == asked.uid:
                found = one
            elif self._take_other is not None:
                self._take_other(one)
        if found is None:
            raise UnreadableObject(f"{asked.key} is not held as a whole")
        return found
