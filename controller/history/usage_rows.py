"""What was used as people and programs see it: hours of each resource, and money."""

from __future__ import annotations

from msgspec import Struct


class UsageRow(Struct, frozen=True, rename="camel"):
    """What one group used from `begin` to `end`: `hours` by resource (of bytes in GiB), and `cost` by flavor prices."""

    begin: str
    end: str
    by: dict[str, str]
    runs: int
    hours: dict[str, str]
    cost: str
