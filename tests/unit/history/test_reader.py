"""Who only reads a history says so where there is none, also when it was there before."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.history.reader import Reader
from controller.history.run_store import HistoryError
from controller.history.store import Store
from controller.history.usage_columns import Span
from controller.history.wanted import Wanted, WantedUsage
from tests.support.histories import a_change, a_store

ALL = Wanted(Span(0, 1000))


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    reader = Reader(Store(f"sqlite:///{tmp_path}/history.db"))
    for _ in range(2):
        with pytest.raises(HistoryError, match="there is no such file"):
            reader.namespaces()
    assert list(tmp_path.iterdir()) == []


def test_after_a_fault_the_tables_are_looked_at_again(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.write([a_change(started=100, ended=200)])
    reader = Reader(store)
    assert len(reader.find(ALL, most=9)) == len(reader.usage(WantedUsage(Span(0, 1000), []), now=500)) == 1
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(HistoryError, match="no such table"):
        reader.find(ALL, most=9)
    with pytest.raises(HistoryError, match="has no history, and this program reads 0004"):
        reader.find(ALL, most=9)
    assert store.prepare()
    assert reader.find(ALL, most=9) == []
