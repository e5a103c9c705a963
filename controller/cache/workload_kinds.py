"""The WorkloadKinds that are in effect, and of which records each object of theirs consists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from controller.cache.keyed import put_or_drop
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workloads.pods import Pod


class WorkloadKindBook:
    """Kinds by name; their objects by uid."""

    def __init__(self) -> None:
        self.known: dict[str, WorkloadKind] = {}
        self._objects: dict[str, tuple[str, tuple[str, ...]]] = {}
        """Of each object that is held as a whole its kind, and the uids of its records."""
        self.objects: Counter[str] = Counter()
        """How many objects of each kind there are that are held as a whole."""
        self.troubles: dict[str, str] = {}
        """Why the objects of a kind are not known, and what to do."""

    def take_in(self, kind: str, uid: str, sets: Sequence[Pod]) -> tuple[str, ...]:
        """Note the records that an object of this kind consists of; return the uids of those that it no longer has."""
        former = self.sets_of(uid)
        uids = tuple(one.uid for one in sets)
        self.objects[kind] += bool(uids) - bool(former)
        put_or_drop(self._objects, uid, (kind, uids) if uids else None)
        return tuple(one for one in former if one not in uids)

    def of_kind(self, kind: str) -> list[str]:
        """Return the uids of the objects of a kind that are held as a whole."""
        return [uid for uid, (name, _) in self._objects.items() if name == kind]

    def sets_of(self, uid: str) -> tuple[str, ...]:
        """Return the uids of the records of an object."""
        return self._objects[uid][1] if uid in self._objects else ()
