"""Each snapshot of `tests/corpus` is decided as it was when its plan was stored; its README says how to renew that."""

from __future__ import annotations

import pytest

from tests.corpus.plans import expected, names, planned, read, snapshot_file

NAMES = names()
_MOST_BYTES = 60 * 1024


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_is_decided_as_it_was(name: str) -> None:
    found = planned(read(name))
    assert found == expected(name)
    assert found["admits"] or found["evicts"]


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_is_decided_the_same_twice(name: str) -> None:
    """Once more on the same values, and on those of the file read again."""
    snapshot = read(name)
    first = planned(snapshot)
    assert planned(snapshot) == first
    assert planned(read(name)) == first


def test_the_corpus_has_what_is_told_of_it() -> None:
    told = (snapshot_file(NAMES[0]).parent / "README.md").read_text(encoding="utf-8")
    live = [name for name in NAMES if name.startswith("live-")]
    assert len(live) >= 4
    assert [name for name in live if f"`{name}`" in told] == live
    plans = [planned(read(name)) for name in NAMES]
    assert {evict["cause"] for plan in plans for evict in plan["evicts"]} == {"Preempted"}
    reasons = {reason for plan in plans for reason in plan["waits"].values()}
    assert reasons >= {"GangIncomplete", "NeverFits", "ParentQueueLimit", "Preempting", "QuotaExceeded", "WouldDelay"}


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_is_small(name: str) -> None:
    assert snapshot_file(name).stat().st_size < _MOST_BYTES
