"""What an object of a WorkloadKind says: whether it is suspended, what its pod sets are, whether it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from controller.core.kubernetes.pointers import pointer
from controller.core.workload_kinds.kinds import Path, PodSetPaths, WorkloadKind

_MOST_SETS: Final = 64
"""As Kueue's workloads have fewer, a larger number is a mistake, or an attempt to fill memory."""


class UnreadablePodSets(ValueError):
    """An object does not have what its WorkloadKind says; the text says where, and what to write."""


@dataclass(frozen=True, slots=True)
class FoundSet:
    """A pod set of an object: its name, the JSON pointer of its pod template, the template, and how many pods."""

    name: str
    pointer: str
    template: Mapping[str, Any]
    count: int


def is_suspended(kind: WorkloadKind, document: Mapping[str, Any]) -> bool:
    """Whether the object is kept from having pods."""
    return _at(document, kind.suspend) is True


def has_ended(kind: WorkloadKind, document: Mapping[str, Any]) -> bool:
    """Whether it has ended, well or not: then it has no pods any more."""
    conditions = _at(document, ("status", "conditions"))
    met = {
        one.get("type")
        for one in (conditions if isinstance(conditions, list) else ())
        if isinstance(one, Mapping) and one.get("status") == "True"
    }
    return any(
        one.condition in met if one.condition else str(_at(document, one.path)) in one.values for one in kind.endings
    )


def pod_sets_of(kind: WorkloadKind, document: Mapping[str, Any]) -> list[FoundSet]:
    """Return its pod sets, without those of no pods; raise UnreadablePodSets where they cannot be read."""
    found = [one for paths in kind.pod_sets for one in _sets(paths, document)]
    if len(found) > _MOST_SETS:
        raise UnreadablePodSets(f"has {len(found)} pod sets; write at most {_MOST_SETS}")
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UnreadablePodSets(f"has several pod sets of the name {twice[0]!r}; give each a name of its own")
    return [one for one in found if one.count]


def _sets(paths: PodSetPaths, document: Mapping[str, Any]) -> Iterator[FoundSet]:
    if not paths.each:
        if _at(document, paths.template) is not None:
            yield _set(paths, paths.name, document, ())
        return
    entries = _at(document, paths.each)
    if isinstance(entries, Mapping):
        for key in sorted(entries):
            yield _set(paths, key, entries[key], (*paths.each, key))
    elif isinstance(entries, list):
        for number, entry in enumerate(entries):
            name = _at(entry, paths.name_path)
            if not isinstance(name, str) or not name:
                where = written((*paths.each, str(number), *paths.name_path))
                raise UnreadablePodSets(f"{where}: is no name; each pod set needs one")
            yield _set(paths, name, entry, (*paths.each, str(number)))
    elif entries is not None:
        raise UnreadablePodSets(f"{written(paths.each)}: is neither a list nor a map of pod sets")


def _set(paths: PodSetPaths, name: str, holder: Any, at: Path) -> FoundSet:
    where = (*at, *paths.template)
    template = _at(holder, paths.template)
    if not isinstance(template, Mapping) or not isinstance(template.get("spec"), Mapping):
        raise UnreadablePodSets(f"{written(where)}: is no pod template; write one with a spec")
    count = prod(_number(_at(holder, one), (*at, *one)) for one in paths.counts)
    return FoundSet(name, pointer(where), template, count)


def _number(value: Any, where: Path) -> int:
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UnreadablePodSets(f"{written(where)}: is {str(value)[:40]!r}; write how many, 0 or more")
    return value


def _at(document: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def written(path: Path) -> str:
    """Write a path as people write it in objects: spec.suspend."""
    return ".".join(path)
