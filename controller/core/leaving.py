"""Which pods are on their way out, as one decision sees it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Leaving:
    """Pods by uid.

    `evicting`: whose eviction is under way or was refused a moment ago, `refused` the latter alone, `ever_refused`
    those of any time, `evictions_left` how many more may be sent. `terminating` are being deleted, `stuck` for long.
    """

    evicting: AbstractSet[str] = frozenset()
    refused: AbstractSet[str] = frozenset()
    ever_refused: AbstractSet[str] = frozenset()
    terminating: AbstractSet[str] = frozenset()
    stuck: AbstractSet[str] = frozenset()
    evictions_left: int = 0


NOBODY: Final = Leaving()
