"""Histories in tests: runs, changes, and a database in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controller.history.recorder import Change
from controller.history.runs import ChargedTo, Run
from controller.history.store import Store

CHARGED = ChargedTo("default", "main", "team-a", "spot", "ann", (("cpu", 2000), ("pods", 1)), (("cpu", 10**9),))


def a_store(folder: Path) -> Store:
    """A new database, with its tables."""
    store = Store(f"sqlite:///{folder / 'history.db'}")
    assert store.prepare()
    return store


def a_run(uid: str = "a", charged_to: ChargedTo = CHARGED, **fields: Any) -> Run:
    return Run(**{"uid": uid, "name": uid, "charged_to": charged_to, "created": 100, **fields})


def a_change(uid: str = "a", waited: dict[str, int] | None = None, **fields: Any) -> Change:
    return Change(a_run(uid, **fields), waited or {})
