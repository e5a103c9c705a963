"""Decisions one after the other in one file: what each saw, and what came of it. They can be made again and compared.

The file is gzip of one JSON document a line: the first says which version it is, each other one is a decision. Beside
the snapshot is only what a running controller has in memory: of whom it told why they wait, and where it looked for
pods to preempt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from controller.core.decision.decide import decide
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Plan
from controller.replay.plan_document import Json, plan_document
from controller.replay.snapshot_file import SnapshotFileError, from_bytes, to_bytes

VERSION: Final = 1
_HEAD: Final = b'{"decisions":'


class _Head(Struct):
    decisions: int


class _Line(Struct, rename="camel"):
    """One decision. `asked` are classes by their place in the snapshot; None: all. `limit`: of admissions."""

    limit: int
    asked: list[int] | None
    preempts_in: list[str] | None
    plan: Raw
    snapshot: Raw


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was recorded: the snapshot as it was seen, how many it could admit, and the plan in names."""

    snapshot: Snapshot
    limit: int
    plan: Json

    def again(self) -> Json:
        """Make the decision again, and return the plan in names."""
        return plan_document(self.snapshot, decide(self.snapshot, limit=self.limit))


def head() -> bytes:
    """Return the first line of a file."""
    return msgspec.json.encode(_Head(VERSION)) + b"\n"


def line(snapshot: Snapshot, plan: Plan, limit: int) -> bytes:
    """Write one decision: its snapshot, as nothing has changed since, and its plan."""
    waiting = snapshot.waiting
    places = {kind: place for place, kind in enumerate(waiting.runs)}
    asked = None if waiting.asked is None else [places[kind] for kind in waiting.asked if kind in places]
    preempts_in = None if waiting.preempts_in is None else sorted(waiting.preempts_in)
    document = msgspec.json.encode(plan_document(snapshot, plan))
    written = _Line(limit, asked, preempts_in, Raw(document), Raw(to_bytes(snapshot)))
    return msgspec.json.encode(written) + b"\n"


def is_log(data: bytes) -> bool:
    """Say whether these bytes, unpacked, are such a file and not a snapshot."""
    return data.startswith(_HEAD)


def read_log(data: bytes) -> Iterator[Decided]:
    """Read the decisions of a file, unpacked, one by one. Raises SnapshotFileError.

    A last line that was not written to its end is left out: the controller may have been killed.
    """
    first, *lines = data.split(b"\n")
    _check(first)
    for number, one in enumerate(lines[:-1], start=1):
        try:
            yield _decided(msgspec.json.decode(one, type=_Line))
        except (msgspec.DecodeError, IndexError) as error:
            raise SnapshotFileError(f"decision {number}: not a recorded decision: {error}") from None


def _check(first: bytes) -> None:
    try:
        version = msgspec.json.decode(first, type=_Head).decisions
    except msgspec.DecodeError as error:
        raise SnapshotFileError(f"not a file of recorded decisions: {error}") from None
    if version != VERSION:
        raise SnapshotFileError(f"decisions of version {version}: this Penstock reads version {VERSION}")


def _decided(written: _Line) -> Decided:
    saved = from_bytes(bytes(written.snapshot))
    kinds = list(saved.waiting.runs)
    waiting = replace(
        saved.waiting,
        asked=None if written.asked is None else dict.fromkeys(kinds[place] for place in written.asked),
        preempts_in=None if written.preempts_in is None else frozenset(written.preempts_in),
    )
    plan: dict[str, Any] = msgspec.json.decode(written.plan)
    return Decided(replace(saved, waiting=waiting), written.limit, plan)
