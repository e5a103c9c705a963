"""When a place's clocks show a time: daylight saving both ways. Zones come from outside; nothing here reads files."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from controller.core.calendar.cron import Cron

_DAY = 86_400


@runtime_checkable
class Zone(Protocol):
    """Where clocks show what: the one thing that is asked of a time zone."""

    def offset_at(self, instant: int) -> int:
        """Return how many seconds the clocks are ahead of UTC at an instant (seconds since 1970 UTC)."""


def instant_of(wall: int, zone: Zone) -> int:
    """Return when the clocks show `wall`, seconds since 1970 as read off the wall.

    A time that comes twice counts the first time; one that is skipped counts as the first instant after the gap. Exact
    while the zone's offset changes no more than once within two days, which holds for every zone since 1970.
    """
    before, after = zone.offset_at(wall - _DAY), zone.offset_at(wall + _DAY)
    for offset in (max(before, after), min(before, after)):
        if zone.offset_at(wall - offset) == offset:
            return wall - offset
    return _first_with(zone, after, wall - max(before, after), wall - min(before, after))


def _first_with(zone: Zone, offset: int, low: int, high: int) -> int:
    """Find by halving the first instant with this offset; `high` has it, `low` does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if zone.offset_at(middle) == offset else (middle, high)
    return high


def next_start(cron: Cron, zone: Zone, after: int) -> int | None:
    """Return the first instant later than `after` at which the cron starts something in this zone; None: never."""
    # what the clocks show now they showed now or, in a repeated hour, earlier: it has had its turn
    minute: int | None = (after + zone.offset_at(after)) // 60
    while minute is not None:
        minute = cron.next_minute(minute)
        instant = None if minute is None else instant_of(60 * minute, zone)
        if instant is not None and instant > after:
            return instant
    return None
