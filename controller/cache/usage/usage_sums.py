"""A sum of what was used, forgotten by halves, and what a status keeps. Arithmetic: `core.queueing.past_usage`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from controller.core.queueing.past_usage import PastUsageRule, cores, mixed
from controller.kube.clock import epoch

MOST_USERS: Final = 64
"""Of how many users of a LocalQueue a status keeps what they used: those who used most."""

_LONGEST_NAME: Final = 256


@dataclass(slots=True)
class Sum:
    """`consumed` as of `at`, epoch seconds (None: from the next time on), and `current` since then.

    `idle_since`: when the last that used anything ended.
    """

    rule: PastUsageRule
    consumed: int = 0
    at: int | None = None
    current: int = 0
    idle_since: int = 0

    def add(self, rate: int) -> None:
        """Somebody begins to use so much, or, below 0, ends."""
        self.current += rate
        self.idle_since = self.at or 0

    def advance(self, now: int) -> None:
        """Bring it forward; time that goes back changes nothing."""
        if self.at is not None and now > self.at:
            self.consumed = mixed(self.consumed, self.current, now - self.at, self.rule.half_life)
        self.at = now if self.at is None else max(self.at, now)

    @property
    def is_forgotten(self) -> bool:
        """Whether it says nothing any more: nothing is used, and less than a thousandth of a core was."""
        return not self.current and cores(self.consumed) == "0"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A sum as a status keeps it, what it is the sum of (`PastUsageRule.key`), and those of users by name."""

    key: str
    consumed: int
    at: int
    users: Mapping[str, int] = field(default_factory=dict)


def remembered(said: Mapping[str, Any]) -> Remembered:
    """Read what a status says. Raises KeyError, TypeError, ValueError or AttributeError where it is none of ours."""
    users = {str(one["name"]): int(one["consumed"]) for one in said.get("users") or ()}
    return Remembered(said["counts"], int(said["consumed"]), int(epoch(said["countedUntil"])), users)


def users_said(sums: Mapping[str, Sum]) -> list[dict[str, str]]:
    """Return what a status says of users: of those who used most, the largest first."""
    named = [(-one.consumed, name) for name, one in sums.items() if len(name) <= _LONGEST_NAME]
    most = [(name, -consumed) for consumed, name in sorted(named)[:MOST_USERS]]
    return [{"name": name, "usage": cores(used), "consumed": str(used)} for name, used in most if cores(used) != "0"]
