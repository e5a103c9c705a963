"""How far the history is behind, as the leader says it: an annotation of its Lease, which it writes at every renewal.

So whoever may read the Lease knows it, whichever replica answers, and where none does.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from controller.core.keys import HISTORY

_LONGEST: Final = 300


class HistoryHealth(Struct, frozen=True, rename="camel"):
    """What is not written: so many changes, for how long, and why; `lost` changes were given up, and never will be.

    `behind_seconds`: all changes before these seconds are written. `error` is of the latest attempt; empty: it worked.
    """

    behind_seconds: int = 0
    unwritten: int = 0
    lost: int = 0
    error: str = ""

    def annotations(self) -> dict[str, str]:
        """Return it as annotations of an object."""
        text = self.error if len(self.error) <= _LONGEST else f"{self.error[:_LONGEST]}…"
        return {HISTORY: msgspec.json.encode(msgspec.structs.replace(self, error=text)).decode()}


def health_of(annotations: dict[str, str]) -> HistoryHealth | None:
    """Read it from the annotations of a Lease; None: its holder keeps no history, or is of another version."""
    try:
        return msgspec.json.decode(annotations.get(HISTORY, ""), type=HistoryHealth)
    except msgspec.MsgspecError:
        return None
