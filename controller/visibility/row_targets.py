"""What people name, `pod/x`, `job/y`, `group/z`, among rows of pods."""

from __future__ import annotations

from collections.abc import Iterable

from controller.visibility.rows import PodRow


def rows_named(rows: Iterable[PodRow], kind: str, name: str) -> list[PodRow]:
    """Return those rows that a kind, in lower case, and a name stand for, as `pods_named` does for pods."""
    match kind:
        case "pod":
            return [one for one in rows if one.name == name]
        case "group":
            return [one for one in rows if one.group == name]
        case _:
            owner = f"{kind.partition('.')[0]}/{name}"
            return [one for one in rows if _owner(one) == owner]


def targets_of(rows: Iterable[PodRow]) -> list[str]:
    """Return what can be named of these, as `all_targets` does for pods."""
    found: dict[str, None] = {}
    for one in rows:
        found[f"pod/{one.name}"] = None
        if one.owner:
            found[_owner(one)] = None
        if one.group:
            found[f"group/{one.group}"] = None
    return sorted(found)


def _owner(row: PodRow) -> str:
    kind, _, name = row.owner.partition("/")
    return f"{kind.lower()}/{name}"
