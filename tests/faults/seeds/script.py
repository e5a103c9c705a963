"""What goes wrong, and when, drawn from a seed: faults of requests and watches for a while, and deeds at a moment."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SECONDS: Final = 12.0
"""So long things go wrong."""


class Fault(StrEnum):
    """What happens to requests or watches. Each is a row of the table in docs/faults.md."""

    REPLY_LOST = "reply-lost"
    """The apiserver does it, and the answer is lost."""
    NOT_SENT = "not-sent"
    """The connection ends before the apiserver has the request."""
    LATE = "late"
    """The connection ends at once, and the apiserver gets the request seconds later."""
    SLOW = "slow"
    """The answer takes seconds."""
    UNAUTHORIZED = "unauthorized"
    """401, and again for a while."""
    CONFLICT = "conflict"
    """409, and nothing is done."""
    INVALID = "invalid"
    """422, and nothing is done."""
    BUSY = "busy"
    """429 with Retry-After."""
    FAILED = "failed"
    """500, and nothing is done."""
    UNAVAILABLE = "unavailable"
    """503, and nothing is done."""
    TIMED_OUT = "timed-out"
    """504, and it is done all the same."""
    TRUNCATED = "truncated"
    """Half of the answer to a read."""
    EVENTS_FAIL = "events-fail"
    """No Event can be written."""
    RESET = "reset"
    """The connection of a watch ends in the middle of a line."""
    ENDED = "ended"
    """A watch ends between two lines."""
    CUT_LINE = "cut-line"
    """A watch ends properly in the middle of a line."""
    GONE_STATUS = "gone-status"
    """410 where a watch is opened."""
    GONE_EVENT = "gone-event"
    """410 as an event of a watch."""
    ERROR_EVENT = "error-event"
    """500 as an event of a watch."""
    HALF_OPEN = "half-open"
    """A watch brings nothing more, and does not end."""
    DELAYED = "delayed"
    """What a watch brings comes seconds later, in order."""
    BOOKMARKS = "bookmarks"
    """A watch brings bookmarks, and its events come seconds later."""
    TWICE = "twice"
    """A watch brings events twice."""
    MISSED = "missed"
    """A watch leaves out events, and says 410 then."""
    REWOUND = "rewound"
    """A watch that is opened brings again what came before, as one of an apiserver that lags."""
    STALE_LIST = "stale-list"
    """A list is answered as it was seconds ago, and its watch brings what came since."""
    LARGE = "large"
    """Lines of a watch have 5 MiB."""
    BYTES = "bytes"
    """Lines come in pieces that end within a character."""
    GARBAGE = "garbage"
    """A line of a watch is no JSON."""


class Deed(StrEnum):
    """What happens to the processes or in the cluster."""

    KILL = "kill"
    """The leader is killed and started again."""
    STOP = "stop"
    """The leader is asked to end, and started again."""
    PAUSE = "pause"
    """The leader stands still, for longer than its Lease now and then."""
    DELETE_LEASE = "delete-lease"
    CORDON = "cordon"
    """A node takes no pods for a while."""
    NOT_READY = "not-ready"
    """A node says that it is not ready."""
    QUOTA = "quota"
    """A ClusterQueue gets more or less quota."""
    URGENT = "urgent"
    """A pod comes that others have to make room for."""
    NAMESAKE = "namesake"
    """A waiting pod is deleted and created again under its name."""
    CLOCK = "clock"
    """The wall clock of the controllers jumps."""
    REFUSED = "refused"
    """An admission policy refuses releases for a while."""


RESOURCES: Final = ("pods", "jobs", "nodes", "clusterqueues", "localqueues", "resourceflavors")
"""Whose lists and watches are disturbed."""
OF_WATCHES: Final = frozenset(list(Fault)[list(Fault).index(Fault.RESET) :]) - {Fault.STALE_LIST}
OF_READS: Final = frozenset({Fault.TRUNCATED, Fault.STALE_LIST})
_OF_WRITES_ALONE: Final = frozenset({Fault.REPLY_LOST, Fault.LATE, Fault.CONFLICT, Fault.INVALID, Fault.TIMED_OUT})
_OFTEN: Final = (0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Span:
    """A fault, from `begin` until `end`, in seconds; it hits what it may hit with the probability `chance`."""

    fault: Fault
    begin: float
    end: float
    chance: float
    resource: str
    """Of a watch or a list: whose. Empty: writes."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A deed at a time; `seconds` is how long it lasts where it does."""

    deed: Deed
    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Script:
    """All that goes wrong in one run."""

    seed: int
    spans: tuple[Span, ...]
    moments: tuple[Moment, ...]

    def has(self, fault: Fault, resource: str) -> bool:
        """Whether this fault hits this resource at some time."""
        return any(span.fault is fault and span.resource == resource for span in self.spans)

    def __str__(self) -> str:
        spans = [
            f"  {s.begin:4.1f} to {s.end:4.1f} {s.fault} {s.resource or 'writes'} {s.chance:g}" for s in self.spans
        ]
        moments = [f"  {m.at:4.1f} {m.deed} for {m.seconds:.1f}" for m in self.moments]
        return "\n".join([f"seed {self.seed}", *spans, *moments])


def draw(seed: int) -> Script:
    """Return the script of a seed: the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not unpredictable
    spans = tuple(_span(chance) for _ in range(chance.randint(3, 7)))
    moments = tuple(
        sorted(
            (
                Moment(chance.choice(list(Deed)), chance.uniform(0, SECONDS), chance.uniform(1, 9))
                for _ in range(chance.randint(1, 5))
            ),
            key=lambda one: one.at,
        )
    )
    return Script(seed, spans, moments)


def _span(chance: random.Random) -> Span:
    fault = chance.choice(list(Fault))
    begin = chance.uniform(0, SECONDS - 1)
    end = min(SECONDS, begin + chance.uniform(1, 8))
    is_of_writes = fault in _OF_WRITES_ALONE or (fault not in OF_WATCHES | OF_READS and chance.random() < 0.6)
    resource = "" if is_of_writes or fault is Fault.EVENTS_FAIL else chance.choice(RESOURCES)
    return Span(fault, begin, end, chance.choice(_OFTEN), resource)
