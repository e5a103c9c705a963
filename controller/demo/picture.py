"""What there is to see at one moment: plain values between the observer, which fills them in, and the display."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TeamRow:
    """How many of a team's pods are at which stage."""

    name: str
    strategy: str
    queued: int
    reserved: int
    running: int
    done: int

    @property
    def total(self) -> int:
        """All pods of the team that were created."""
        return self.queued + self.reserved + self.running + self.done


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """What a queue uses of a flavor, and what of that is borrowed, in thousandths of a core."""

    queue: str
    flavor: str
    used: int
    nominal: int
    borrowed: int = 0


@dataclass(frozen=True, slots=True)
class Reason:
    """Why `count` pods wait, in the words that most of them carry."""

    name: str
    count: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One moment. `elapsed` is in seconds; reasons are the most frequent first, events the latest last."""

    elapsed: float
    expected: int
    teams: tuple[TeamRow, ...]
    quota: tuple[QuotaRow, ...]
    reasons: tuple[Reason, ...]
    events: tuple[str, ...]
    released_per_second: float

    @property
    def total(self) -> TeamRow:
        """All teams together."""
        columns = ("queued", "reserved", "running", "done")
        return TeamRow("both teams", "", *(sum(getattr(team, column) for team in self.teams) for column in columns))
