"""What a run came to: figures from what was seen, and their wording. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from controller.core.kubernetes.amounts import CPU, format_amount
from controller.demo.observer import Observer, Stage, Track
from controller.demo.writes import Writes

_DEADLINE = "DeadlineExceeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A run that is over. `seconds` from the first pod's creation to the last one's end."""

    expected: int
    seconds: float
    tracks: Sequence[Track]
    writes: Writes | None
    borrowed: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """The most thousandths of a core borrowed at a time, and of what nominal quota: by team and flavor."""
    trouble: str = ""
    """The latest fault of a watch, which may be why something was not seen."""

    @classmethod
    def of(cls, seen: Observer, writes: Writes | None) -> Result:
        """Take the figures of what was seen."""
        tracks = tuple(seen.tracks.values())
        seconds = seen.elapsed
        if seen.is_over:
            seconds = max(one.ended or 0.0 for one in tracks) - min(one.created for one in tracks)
        return cls(
            expected=seen.expected,
            seconds=seconds,
            tracks=tracks,
            writes=writes,
            borrowed=seen.most_borrowed,
            trouble=seen.trouble,
        )

    def shortcomings(self) -> list[str]:
        """Say what is not as it should be: how many pods, and why."""
        found = [f"never seen: {self.expected - len(self.tracks)}"] if len(self.tracks) < self.expected else []
        for stage in (Stage.QUEUED, Stage.RESERVED, Stage.RUNNING):
            late = [track for track in self.tracks if track.stage is stage]
            if late:
                found.append(f"still {stage.value}: {len(late)}{_why(late)}")
        strays = [track for track in self.tracks if track.stage is not Stage.QUEUED and not track.flavor]
        if strays:
            found.append(f"passed without a decision of Penstock: {len(strays)}, such as {_name(strays[0])}")
        failed = [track for track in self.tracks if track.phase == "Failed" and track.end_reason != _DEADLINE]
        if failed:
            found.append(f"failed: {len(failed)}, such as {_name(failed[0])} ({failed[0].end_reason or 'no reason'})")
        if found and self.trouble:
            found.append(self.trouble)
        return found


def lines(result: Result) -> Iterator[tuple[str, str]]:
    """Return the summary as pairs of a label and a text."""
    released = [track for track in result.tracks if track.was_gated and track.released is not None]
    ended = sum(track.stage is Stage.DONE for track in result.tracks)
    yield "pods", f"{len(released)} of {result.expected} released, {ended} ended, in {result.seconds:.1f} s"
    yield "wait at the gate", _waits(released)
    for namespace in sorted({track.namespace for track in released}):
        yield f"  {namespace}", _waits([track for track in released if track.namespace == namespace])
    flavors = Counter(track.flavor for track in released)
    shares = (f"{name} {count} ({100 * count / len(released):.0f} %)" for name, count in flavors.most_common())
    yield "where they ran", ", ".join(shares) or "nowhere"
    yield from _borrowed(result.borrowed)
    if result.writes is not None:
        yield from _writes(result.writes)


def _borrowed(borrowed: Mapping[tuple[str, str], tuple[int, int]]) -> Iterator[tuple[str, str]]:
    if not borrowed:
        yield "borrowed", "nothing: nobody had to"
    for team in sorted({team for team, _ in borrowed}):
        loans = (
            f"up to {format_amount(CPU, most)} cores of {flavor} beyond its own {format_amount(CPU, nominal)}"
            for (whose, flavor), (most, nominal) in sorted(borrowed.items(), reverse=True)
            if whose == team
        )
        yield f"{team} borrowed", ", ".join(loans)


def _writes(writes: Writes) -> Iterator[tuple[str, str]]:
    text = f"{writes.released} took effect"
    if writes.by_pod is not None:
        per_pod = Counter(writes.by_pod.values())
        if set(per_pod) == {1}:
            text = f"{writes.released} for {len(writes.by_pod)} pods: exactly one each"
        else:
            text += "; pods by number of patches: " + ", ".join(f"{n}: {per_pod[n]}" for n in sorted(per_pod))
    refused = f", {writes.refused} more had to be decided again" if writes.refused else ""
    yield "release patches", f"{text}{refused} ({writes.source})"
    if writes.conditions is not None:
        yield "condition patches", f"{writes.conditions}, to say on pods why they wait"


def _waits(tracks: Sequence[Track]) -> str:
    waits = sorted(track.released - track.created for track in tracks if track.released is not None)
    if not waits:
        return "nobody was released"
    return f"p50 {_quantile(waits, 50):.1f} s, p95 {_quantile(waits, 95):.1f} s, longest {waits[-1]:.1f} s"


def _quantile(ordered: Sequence[float], percent: int) -> float:
    """Nearest rank: a wait that a pod really had."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def _why(late: Sequence[Track]) -> str:
    reasons = Counter(track.reason for track in late if track.reason).most_common()
    if not reasons:
        return f", such as {_name(late[0])}"
    words = Counter(track.message for track in late if track.reason == reasons[0][0]).most_common(1)[0][0]
    return f" ({', '.join(f'{reason}: {count}' for reason, count in reasons)}; such as {_name(late[0])}: {words})"


def _name(track: Track) -> str:
    return f"{track.namespace}/{track.name}"
