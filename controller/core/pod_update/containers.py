"""What of the containers, and of the time they may take, can be changed on a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.core.pod_update.equality import Json
from controller.core.pod_update.violation import Cause, Rule, Violation, invalid, shown

_LISTS: Final = ("containers", "initContainers")
SECONDS_MOST: Final = 2**31 - 1
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""What Go's strings.TrimSpace takes for space; Python's own idea of it is wider."""


def images(old: Json, new: Json) -> Iterator[Violation]:
    """Refuse an image that is no name; any other may be set. Mirrors the second half of `ValidateContainerUpdates`."""
    for name in _LISTS:
        before = [container.get("image") or "" for container in old.get(name) or ()]
        for index, container in enumerate(new.get(name) or ()):
            image = container.get("image") or ""
            path = f"spec.{name}[{index}].image"
            if not image:
                was = f"was {shown(before[index])} and " if index < len(before) else ""
                yield invalid(path, f"{was}would be empty; name an image", Cause.REQUIRED)
            elif image.strip(_SPACE) != image:
                yield invalid(path, f"is {shown(image)}; remove the space before or behind it")


def count(old: Json, new: Json) -> Iterator[Violation]:
    """Refuse containers that come or go. Mirrors `ValidateContainerUpdates`, which ends all checks."""
    for name in _LISTS:
        was, now = len(old.get(name) or ()), len(new.get(name) or ())
        if was != now:
            text = f"has {was} containers and would have {now}; containers cannot be added or removed: make a new pod"
            yield Violation(f"spec.{name}", Cause.FORBIDDEN, Rule.CONTAINERS_STAY, text)


def deadline(old: Json, new: Json) -> Iterator[Violation]:
    """Refuse an active deadline that is gone or longer than before. Mirrors the part of `ValidatePodUpdate` on it."""
    was, now = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    if was is not None and (now is None or was < now):
        text = f"was {was} and would be {'gone' if now is None else now}; it can only be made shorter"
        yield Violation("spec.activeDeadlineSeconds", Cause.INVALID, Rule.DEADLINE_SHRINKS, text)


def deadline_ends_search(old: Json, new: Json) -> bool:
    """Whether `ValidatePodUpdate` looks no further: the deadline is out of range, or longer than before."""
    was, now = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    return now is not None and (not 0 <= now <= SECONDS_MOST or (was is not None and was < now))
