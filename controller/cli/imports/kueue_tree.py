"""Who is below whom in Kueue's cohorts, and what the cohorts are called as ClusterQueues."""

from __future__ import annotations

from collections.abc import Iterable

from controller.cli.imports.documents import ConversionError
from controller.cli.imports.kueue_documents import Found
from controller.cli.imports.kueue_objects import QueueSpecV1Beta1

TreeKey = tuple[str, str]
"""("Cohort", the root's name), or ("ClusterQueue", its name) of one without a cohort."""


def cohort_of(queue: Found) -> str:
    """Return the cohort that a ClusterQueue names; empty: none."""
    spec = queue.spec
    name: str = spec.cohort if isinstance(spec, QueueSpecV1Beta1) else spec.cohort_name
    return name


class Trees:
    """The cohorts that have an object, and those that are only named.

    `names` says what each becomes: its name, or with a suffix where a ClusterQueue has that name, since there both are
    of one kind.
    """

    def __init__(self, queues: Iterable[Found], cohorts: Iterable[Found]) -> None:
        """Raises ConversionError when cohorts are in a circle."""
        listed, written = list(queues), list(cohorts)
        self._parents = {found.metadata.name: found.spec.parent_name for found in written}
        self._refuse_circles(written)
        named = {*map(cohort_of, listed), *self._parents.values()} - {"", *self._parents}
        self.implicit = sorted(named)
        taken = {found.metadata.name for found in listed}
        every = {*self._parents, *named}
        self.names = {name: name for name in sorted(every - taken)}
        for name in sorted(every & taken):
            self.names[name] = _free_name(name, {*taken, *self.names.values()})

    @property
    def renamed(self) -> dict[str, str]:
        """The cohorts that get another name."""
        return {old: new for old, new in self.names.items() if old != new}

    def has_parent(self, queue: Found) -> bool:
        """Whether the ClusterQueue is in a cohort."""
        return bool(cohort_of(queue))

    def parent_of(self, found: Found) -> str | None:
        """Return our name of what is above a ClusterQueue or Cohort."""
        above = found.spec.parent_name if found.kind == "Cohort" else cohort_of(found)
        return self.names[above] if above else None

    def of_queue(self, queue: Found) -> TreeKey:
        """Return the tree in which the ClusterQueue is."""
        cohort = cohort_of(queue)
        return self.of_cohort(cohort) if cohort else ("ClusterQueue", queue.metadata.name)

    def of_cohort(self, name: str) -> TreeKey:
        """Return the tree in which a cohort is."""
        return "Cohort", self._path(name)[-1]

    def depth(self, found: Found) -> int:
        """Return how many are above a ClusterQueue or Cohort."""
        if found.kind == "Cohort":
            return len(self._path(found.metadata.name)) - 1
        cohort = cohort_of(found)
        return len(self._path(cohort)) if cohort else 0

    def _path(self, name: str) -> list[str]:
        path = [name]
        while above := self._parents.get(path[-1]):
            path.append(above)
        return path

    def _refuse_circles(self, cohorts: Iterable[Found]) -> None:
        faults = []
        for found in cohorts:
            path = [found.metadata.name]
            while (above := self._parents.get(path[-1])) and above not in path:
                path.append(above)
            if above == path[0]:
                circle = " → ".join([*path, above])
                faults.append(f"{found.label}: spec.parentName: {circle} is a circle; make one of them a root")
        if faults:
            raise ConversionError("\n".join(faults))


def _free_name(name: str, taken: set[str]) -> str:
    candidate, number = f"{name}-cohort", 1
    while candidate in taken:
        number += 1
        candidate = f"{name}-cohort-{number}"
    return candidate
